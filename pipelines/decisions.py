"""Decisions: what became of each document, by which rule, and for whom it made way."""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa

from pipelines.schema import ID

# The rules of duplicates, and the two reasons for leaving a version that are no rule of cleaning.
EXACT_DUPLICATE = "exact_duplicate"
NEAR_DUPLICATE = "near_duplicate"
RECORD_ID_REUSED = "record_id_reused"
# `published.NAME@vN`: the text stands in that version of another dataset.
PUBLISHED = "published"
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
