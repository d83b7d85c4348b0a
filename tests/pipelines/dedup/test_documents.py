"""What is held of documents finds the same ones as their whole ids would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.dedup.columns import INPUT, PUBLISHED
from pipelines.dedup.documents import Published, survey
from pipelines.dedup.rows import TableRows
from pipelines.dedup.survivors import survivors

# Many share their first eight bytes, by which they are looked up.
ids = st.builds(lambda a, b: bytes([a]) * 8 + bytes([b]) * 24, st.integers(0, 2), st.integers(0, 3))


def published_of(document_ids: list[bytes]) -> Published:
    same = {"raw_content_id": b"r" * 32, "content_id": b"c" * 32, "num_tokens": 300}
    where = {"segment": 0, "shard": 0, "span": 0}
    rows = [{"document_id": item, **same, **where} for item in document_ids]
    return Published(TableRows.of_published(pa.Table.from_pylist(rows, PUBLISHED)))


def input_of(document_ids: list[bytes], content_ids: list[bytes]) -> TableRows:
    rows = [
        {
            **{name: bytes(32) for name in ("shuffle_key", "content_key", "raw_content_id")},
            **dict.fromkeys(("source", "num_bytes", "num_chars"), 1),
            "partition": number // 3,
            "row": number % 3,
            "document_id": document_id,
            "content_id": content_id,
            "edits": "",
        }
        for number, (document_id, content_id) in enumerate(
            zip(document_ids, content_ids, strict=True)
        )
    ]
    return TableRows.of_input(pa.Table.from_pylist(rows, INPUT))


@settings(deadline=None)
@given(st.lists(ids, unique=True), st.lists(ids))
def test_a_published_document_is_found_by_its_id(alive: list[bytes], wanted: list[bytes]) -> None:
    found = published_of(alive).find(pa.chunked_array([pa.array(wanted, pa.binary(32))]))
    assert found.tolist() == [alive.index(item) if item in alive else -1 for item in wanted]


@settings(deadline=None)
@given(st.lists(ids, unique=True, max_size=8), st.lists(ids, min_size=8, max_size=8))
def test_ids_that_begin_alike_are_not_taken_for_each_other(
    documents: list[bytes], contents: list[bytes]
) -> None:
    contents = contents[: len(documents)]
    held, keys = survey(input_of(documents, contents), published_of([]))
    fates = survivors(held, keys)
    assert fates.booked.all()
    assert sorted(np.array(contents, object)[fates.survives]) == sorted(set(contents))


def test_counts_are_held_as_narrow_as_they_are() -> None:
    assert published_of([bytes(32)]).num_tokens.dtype == np.uint16
    assert survey(input_of([bytes(32)], [bytes(32)]), published_of([]))[0].source.dtype == np.uint8
