"""Documents out of columns of Arrow: the fields of a source as arrays, not as objects.

A batch is looked at as a whole; only rows in which something may be wrong are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder, Place, Rows
from pipelines.ingest.fields import own_id, template_of
from pipelines.ingest.records.lines import MAX_LINE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

Mask = NDArray[np.bool_]


def add_batch(
    builder: ChunkBuilder, source: SourceSpec, batch: pa.RecordBatch, first: int, file: int
) -> Iterator[Chunk]:
    """Adds the rows of a batch; the size of a row is that of its text in UTF-8.

    Memory: the batch, the text of a template once more, and a chunk, which holds copies.

    Args:
        batch: a few thousand rows; its texts need not be UTF-8.
        first: place of its first row in the file.
        file: ordinal of the file.

    Raises:
        pa.ArrowInvalid: a column's offsets or indices lie outside of it; no row was added.
    """
    documents = _Documents(source, batch, first, file)
    at = 0
    while at < batch.num_rows:
        end = at + builder.room(documents.sizes[at:])
        documents.add(builder, at, end)
        if builder.full:
            yield builder.take()
        at = end


class _Documents:
    """The documents of a batch, and its rows that are none.

    Attributes:
        sizes: int64, bytes that each row adds to a chunk.
    """

    def __init__(self, source: SourceSpec, batch: pa.RecordBatch, first: int, file: int) -> None:
        self._first, self._file = first, file
        self._texts = _Texts(source, batch)
        ids = None if source.id is None else _Column.of(batch, source.id, numbers=True)
        told = (source.url, source.record_licence)
        self._told = [field and _Column.of(batch, field).words() for field in told]
        self._own_ids = None if ids is None else ids.data.to_pylist()
        self._refused = dict(self._refusals(ids))
        self.sizes = self._texts.lengths.copy()
        refused = list(self._refused)
        self.sizes[refused] = np.minimum(self.sizes[refused], HEAD_BYTES)

    def add(self, builder: ChunkBuilder, start: int, end: int) -> None:
        """Adds some rows, which have room in the chunk."""
        refused = [i for i in range(start, end) if i in self._refused]
        kept = np.delete(np.arange(start, end), np.array(refused, np.int64) - start)
        if kept.size:
            builder.rows(self._rows(kept))
        for i in refused:
            wrong, text = self._refused[i], self._texts.bytes_of(i)
            place = Place(self._file, self._first + i, len(text))
            builder.refuse(wrong.reason, wrong.detail, text, place)

    def _rows(self, kept: NDArray[np.int64]) -> Rows:
        bounds, texts = self._texts.at(kept)
        own_ids = None if self._own_ids is None else [self._own_ids[i] for i in kept]
        urls, licences = (words and [words[i] for i in kept] for words in self._told)
        offsets = self._first + kept
        return Rows(self._file, offsets, bounds, texts, own_ids, urls, licences)

    def _refusals(self, ids: _Column | None) -> Iterator[tuple[int, Refused]]:
        suspicious = self._texts.suspicious
        if ids is not None:
            suspicious = suspicious | ids.wrong | (_lengths(ids.data) == 0)
        for i in np.flatnonzero(suspicious).tolist():
            try:
                self._texts.check(i)
                if ids is not None:
                    own_id(ids.value(i), ids.name)
            except Refused as refused:
                yield i, refused


class _Texts:
    """The texts of a batch: a column's, or those that a template makes of several.

    Attributes:
        lengths: int64, bytes of each text; what is missing is empty.
        suspicious: rows that `check` may refuse; no others.
    """

    def __init__(self, source: SourceSpec, batch: pa.RecordBatch) -> None:
        parts = template_of(source.text)
        self._field, self._template = source.text, parts is not None
        fields = [source.text] if parts is None else [field for _, field in parts if field]
        self._columns = [_Column.of(batch, field) for field in fields]
        self._data = self._columns[0].data if parts is None else self._filled(parts)
        self.lengths = _lengths(self._data)
        empty = sum((_lengths(column.data) for column in self._columns), np.zeros(1)) == 0
        # A column's empty text is a text, a template's is none.
        self.suspicious = empty | (self.lengths > MAX_LINE_BYTES) | _with_nul(self._data)
        for column in self._columns:
            self.suspicious = self.suspicious | column.wrong

    def bytes_of(self, i: int) -> bytes:
        """A text; what is missing in it is empty."""
        return self._data[i].as_py() or b""

    def at(self, kept: NDArray[np.int64]) -> tuple[NDArray[np.int64], memoryview]:
        """Texts of rows that are no null, in their order: bounds and bytes, as `Rows` has them."""
        start, end = int(kept[0]), int(kept[-1]) + 1
        if len(kept) == end - start:
            return _bounds_and_bytes(self._data.slice(start, end - start))
        return _bounds_and_bytes(self._data.take(pa.array(kept)))

    def check(self, i: int) -> None:
        """Looks at the text of a row.

        Raises:
            Refused: missing, of another type, too long, not UTF-8, or with a NUL.
        """
        text = self.bytes_of(i)
        for column in self._columns:
            column.check_type(i)
        if not self._template:
            self._columns[0].check_there(i)
        elif not any(column.data[i].as_py() for column in self._columns):
            raise Refused("text_missing", f"no column of {self._field!r} has text")
        if len(text) > MAX_LINE_BYTES:
            raise Refused("text_too_long", f"{len(text)} bytes")
        for column in self._columns:
            _utf8(column.data[i].as_py() or b"", column.name)
        if (at := text.find(b"\0")) >= 0:
            raise Refused("nul_character", f"byte {at}")

    def _filled(self, parts: list[tuple[str, str | None]]) -> pa.LargeBinaryArray:
        literals = [pa.scalar(literal.encode(), pa.large_binary()) for literal, _ in parts]
        filled = [literals[0]]
        for column, literal in zip(self._columns, literals[1:], strict=True):
            filled += (column.data, literal)
        return pc.binary_join_element_wise(
            *filled,
            pa.scalar(b"", pa.large_binary()),
            null_handling="replace",
            null_replacement=b"",
        )


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of the rows of a batch.

    Attributes:
        kind: its type where it holds no text; None where it does, or is not there.
        there: False where no column has the name.
        data: large_binary; null where there is no text.
        valid: where there is a value, of any type.
        wrong: where there is a value of another type, or text that is not UTF-8.
    """

    name: str
    there: bool
    kind: str | None
    data: pa.LargeBinaryArray
    valid: Mask
    wrong: Mask

    @classmethod
    def of(cls, batch: pa.RecordBatch, name: str, *, numbers: bool = False) -> _Column:
        """The field of a name.

        Args:
            numbers: whole numbers stand for their decimals.
        """
        column = _array(batch, name)
        there, kind = column is not None, None
        if column is None or pa.types.is_null(column.type):
            column = pa.nulls(batch.num_rows, pa.large_binary())
        if _holds_text(column.type):
            data = _checked_bytes(column).cast(pa.large_binary())
        elif numbers and pa.types.is_integer(column.type):
            data = column.cast(pa.large_string()).cast(pa.large_binary())
        else:
            kind, data = str(column.type), pa.nulls(batch.num_rows, pa.large_binary())
        valid: Mask = column.is_valid().to_numpy(zero_copy_only=False)
        return cls(name, there, kind, data, valid, _not_utf8(data) if kind is None else valid)

    def check_type(self, i: int) -> None:
        """Refuses what is neither text nor null."""
        if self.kind is not None and self.valid[i]:
            raise Refused("text_not_a_string", f"{self.name!r} is of type {self.kind}")

    def check_there(self, i: int) -> None:
        """Refuses a column that is missing, and null."""
        if not self.valid[i]:
            reason = "text_null" if self.there else "text_missing"
            raise Refused(
                reason, f"column {self.name!r}" if self.there else f"no column {self.name!r}"
            )

    def value(self, i: int) -> str | None:
        """What stands for a row's own id.

        Raises:
            Refused: of another type, or not UTF-8.
        """
        if self.kind is not None and self.valid[i]:
            raise Refused("id_not_a_string", f"{self.name!r} is of type {self.kind}")
        value = self.data[i].as_py()
        return None if value is None else _utf8(value, self.name)

    def words(self) -> list[str | None]:
        """Texts that may as well be missing."""
        texts = pc.if_else(pa.array(self.wrong), pa.scalar(None, pa.large_binary()), self.data)
        words: list[str | None] = texts.cast(pa.large_string()).to_pylist()
        return words


def _utf8(value: bytes, name: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Refused("invalid_utf8", f"{name!r}, byte {wrong.start}: {wrong.reason}") from None


def _array(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """A column, or a child of a struct by a path; of two of one name the first."""
    names = batch.schema.names
    if name in names:
        return _plain(batch.column(names.index(name)))
    first, *rest = name.split(".")
    if first not in names:
        return None
    array = _plain(batch.column(names.index(first)))
    for child in rest:
        if not pa.types.is_struct(array.type):
            return None
        children = [array.type.field(i).name for i in range(array.type.num_fields)]
        if child not in children:
            return None
        # Null where the struct is.
        array = _plain(array.flatten()[children.index(child)])
    return array


def _plain(array: pa.Array) -> pa.Array:
    """The values of an array that keeps each once, or under another name."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if pa.types.is_dictionary(array.type):
        words = array.dictionary
        words = _checked_bytes(words) if _holds_text(words.type) else words
        # The indices are not believed.
        array = pa.DictionaryArray.from_arrays(array.indices, words, safe=True).dictionary_decode()
    return array


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


def _checked_bytes(array: pa.Array) -> pa.Array:
    """Text as bytes (binary or large_binary) whose offsets lie inside of them."""
    types = pa.types
    if types.is_string_view(array.type) or types.is_binary_view(array.type):
        array = array.cast(pa.binary_view())
        array.validate(full=True)
        return array.cast(pa.large_binary())
    narrow = types.is_string(array.type) or types.is_binary(array.type)
    array = array.cast(pa.binary() if narrow else pa.large_binary())
    array.validate(full=True)
    return array


def _lengths(data: pa.LargeBinaryArray) -> NDArray[np.int64]:
    """Bytes of each value; a null has none."""
    lengths: NDArray[np.int64] = pc.binary_length(data).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths


def _bounds_and_bytes(data: pa.LargeBinaryArray) -> tuple[NDArray[np.int64], memoryview]:
    """Where each value starts and the last one ends, in the bytes of all; nothing is copied."""
    _, offsets, values = data.buffers()
    bounds = np.frombuffer(offsets, np.int64)[data.offset : data.offset + len(data) + 1]
    return bounds, memoryview(b"" if values is None else values)


def _with_nul(data: pa.LargeBinaryArray) -> Mask:
    """The values with a zero byte."""
    found = np.zeros(len(data), np.bool_)
    if not len(data):
        return found
    bounds, values = _bounds_and_bytes(data)
    used = np.frombuffer(values, np.uint8)[bounds[0] : bounds[-1]]
    # The least byte is found without an array of marks.
    if used.size and not used.min():
        places = np.flatnonzero(used == 0) + bounds[0]
        found[np.searchsorted(bounds, places, side="right") - 1] = True
    return found


def _not_utf8(data: pa.LargeBinaryArray) -> Mask:
    """The values that are not UTF-8, found by halves: most batches need one pass of Arrow."""
    try:
        data.cast(pa.large_string())
    except pa.ArrowInvalid:
        if len(data) == 1:
            return np.ones(1, np.bool_)
        half = len(data) // 2
        return np.concatenate([_not_utf8(data[:half]), _not_utf8(data[half:])])
    return np.zeros(len(data), np.bool_)
