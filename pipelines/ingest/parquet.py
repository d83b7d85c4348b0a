"""Parquet: one record a row, read from one text column and perhaps one of ids."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from lineage.digest import Digest, digest_of_file
from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.fields import FieldMap, fields_of, own_id
from pipelines.ingest.lines import MAX_LINE_BYTES
from pipelines.ingest.partition import FileRange, Partition, broken_content, row_groups_content
from pipelines.ingest.refused import Refused
from pipelines.ingest.rowgroups import CorruptParquet, RowGroups
from pipelines.spec.source import SourceSpec

_BATCH_BYTES = 16 << 20
_MAX_BATCH_ROWS = 8192


def read_parquet(
    partition: Partition, source: SourceSpec, root: Path, builder: ChunkBuilder
) -> Generator[Chunk, None, Digest]:
    """Reads a run of row groups; returns the digest of what was read.

    Raises:
        OSError: the file cannot be read.
    """
    part = partition.files[0]
    path = root / part.path
    if part.length == 0:
        return _add_broken(builder, path)
    try:
        with RowGroups(path) as groups:
            wanted = range(part.start, min(part.start + part.length, groups.count))
            content = row_groups_content([groups.digest(i) for i in wanted])
            # Bytes that changed since the plan are not read at all.
            if content == partition.content:
                yield from _read_groups(builder, source, groups, part)
    except CorruptParquet:
        return broken_content(digest_of_file(path))
    return content


def _add_broken(builder: ChunkBuilder, path: Path) -> Digest:
    size = path.stat().st_size
    try:
        with RowGroups(path) as groups:
            reason = "corrupt_file" if groups.total_rows else "empty_file"
        detail = f"a Parquet file of {groups.total_rows} rows"
    except CorruptParquet as error:
        reason = "corrupt_file" if size else "empty_file"
        detail = f"no Parquet file of a kind that is read: {error}"
    builder.refuse(reason, detail, b"", Place(0, 0, size if reason == "corrupt_file" else 0))
    return broken_content(digest_of_file(path))


def _read_groups(
    builder: ChunkBuilder, source: SourceSpec, groups: RowGroups, part: FileRange
) -> Iterator[Chunk]:
    first = 0
    for group in range(part.start, part.start + part.length):
        num_rows = groups.num_rows(group)
        done, broken = 0, ""
        batches = _batches(groups, group, source)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                broken = f": {type(error).__name__}"
                break
            if batch is None:
                break
            yield from add_batch(builder, source, batch, first + done, 0)
            done += batch.num_rows
        if broken or done != num_rows:
            detail = f"row group {group}: {num_rows - done} of {num_rows} rows unread{broken}"
            builder.refuse("corrupt_file", detail, b"", Place(0, first + done, 0))
        first += num_rows


def _batches(groups: RowGroups, group: int, source: SourceSpec) -> Iterator[pa.RecordBatch]:
    names = groups.parquet.schema_arrow.names
    # A path into a struct reads the whole struct, unless a column holds the dots itself.
    wanted = {name if name in names else name.partition(".")[0] for name in fields_of(source)}
    present = [name for name in names if name in wanted]
    yield from groups.parquet.iter_batches(
        batch_size=min(_MAX_BATCH_ROWS, groups.rows_of_bytes(group, _BATCH_BYTES)),
        row_groups=[group],
        columns=present,
        use_threads=False,
    )


def add_batch(
    builder: ChunkBuilder, source: SourceSpec, batch: pa.RecordBatch, first: int, file: int
) -> Iterator[Chunk]:
    """Adds the rows of a batch.

    Args:
        first: place of its first row in the file.
        file: ordinal of the file.
    """
    if not _plain(source):
        yield from _add_rows(builder, source, batch, first, file)
        return
    names = batch.schema.names
    column = _column(batch, source.text) if source.text in names else None
    texts = [None] * batch.num_rows if column is None else _as_bytes(column)
    known_utf8 = column is not None and _is_utf8(column)
    ids: Sequence[object] = [None] * batch.num_rows
    if source.id is not None and source.id in names:
        ids = _column(batch, source.id).to_pylist()
    for i, text in enumerate(texts or [None] * batch.num_rows):
        place = Place(file, first + i, len(text or b""))
        try:
            if column is None:
                raise Refused("text_missing", f"no column {source.text!r}")
            if texts is None:
                raise Refused("text_not_a_string", f"{source.text!r} is a {column.type}")
            good = _checked(text, source, known_utf8)
            builder.record(good, source.id and own_id(ids[i], source.id), place)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, text or b"", place)
        if builder.full:
            yield builder.take()


def _plain(source: SourceSpec) -> bool:
    """Whether one column of text and perhaps one of ids is all that is read."""
    return not (source.url or source.record_licence or "{" in source.text or "." in source.text)


def _add_rows(
    builder: ChunkBuilder, source: SourceSpec, batch: pa.RecordBatch, first: int, file: int
) -> Iterator[Chunk]:
    """Row by row, for what one column does not hold: templates, paths, addresses."""
    fields = FieldMap(source)
    for i, row in enumerate(_rows(batch)):
        size = sum(len(value) for value in row.values() if isinstance(value, str))
        place = Place(file, first + i, size)
        try:
            mapped = fields.document(row)
            if len(mapped.text) > MAX_LINE_BYTES:
                raise Refused("text_too_long", f"{len(mapped.text)} bytes")
            place = Place(file, first + i, len(mapped.text))
            builder.record(mapped.text, mapped.record_id, place, mapped.told)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, b"", place)
        if builder.full:
            yield builder.take()


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, object]]:
    try:
        batch.validate(full=True)
        yield from batch.to_pylist()
    except (pa.ArrowInvalid, UnicodeDecodeError):
        for i in range(batch.num_rows):
            yield _row(batch, i)


def _row(batch: pa.RecordBatch, i: int) -> dict[str, object]:
    row: dict[str, object] = {}
    for name in batch.schema.names:
        try:
            row[name] = batch[name][i].as_py()
        except UnicodeDecodeError:
            # Reads as a text of the wrong kind, so the record is refused with its field.
            row[name] = b""
    return row


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    # By place, since a name may stand twice: the first counts.
    column = batch.column(batch.schema.names.index(name))
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _as_bytes(column: pa.Array) -> list[bytes | None] | None:
    """The values as bytes, or None where the column holds no text."""
    if pa.types.is_null(column.type):
        return [None] * len(column)
    if not _holds_text(column.type):
        return None
    values: list[bytes | None] = column.cast(pa.large_binary()).to_pylist()
    return values


def _holds_text(kind: pa.DataType) -> bool:
    # Old writers store text as bytes without saying that they are UTF-8.
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
    )


def _is_utf8(column: pa.Array) -> bool:
    """True when all values are UTF-8: one pass of Arrow instead of one a row."""
    try:
        column.validate(full=True)
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return not pa.types.is_binary_view(column.type)


def _checked(text: bytes | None, source: SourceSpec, known_utf8: bool) -> bytes:
    if text is None:
        raise Refused("text_null", f"column {source.text!r}")
    if len(text) > MAX_LINE_BYTES:
        raise Refused("text_too_long", f"{len(text)} bytes")
    if not known_utf8:
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as wrong:
            raise Refused("invalid_utf8", f"byte {wrong.start}: {wrong.reason}") from None
    if (at := text.find(b"\0")) >= 0:
        raise Refused("nul_character", f"byte {at}")
    return text
