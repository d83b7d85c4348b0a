"""Rows of a batch are the records and refusals, in the chunks, that they would be one by one."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place, Told
from pipelines.ingest.columnar.columns import add_batch
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec
from tests.pipelines.ingest.conftest import HASHER

Row = tuple[bytes | None, bytes | None, bytes | None]

some_bytes = st.one_of(
    st.none(),
    st.sampled_from([b"", b"a", b"\0", b"a\0b", b"\xc3", b"\xa4", b"\xed\xa0\x80", b"x" * 40]),
    st.text(max_size=12).map(lambda text: text.encode()),
)
rows_of = st.lists(st.tuples(some_bytes, some_bytes, some_bytes), min_size=1, max_size=40)
kinds = st.sampled_from([pa.binary(), pa.large_binary(), pa.binary_view()])


def decoded(value: bytes, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as wrong:
        raise Refused("invalid_utf8", f"{name!r}, byte {wrong.start}: {wrong.reason}") from None


def document(row: Row, *, template: bool) -> tuple[str, str]:
    text, own, more = row
    if not template and text is None:
        raise Refused("text_null", "column 'text'")
    if template and not (text or more):
        raise Refused("text_missing", "no column of '{text}-{more}' has text")
    for value, name in ((text, "text"), (more, "more"))[: 1 + template]:
        decoded(value or b"", name)
    whole = filled(row, template=template)
    if b"\0" in whole:
        raise Refused("nul_character", f"byte {whole.index(0)}")
    if not own:
        raise Refused("id_missing", "field 'id'")
    return whole.decode(), decoded(own, "id")


def filled(row: Row, *, template: bool) -> bytes:
    text, _, more = row
    return (text or b"") + (b"-" + (more or b"") if template else b"")


def one_by_one(builder: ChunkBuilder, rows: list[Row], *, template: bool) -> Iterator[Chunk]:
    for i, row in enumerate(rows):
        there = filled(row, template=template)
        place = Place(3, 100 + i, len(there))
        try:
            text, own = document(row, template=template)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, there, place)
        else:
            builder.record(text.encode(), own, place, Told(url=told(row[2])))
        if builder.full:
            yield builder.take()


def told(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


@settings(deadline=None, max_examples=150)
@given(rows_of, kinds, st.booleans(), st.sampled_from([1, 30, 1 << 20]), st.integers(0, 3))
def test_a_batch_is_read_as_its_rows_would_be_one_by_one(
    rows: list[Row], kind: pa.DataType, template: bool, chunk_bytes: int, skipped: int
) -> None:
    # The ids keep what most rows are read for: that one is there.
    rows = [
        (text, own if own is None else own + b"%d" % i, more)
        for i, (text, own, more) in enumerate(rows)
    ]
    columns = [pa.array(column, pa.binary()).cast(kind) for column in zip(*rows, strict=True)]
    whole = pa.RecordBatch.from_arrays(columns, ["text", "id", "more"])
    # A slice, whose arrays do not begin where their buffers do.
    batch, rows = whole.slice(skipped), rows[skipped:]
    text = "{text}-{more}" if template else "text"
    source = SourceSpec(
        "wiki", "a", "parquet", "MIT", "user", "2026-01", text=text, id="id", url="more"
    )
    fast, slow = (ChunkBuilder("wiki", 7, HASHER, chunk_bytes) for _ in range(2))
    found = [*add_batch(fast, source, batch, 100, 3), fast.take()]
    expected = [*one_by_one(slow, rows, template=template), slow.take()]
    assert found == expected


def test_a_chunk_ends_behind_65536_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"text": ["a"] * 70_000})
    source = SourceSpec("wiki", "a", "parquet", "MIT", "user", "2026-01")
    builder = ChunkBuilder("wiki", 7, HASHER, 1 << 20)
    (chunk,) = add_batch(builder, source, batch, 0, 0)
    assert (chunk.records.num_rows, builder.take().records.num_rows) == (65_536, 4_464)
