"""What a report states: counts by rule, source, language and licence, and histograms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup
from numpy.typing import NDArray

from lineage.audit.rules import Keeps, VersionRule, scale_of
from pipelines.decisions import PUBLISHED
from shardline.report.charts import Threshold, histogram, shares

_LANGUAGE, _LICENCE = "language", "licence_spdx"
_EVAL_ITEM, _EVAL_COVERAGE = "eval_item", "eval_coverage"
_DECONTAMINATED, _MOST_ITEMS = "decontamination.max_coverage", 20
_NEAR, _EXACT = "near_duplicate", "exact_duplicate"
_ELSEWHERE = f"{PUBLISHED}."
_MILLION = 1_000_000
# Languages whose own thresholds are drawn; a rule may have some for dozens.
_DRAWN_LANGUAGES = 2
# Pairs that are shown of a sample of near duplicates.
_LEAST_ALIKE = 5


@dataclass(frozen=True, slots=True)
class Chart:
    """The histogram of one signal.

    Attributes:
        name: of the signal.
        rules: what the rules on it keep, in words.
        picture: inline SVG.
    """

    name: str
    rules: tuple[str, ...]
    picture: Markup


def funnel(books: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The way of all records through the stages: in, kept, and what became of the rest."""
    first = int(books[0]["in"]["records"]) if books else 0
    rows = []
    for book in books:
        lost = [
            {"word": word, "rule": rule, "records": int(count["records"])}
            for word in ("quarantined", "dropped")
            for rule, count in book[word].items()
        ]
        kept = int(book["kept"]["records"])
        rows.append(
            {
                "stage": book["stage"],
                "in": int(book["in"]["records"]),
                "kept": kept,
                "bytes": int(book["kept"]["bytes"]),
                "tokens": int(book["kept"]["tokens"]),
                "share": kept / first if first else 0.0,
                "lost": sorted(lost, key=lambda item: (-item["records"], item["rule"])),
            }
        )
    return rows


def drops_by_rule(decisions: pa.Table) -> dict[str, Any]:
    """Dropped documents by rule and source: the sources, and a row a rule."""
    sources = sorted(pc.unique(decisions["source"]).drop_null().to_pylist())
    dropped = decisions.filter(pc.equal(decisions["verdict"], "dropped"))
    counts = Counter(zip(dropped["rule"].to_pylist(), dropped["source"].to_pylist(), strict=True))
    totals = Counter(dropped["rule"].to_pylist())
    documents = Counter(decisions["source"].to_pylist())
    rows = [
        {"rule": rule, "total": total, "counts": [counts[rule, source] for source in sources]}
        for rule, total in sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    ]
    return {"sources": sources, "documents": [documents[s] for s in sources], "rows": rows}


def charts(decisions: pa.Table, rules: list[VersionRule]) -> list[Chart]:
    """A histogram for each measured signal, with the thresholds of its rules.

    Of thresholds by language those of the languages of most documents are drawn.
    """
    kept = np.asarray(pc.equal(decisions["verdict"], "kept"))
    spoken = _spoken(decisions)
    found = []
    for name in decisions.column_names:
        column = decisions[name]
        if column.type != pa.int64() or name in _NO_SIGNAL or column.null_count == len(column):
            continue
        known = np.asarray(column.is_valid())
        values: NDArray[np.int64] = column.drop_null().to_numpy()
        limits = [limit for rule in rules for limit in _limits(rule, name, spoken)]
        lines = [Threshold(rule, _number(keeps) / scale_of(name)) for rule, keeps in limits]
        if not limits and not values.any():
            continue
        picture = histogram(values, kept[known], lines, scale_of(name))
        said = tuple(_said(rule, keeps, scale_of(name)) for rule, keeps in limits)
        found.append(Chart(name, said, picture))
    return sorted(found, key=lambda chart: (not chart.rules, chart.name))


_NO_SIGNAL = {"value", "threshold", "num_tokens", "offset"}


def languages(decisions: pa.Table) -> list[tuple[str, int, float]]:
    """Kept documents by detected language."""
    return _kept_by(decisions, _LANGUAGE)


def licences(decisions: pa.Table) -> list[tuple[str, int, float]]:
    """Kept documents by the record's own licence, where there is one."""
    return _kept_by(decisions, _LICENCE)


def duplicates(decisions: pa.Table, alarm: int) -> dict[str, Any]:
    """Exact and near duplicates, and the largest clusters: a survivor and all it stands for.

    Args:
        alarm: documents from which on a cluster is pointed out.
    """
    both = pa.array([_EXACT, _NEAR], pa.string())
    rows = decisions.filter(pc.is_in(decisions["rule"], both))
    near = rows.filter(pc.equal(rows["rule"], _NEAR))
    pairs = (near[name].to_pylist() for name in ("document_id", "survivor_id"))
    made_way = dict(zip(*pairs, strict=True))
    # A duplicate of a near duplicate counts for the one that is kept.
    sizes = Counter(made_way.get(item, item) for item in rows["survivor_id"].to_pylist())
    largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0] or b""))[:5]
    by_rule = Counter(rows["rule"].to_pylist())
    return {
        "exact": by_rule[_EXACT],
        "near": by_rule[_NEAR],
        "elsewhere": pc.sum(pc.starts_with(decisions["rule"], _ELSEWHERE)).as_py() or 0,
        "similarity": _similarity(near),
        "clusters": [
            {"survivor": survivor.hex(), "documents": count + 1, "alarm": count + 1 >= alarm}
            for survivor, count in largest
            if survivor is not None
        ],
    }


def _similarity(near: pa.Table) -> Markup:
    """The histogram of how alike near duplicates are to who stands for them."""
    if not near.num_rows:
        return Markup("")
    values = near["value"].to_numpy()
    limits = {limit / _MILLION for limit in near["threshold"].to_pylist()}
    lines = [Threshold("similarity", limit) for limit in sorted(limits)]
    return histogram(values, np.zeros(len(values), np.bool_), lines, _MILLION)


def precision(sample: pa.Table, decisions: pa.Table) -> dict[str, Any]:
    """What a sample of near duplicates says, judged by runs of characters.

    Args:
        sample: as `pipelines.dedup.precision.NEAR_SAMPLE`.
    """
    near = decisions.filter(pc.equal(decisions["rule"], _NEAR))
    limits = near["threshold"].drop_null().to_pylist()
    least = limits[-1] if limits else 0
    rows = sample.sort_by([("char_similarity", "ascending"), ("document_id", "ascending")])
    return {
        "pairs": sample.num_rows,
        "alike": int((sample["char_similarity"].to_numpy() >= least).sum()),
        "least": rows.slice(0, _LEAST_ALIKE).to_pylist(),
    }


def evaluation_items(decisions: pa.Table) -> list[dict[str, Any]]:
    """The evaluation items of which most documents hold a part: no other one more."""
    if _EVAL_ITEM not in decisions.column_names:
        return []
    touched = decisions.filter(pc.is_valid(decisions[_EVAL_ITEM]))
    dropped = pc.equal(touched["rule"], _DECONTAMINATED).fill_null(False)
    table = pa.table(
        {
            "item": touched[_EVAL_ITEM],
            "coverage": touched[_EVAL_COVERAGE],
            "dropped": dropped.cast(pa.int64()),
        }
    )
    found = table.group_by("item").aggregate(
        [("item", "count"), ("dropped", "sum"), ("coverage", "max")]
    )
    order = [("item_count", "descending"), ("item", "ascending")]
    rows: list[dict[str, Any]] = found.sort_by(order).slice(0, _MOST_ITEMS).to_pylist()
    return [row | {"share": row["coverage_max"] / scale_of(_EVAL_COVERAGE)} for row in rows]


def _kept_by(decisions: pa.Table, name: str) -> list[tuple[str, int, float]]:
    if name not in decisions.column_names:
        return []
    kept = decisions.filter(pc.equal(decisions["verdict"], "kept"))
    counts = Counter(kept[name].fill_null("unknown").to_pylist())
    return shares(counts)[:40]


def _spoken(decisions: pa.Table) -> list[str]:
    if _LANGUAGE not in decisions.column_names:
        return []
    counts = Counter(decisions[_LANGUAGE].drop_null().to_pylist())
    return [language for language, _ in counts.most_common(_DRAWN_LANGUAGES)]


def _limits(rule: VersionRule, signal: str, spoken: list[str]) -> list[tuple[str, Keeps]]:
    """What a rule keeps of a signal, in any language and in some."""
    by_name = {rule.name: rule.keeps}
    by_name |= {
        f"{rule.name}[{language}]": rule.languages[language]
        for language in spoken
        if language in rule.languages
    }
    return [(name, keeps) for name, keeps in by_name.items() if keeps and keeps.signal == signal]


def _number(keeps: Keeps) -> int:
    return keeps.limit if isinstance(keeps.limit, int) else 0


def _said(rule: str, keeps: Keeps, scale: int) -> str:
    limit = _number(keeps) / scale
    return f"{rule}: keeps {keeps.side} {limit:,g}"
