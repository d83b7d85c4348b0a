"""Decisions: what became of each document, by which rule, and for whom it made way."""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.schema import ID

# The rules of dedup, and the two reasons for leaving a version that are no rule of cleaning.
EXACT_DUPLICATE = "exact_duplicate"
NEAR_DUPLICATE = "near_duplicate"
RECORD_ID_REUSED = "record_id_reused"
REMOVED = "removed"
CHANGED = "changed"


class Verdict(StrEnum):
    """What became of a document."""

    DROPPED = "dropped"
    KEPT = "kept"
    QUARANTINED = "quarantined"
    REMOVED = "removed"


class Stage(StrEnum):
    """Where it was decided."""

    INGEST = "ingest"
    CLEAN = "clean"
    DEDUP = "dedup"
    PUBLISH = "publish"


# One row a decision, sorted by (document_id, verdict, partition, row). A removed document
# has no place in the input: partition, row, source, num_bytes and num_tokens are null, and
# the ids are those it was published under. `num_tokens` is null for all but kept ones.
DECISIONS = pa.schema(
    [
        pa.field("document_id", ID, nullable=False),
        pa.field("raw_content_id", ID, nullable=False),
        pa.field("content_id", ID),
        pa.field("partition", pa.int32()),
        pa.field("row", pa.int64()),  # of the partition's DOCUMENTS
        pa.field("source", pa.int32()),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("rule", pa.string()),
        pa.field("value", pa.int64()),
        pa.field("threshold", pa.int64()),
        pa.field("survivor_id", ID),  # the document that stands for this one
        pa.field("num_bytes", pa.int64()),
        pa.field("num_tokens", pa.int64()),
        pa.field("edits", pa.string(), nullable=False),
    ]
)


def dropped_by_rule(decisions: pa.Table) -> dict[str, int]:
    """Counts the dropped documents of each rule, in the order of the rules' names."""
    return _counts(decisions.filter(pc.field("verdict") == Verdict.DROPPED.value), "rule")


def removed_by_rule(decisions: pa.Table) -> dict[str, int]:
    """Counts the removed documents of each rule, in the order of the rules' names."""
    return _counts(decisions.filter(pc.field("verdict") == Verdict.REMOVED.value), "rule")


def count_by_verdict(decisions: pa.Table) -> dict[Verdict, int]:
    """Counts the decisions of each verdict; verdicts that do not occur count 0."""
    counts = _counts(decisions, "verdict")
    return {verdict: counts.get(verdict.value, 0) for verdict in Verdict}


def decisions_on(decisions: pa.Table, document_id: bytes) -> pa.Table:
    """The decisions on one document, in the order of the table.

    Args:
        document_id: 32 bytes.
    """
    wanted = pa.scalar(document_id, ID)
    return decisions.filter(pc.equal(decisions["document_id"], wanted))


def _counts(table: pa.Table, column: str) -> dict[str, int]:
    counted = table.group_by(column).aggregate([([], "count_all")]).to_pydict()
    return dict(sorted(zip(counted[column], counted["count_all"], strict=True)))
