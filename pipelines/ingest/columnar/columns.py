"""Documents out of columns of Arrow: the fields of a source as arrays, not as objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place, Told
from pipelines.ingest.fields import own_id, template_of
from pipelines.ingest.records.lines import MAX_LINE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

_NOTHING = Told()


def add_batch(
    builder: ChunkBuilder, source: SourceSpec, batch: pa.RecordBatch, first: int, file: int
) -> Iterator[Chunk]:
    """Adds the rows of a batch; the size of a row is that of its text in UTF-8.

    Args:
        batch: a few thousand rows; its texts need not be UTF-8.
        first: place of its first row in the file.
        file: ordinal of the file.

    Raises:
        pa.ArrowInvalid: a column's offsets or indices lie outside of it; no row was added.
    """
    texts = _Texts(source, batch)
    ids = None if source.id is None else _Column.of(batch, source.id)
    tells = _Tells(source, batch)
    for i in range(batch.num_rows):
        text = texts.bytes_of(i)
        place = Place(file, first + i, len(text))
        try:
            texts.check(i, text)
            record_id = None if ids is None else own_id(ids.value(i), ids.name)
            builder.record(text, record_id, place, tells.told(i))
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, text, place)
        if builder.full:
            yield builder.take()


class _Texts:
    """The texts of a batch: a column's, or those that a template makes of several."""

    def __init__(self, source: SourceSpec, batch: pa.RecordBatch) -> None:
        parts = template_of(source.text)
        self._field, self._template = source.text, parts is not None
        fields = [source.text] if parts is None else [field for _, field in parts if field]
        self._columns = [_Column.of(batch, field) for field in fields]
        self._literals = [literal.encode() for literal, _ in parts or ()]

    def bytes_of(self, i: int) -> bytes:
        """A text; what is missing in it is empty."""
        if not self._template:
            return self._columns[0].bytes_of(i)
        filled = [self._literals[0]]
        for column, literal in zip(self._columns, self._literals[1:], strict=True):
            filled += (column.bytes_of(i), literal)
        return b"".join(filled)

    def check(self, i: int, text: bytes) -> None:
        """Looks at the text of a row.

        Raises:
            Refused: missing, of another type, too long, not UTF-8, or with a NUL.
        """
        for column in self._columns:
            column.check_type(i)
        if not self._template:
            self._columns[0].check_there(i)
        elif not any(column.bytes_of(i) for column in self._columns):
            raise Refused("text_missing", f"no column of {self._field!r} has text")
        if len(text) > MAX_LINE_BYTES:
            raise Refused("text_too_long", f"{len(text)} bytes")
        for column in self._columns:
            column.check_utf8(i)
        if (at := text.find(b"\0")) >= 0:
            raise Refused("nul_character", f"byte {at}")


class _Tells:
    """What a batch tells of its documents besides their text."""

    def __init__(self, source: SourceSpec, batch: pa.RecordBatch) -> None:
        url, licence = source.url, source.record_licence
        self._url = None if url is None else _Column.of(batch, url)
        self._licence = None if licence is None else _Column.of(batch, licence)

    def told(self, i: int) -> Told:
        """Of one row; what is no text is not told."""
        if self._url is None and self._licence is None:
            return _NOTHING
        url = None if self._url is None else self._url.word(i)
        licence = None if self._licence is None else self._licence.word(i)
        return Told(url, licence)


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of the rows of a batch.

    Attributes:
        kind: its type where it holds no text; None where it does, or is not there.
        there: False where no column has the name.
        values: bytes of text, whole numbers, or True for what is neither; None for null.
        known_utf8: whether all of its text is UTF-8.
    """

    name: str
    there: bool
    kind: str | None
    values: Sequence[bytes | int | None]
    known_utf8: bool

    @classmethod
    def of(cls, batch: pa.RecordBatch, name: str) -> _Column:
        column = _array(batch, name)
        if column is None or pa.types.is_null(column.type):
            return cls(name, column is not None, None, [None] * batch.num_rows, True)
        if _holds_text(column.type):
            data = _checked_bytes(column)
            return cls(name, True, None, data.to_pylist(), _is_utf8(data))
        if pa.types.is_integer(column.type):
            return cls(name, True, str(column.type), column.to_pylist(), True)
        there = [True if valid else None for valid in column.is_valid().to_pylist()]
        return cls(name, True, str(column.type), there, True)

    def bytes_of(self, i: int) -> bytes:
        """The bytes of a text, or none."""
        value = self.values[i]
        return value if isinstance(value, bytes) else b""

    def check_type(self, i: int) -> None:
        """Refuses what is neither text nor null."""
        if self.kind is not None and self.values[i] is not None:
            raise Refused("text_not_a_string", f"{self.name!r} is of type {self.kind}")

    def check_there(self, i: int) -> None:
        """Refuses a column that is missing, and null."""
        if self.values[i] is None:
            reason = "text_null" if self.there else "text_missing"
            raise Refused(
                reason, f"column {self.name!r}" if self.there else f"no column {self.name!r}"
            )

    def check_utf8(self, i: int) -> None:
        """Refuses bytes that are not UTF-8."""
        if not self.known_utf8:
            _utf8(self.bytes_of(i), self.name)

    def value(self, i: int) -> object:
        """What stands for a row's own id: text or a whole number.

        Raises:
            Refused: of another type, or not UTF-8.
        """
        value = self.values[i]
        if isinstance(value, bytes):
            return _utf8(value, self.name)
        if value is True:
            raise Refused("id_not_a_string", f"{self.name!r} is of type {self.kind}")
        return value

    def word(self, i: int) -> str | None:
        """A text that may as well be missing."""
        value = self.values[i]
        try:
            return _utf8(value, self.name) if isinstance(value, bytes) else None
        except Refused:
            return None


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
    """Text as bytes whose offsets lie inside of them."""
    types = pa.types
    if types.is_string_view(array.type) or types.is_binary_view(array.type):
        array = array.cast(pa.binary_view())
        array.validate(full=True)
        return array.cast(pa.large_binary())
    narrow = types.is_string(array.type) or types.is_binary(array.type)
    array = array.cast(pa.binary() if narrow else pa.large_binary())
    array.validate(full=True)
    return array


def _is_utf8(data: pa.Array) -> bool:
    """True when all values are UTF-8: one pass of Arrow instead of one a row."""
    try:
        data.cast(pa.string() if pa.types.is_binary(data.type) else pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True
