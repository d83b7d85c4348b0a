"""The Arrow schemas of every stage, from raw records to shards.

Token columns hold little-endian bytes of the dataset's dtype; digests and ids are
32-byte binaries; offsets and sizes are bytes unless the name says otherwise.
"""

from __future__ import annotations

import pyarrow as pa

ID = pa.binary(32)

# One row a readable record, in the order of the partition. `file` is an ordinal into
# the partition's files, `offset` counts from the start of the partition's range in it.
RECORDS = pa.schema(
    [
        pa.field("shuffle_key", ID, nullable=False),
        pa.field("content_key", ID, nullable=False),  # SHA-256 of the raw text
        pa.field("document_id", ID, nullable=False),
        pa.field("raw_content_id", ID, nullable=False),
        pa.field("content_id", ID, nullable=False),  # of the text as read
        pa.field("file", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("num_bytes", pa.int64(), nullable=False),  # as it lies in the source
        pa.field("url", pa.string()),
        pa.field("licence", pa.string()),  # the record's own word, not yet looked at
        pa.field("encoding", pa.string()),  # as detected or declared; null for UTF-8
        pa.field("text", pa.large_string(), nullable=False),
    ]
)

# The columns of RECORDS that a source tells of a record besides its text.
TOLD = ("url", "licence", "encoding")

# One row a record that could not be read. `record` holds its first 64 KiB.
QUARANTINE = pa.schema(
    [
        pa.field("file", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("num_bytes", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
        pa.field("record", pa.large_binary(), nullable=False),
    ]
)

# One row a record after cleaning; nothing is dropped yet. `content_id` and `text` are those
# of the cleaned text.
DOCUMENTS = pa.schema(
    [
        *(RECORDS.field(name) for name in RECORDS.names if name != "text"),
        pa.field("num_chars", pa.int64(), nullable=False),  # code points, cleaned
        pa.field("edits", pa.string(), nullable=False),  # acts that changed it, by comma
        pa.field("text", pa.large_string(), nullable=False),
    ]
)

# One row a document that is new to the dataset; `row` counts the rows of DOCUMENTS in the
# same partition.
TOKENS = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("num_tokens", pa.int64(), nullable=False),  # the end token included
        pa.field("tokens", pa.large_binary(), nullable=False),
    ]
)

# One row a document in a shard, in the order of the shard's token stream. A hole has
# no ids. `start` and `num_tokens` count tokens of the shard, the end token included.
SPANS = pa.schema(
    [
        pa.field("document_id", ID),
        pa.field("raw_content_id", ID),
        pa.field("content_id", ID),
        pa.field("source", pa.int32(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("num_tokens", pa.int64(), nullable=False),
    ]
)


# Stands in every stored shard: the RFC 6962 leaf hash of its sample, so that a root can
# be made again, and a sample proven, without reading tokens.
LEAF = pa.field("leaf", pa.binary(32), nullable=False)


def shard_schema(sample_tokens: int, token_bytes: int) -> pa.Schema:
    """The schema of a token shard: one row a packed sample.

    `boundaries` are the exclusive ends of the pieces of documents in the sample, u32
    little-endian; the last is `sample_tokens`. `loss_mask` is null where every token
    counts, else one bit a token, the lowest bit first, 1 = counts. `sources` holds one
    u16 little-endian source ordinal a piece; 0xFFFF is fill.

    Args:
        sample_tokens: tokens in a sample, 2 or more.
        token_bytes: 1, 2 or 4, the width of the dtype.
    """
    return pa.schema(
        [
            pa.field("input_ids", pa.binary(sample_tokens * token_bytes), nullable=False),
            pa.field("boundaries", pa.binary(), nullable=False),
            pa.field("loss_mask", pa.binary((sample_tokens + 7) // 8)),
            pa.field("sources", pa.binary(), nullable=False),
        ]
    )
