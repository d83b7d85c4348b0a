"""MDS, the shards of MosaicML's streaming: one document a sample, from one column of ids.

A shard is `u32` samples, `u32` samples + 1 offsets, JSON about the columns, and the
samples. A sample is the `u32` sizes of its columns without a fixed size, then the columns.
Only the bytes of the one column are looked at, so a column of pickles stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson

from lineage.errors import ConfigError
from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.ids.token_ids import MAX_DOCUMENT_BYTES, add_document, refuse_wider
from pipelines.ingest.places.window import Window
from pipelines.spec.source import SourceSpec

_MAX_SAMPLES = 1 << 24
_MAX_JSON_BYTES = 1 << 20
_MAX_SAMPLE_BYTES = 2 * MAX_DOCUMENT_BYTES
# How the format numbers the types of integers.
_KINDS = {8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 32: "uint32", 33: "int32"}
_KINDS |= {64: "uint64", 65: "int64"}


class _NoShard(Exception):
    """Why bytes are no shard or no sample; never reaches a user."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """How a sample is cut.

    Attributes:
        sizes: of each column in bytes, None where a sample tells it.
        wanted: the number of the column with ids.
        encoding: of that column.
    """

    sizes: tuple[int | None, ...]
    wanted: int
    encoding: str


def read_mds(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one shard.

    Raises:
        ConfigError: it has no such column, or one whose encoding holds no ids, or wider ones.
    """
    window = Window(stream)
    try:
        ends, columns = _header(window, source)
    except _NoShard as error:
        size = window.drop(1 << 62)
        reason = "corrupt_file" if size or window.offset else "empty_file"
        builder.refuse(reason, str(error), b"", Place(file, 0, window.offset))
        return
    for number, size in enumerate(np.diff(ends).tolist()):
        place = Place(file, window.offset, size)
        if size > _MAX_SAMPLE_BYTES:
            builder.refuse("text_too_long", f"{size} bytes", b"", place)
            window.drop(size)
            continue
        if window.fill(size) < size:
            held = window.drop(size)
            detail = f"{len(ends) - 1 - number} samples are missing or cut"
            builder.refuse("truncated_stream", detail, b"", Place(file, place.offset, held))
            return
        _add(builder, window.take(size), columns, source, place)
        if builder.full:
            yield builder.take()
    start = window.offset
    if behind := window.drop(1 << 62):
        detail = f"{behind} bytes behind the last sample"
        builder.refuse("corrupt_file", detail, b"", Place(file, start, behind))


def _add(
    builder: ChunkBuilder, sample: bytes, columns: _Columns, source: SourceSpec, place: Place
) -> None:
    try:
        data = _ids(_column(sample, columns), columns.encoding, source.encoding)
    except _NoShard as error:
        builder.refuse("malformed_record", str(error), sample, place)
    else:
        refuse_wider(data, source.encoding, source.name)
        add_document(builder, data, source.encoding, place)


def _header(window: Window, source: SourceSpec) -> tuple[npt.NDArray[np.int64], _Columns]:
    if window.fill(4) < 4:
        raise _NoShard("no header")
    count = int.from_bytes(window.take(4), "little")
    size = 4 * (count + 1)
    if count > _MAX_SAMPLES or window.fill(size) < size:
        raise _NoShard(f"no offsets of {count} samples")
    ends = np.frombuffer(window.take(size), "<u4").astype(np.int64)
    about = int(ends[0]) - window.offset
    if not 0 < about <= _MAX_JSON_BYTES or window.fill(about) < about or (np.diff(ends) < 0).any():
        raise _NoShard("offsets that do not grow, or none of samples")
    return ends, _columns(window.take(about), source)


def _columns(about: bytes, source: SourceSpec) -> _Columns:
    try:
        told = orjson.loads(about)
        names, kinds = list(told["column_names"]), list(told["column_encodings"])
        sizes = tuple(None if size is None else int(size) for size in told["column_sizes"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        raise _NoShard("columns that cannot be read") from None
    if not len(names) == len(kinds) == len(sizes) or any(size and size < 0 for size in sizes):
        raise _NoShard("columns that cannot be read")
    where = f"source {source.name}"
    if source.text not in names:
        hint = f"text = one of {', '.join(map(str, names[:8]))}"
        raise ConfigError(f"{where}: its shards have no column {source.text!r}", hint)
    wanted = names.index(source.text)
    if str(kinds[wanted]).partition(":")[0] not in ("bytes", "ndarray"):
        raise ConfigError(
            f"{where}: the column {source.text!r} is encoded as {str(kinds[wanted])[:40]!r}",
            "ids are read from columns of bytes or ndarray",
        )
    return _Columns(sizes, wanted, str(kinds[wanted]))


def _column(sample: bytes, columns: _Columns) -> bytes:
    at = 4 * columns.sizes.count(None)
    told = iter(np.frombuffer(sample[:at], "<u4").tolist() if len(sample) >= at else ())
    for number, fixed in enumerate(columns.sizes):
        size = next(told, None) if fixed is None else fixed
        if size is None or at + size > len(sample):
            raise _NoShard("a column lies outside its sample")
        if number == columns.wanted:
            return sample[at : at + size]
        at += size
    raise _NoShard("a column is missing")


def _ids(data: bytes, encoding: str, dtype: str) -> bytes:
    """The bytes of ids in a value of the column: whole ids of the dtype."""
    name, _, more = encoding.partition(":")
    if name == "ndarray":
        kind, _, shape = more.partition(":")
        at = 0
        if not kind:
            kind, at = _KINDS.get(data[0] if data else 0, "no integers"), 1
        if kind != dtype:
            raise _NoShard(f"an array of {kind}, and not of {dtype}")
        if not shape:
            at, count = _shape(data, at)
            if len(data) - at != count * np.dtype(dtype).itemsize:
                raise _NoShard("an array of another length than its shape")
        data = data[at:]
    if len(data) % np.dtype(dtype).itemsize:
        raise _NoShard(f"{len(data)} bytes are no whole {dtype}")
    return data


def _shape(data: bytes, at: int) -> tuple[int, int]:
    """Where values begin, and how many there are: a byte of axes and width, then the axes."""
    if at >= len(data):
        raise _NoShard("an array without a shape")
    axes, width = data[at] >> 2, 1 << (data[at] & 3)
    end = at + 1 + axes * width
    sizes = np.frombuffer(data[at + 1 : end], f"<u{width}") if end <= len(data) else ()
    if len(sizes) != axes:
        raise _NoShard("an array without a shape")
    return end, math.prod(int(size) for size in sizes)
