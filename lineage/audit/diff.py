"""What changed between two versions: documents added, removed, changed, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lineage.audit.answer import Answer
from lineage.audit.reading import Reading
from lineage.errors import ConfigError
from lineage.versions import Version, find_version

_IDS = ["document_id", "raw_content_id", "content_id"]
_UNTOLD = "no decision tells"


def ask_diff(reading: Reading, old_name: str, new_name: str, limit: int) -> Answer:
    """Compares the alive documents of two versions of one dataset.

    A document is changed when its id is in both with another raw or cleaned text. The
    reasons are the decisions of the versions behind the older one, up to the newer.

    Args:
        old_name, new_name: ``name@vN``, or ``name`` for its newest version.
        limit: most documents told of, of each kind; with more, the answer says it is not
            complete.

    Raises:
        NotFound: there is no such version.
        ConfigError: versions of two datasets.
    """
    entries = list(reading.workspace.ledger.entries(predicates={"version"}))
    old, new = find_version(entries, old_name), find_version(entries, new_name)
    if old.dataset != new.dataset:
        raise ConfigError(
            f"{old.name} and {new.name} are of two datasets", "compare versions of one dataset"
        )
    before, after = _alive(reading, old), _alive(reading, new)
    decisions = _decisions_between(reading, old, new)
    found = {
        "added": _only_in(after, before),
        "removed": _only_in(before, after),
        "changed": _changed(before, after),
    }
    facts: dict[str, Any] = {"old": old.name, "new": new.name}
    facts["unchanged"] = after.num_rows - found["added"].num_rows - found["changed"].num_rows
    for kind, documents in found.items():
        facts[kind] = _told(documents, decisions, kind, limit)
    complete = all(documents.num_rows <= limit for documents in found.values())
    return Answer(f"diff {old.name} {new.name}", facts, reading.index.size, complete)


def _alive(reading: Reading, version: Version) -> pa.Table:
    names = [source.name for source in reading.content(version).sources]
    parts = []
    for _, _, stored in reading.spans(version):
        spans = reading.read(version.dataset, stored, [*_IDS, "source", "num_tokens"])
        parts.append(spans.filter(spans["document_id"].is_valid()))
    alive = pa.concat_tables(parts)
    sources = pa.array(names, pa.string()).take(alive["source"].combine_chunks())
    return alive.set_column(3, "source", sources)


def _only_in(here: pa.Table, there: pa.Table) -> pa.Table:
    known = pc.is_in(here["document_id"], there["document_id"].combine_chunks())
    return here.filter(pc.invert(known))


def _changed(before: pa.Table, after: pa.Table) -> pa.Table:
    at = pc.index_in(after["document_id"], before["document_id"].combine_chunks())
    same = pc.fill_null(at, 0)
    known = before.select(_IDS[1:]).take(same)
    differs = pc.or_(*(pc.not_equal(known[name], after[name]) for name in _IDS[1:]))
    return after.filter(pc.and_(at.is_valid(), differs))


def _decisions_between(reading: Reading, old: Version, new: Version) -> pa.Table:
    """The decisions of every version behind the older one up to the newer, oldest first."""
    low, high = sorted((old.number, new.number))
    versions = [
        version
        for version in reading.index.versions
        if version.dataset == old.dataset and low < version.number <= high
    ]
    if old.number >= new.number or not versions:
        versions = [new]
    names = ["document_id", "verdict", "rule", "survivor_id"]
    return pa.concat_tables([reading.table(item, "decisions").select(names) for item in versions])


def _told(documents: pa.Table, decisions: pa.Table, kind: str, limit: int) -> dict[str, Any]:
    ids = documents["document_id"].combine_chunks()
    mine = decisions.filter(pc.is_in(decisions["document_id"], ids))
    wanted = "removed" if kind == "removed" else "kept"
    reasons = _reasons(mine.filter(pc.equal(mine["verdict"], wanted)).to_pylist())
    order = documents.sort_by("document_id").slice(0, limit).to_pylist()
    known = ids.to_pylist()
    by_reason = Counter(reasons.get(item, (_UNTOLD, None))[0] for item in known)
    by_source = Counter(documents["source"].to_pylist())
    return {
        "documents": documents.num_rows,
        "tokens": pc.sum(documents["num_tokens"]).as_py() or 0,
        "by_reason": dict(sorted(by_reason.items())),
        "by_source": dict(sorted(by_source.items())),
        "listed": [_row(item, reasons) for item in order],
    }


def _reasons(rows: Sequence[dict[str, Any]]) -> dict[bytes, tuple[str, str | None]]:
    """The last reason of each document, and who stands for it."""
    reasons: dict[bytes, tuple[str, str | None]] = {}
    for row in rows:
        survivor = row["survivor_id"].hex() if row["survivor_id"] else None
        reasons[row["document_id"]] = (row["rule"] or row["verdict"], survivor)
    return reasons


def _row(item: dict[str, Any], reasons: dict[bytes, tuple[str, str | None]]) -> dict[str, Any]:
    reason, survivor = reasons.get(item["document_id"], (_UNTOLD, None))
    return {
        "document_id": item["document_id"].hex(),
        "source": item["source"],
        "tokens": item["num_tokens"],
        "reason": reason,
        "survivor_id": survivor,
    }
