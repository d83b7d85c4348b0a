"""One version's report as a page of HTML that stands by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import jinja2
import pyarrow as pa

from flows.build.worker import stage_store
from lineage.audit.reading import Reading
from lineage.audit.rules import rules_of, shown
from lineage.errors import AccessDenied
from lineage.manifests.content import ContentManifest
from lineage.versions import Version
from shardline.report import charts, facts
from shardline.report.examples import Example, excerpts, near_thresholds
from shardline.report.history import newest_decisions

_ALARM_DOCUMENTS = 1000


def report_page(reading: Reading, version: Version, *, with_texts: bool) -> str:
    """The report of a version.

    Args:
        with_texts: whether first words of example documents stand in it; they are read
            from the stage store, as far as it still holds them.

    Raises:
        AccessDenied: no grant allows to read the version.
    """
    content = reading.content(version)
    decisions = newest_decisions(reading, version)
    rules = rules_of(content.transforms)
    examples = near_thresholds(decisions, rules)
    precision = _precision(reading, version, decisions)
    wanted = {item.document_id for item in examples}
    wanted |= {row["document_id"] for row in precision["least"]}
    texts = _texts(reading, version, wanted) if with_texts else {}
    return _template().render(
        version=version,
        content=content,
        books=facts.funnel(list(content.books)),
        quarantine=_quarantine(reading, version),
        drops=facts.drops_by_rule(decisions),
        charts=facts.charts(decisions, rules),
        languages=facts.languages(decisions),
        licences=facts.licences(decisions),
        sources=_sources(content),
        duplicates=facts.duplicates(decisions, _ALARM_DOCUMENTS),
        precision=precision | {"least": [_pair(row, texts) for row in precision["least"]]},
        findings=_findings(reading, version),
        evaluation=_evaluation(reading, version),
        touched=facts.evaluation_items(decisions),
        examples=[_example(item, texts) for item in examples],
        edits=charts.shares(Counter(filter(None, decisions["edits"].to_pylist()))),
        tree_size=reading.index.size,
        bar=charts.bar,
    )


def _texts(reading: Reading, version: Version, wanted: set[bytes]) -> dict[bytes, str]:
    # The texts are of the zone raw: asking for them stands in the ledger by itself.
    try:
        reading.lease(version.dataset, "raw")
    except AccessDenied:
        return {}
    stage = stage_store(reading.workspace, version.dataset)
    return excerpts(stage, wanted)


def _quarantine(reading: Reading, version: Version) -> list[tuple[str, str, int]]:
    rows = reading.table(version, "quarantine").select(["reason", "source"]).to_pylist()
    counts = Counter((row["reason"], row["source"]) for row in rows)
    return [(*key, count) for key, count in sorted(counts.items())]


def _sources(content: ContentManifest) -> list[dict[str, Any]]:
    rows = []
    for ordinal, source in enumerate(content.sources):
        documents = tokens = 0
        for segment in content.segments:
            if ordinal < len(segment.source_documents):
                documents += segment.source_documents[ordinal]
                tokens += segment.source_tokens[ordinal]
        rows.append({"source": source, "documents": documents, "tokens": tokens})
    return rows


def _findings(reading: Reading, version: Version) -> list[dict[str, Any]]:
    if "findings" not in reading.content(version).tables:
        return []
    table: pa.Table = reading.table(version, "findings").select(["kind", "masked"])
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _precision(reading: Reading, version: Version, decisions: pa.Table) -> dict[str, Any]:
    if "near_sample" not in reading.content(version).tables:
        return {"pairs": 0, "alike": 0, "least": []}
    return facts.precision(reading.table(version, "near_sample"), decisions)


def _pair(row: Mapping[str, Any], texts: Mapping[bytes, str]) -> dict[str, Any]:
    return {
        "document": row["document_id"].hex(),
        "survivor": row["survivor_id"].hex(),
        "similarity": shown("_share", row["similarity"]),
        "char_similarity": shown("_share", row["char_similarity"]),
        "text": texts.get(row["document_id"]),
    }


def _evaluation(reading: Reading, version: Version) -> list[dict[str, Any]]:
    if "evaluation" not in reading.content(version).tables:
        return []
    rows: list[dict[str, Any]] = reading.table(version, "evaluation").to_pylist()
    return rows


def _example(item: Example, texts: Mapping[bytes, str]) -> dict[str, Any]:
    return {
        "rule": item.rule,
        "document": item.document_id.hex(),
        "source": item.source,
        "passes": item.passes,
        "value": shown(item.signal, item.value),
        "text": texts.get(item.document_id),
    }


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shardline.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")
