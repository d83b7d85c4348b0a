"""The items of evaluation sets: read from files of the workspace, each with its place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from lineage.digest import Digest, frame
from lineage.errors import ConfigError, NotFound
from pipelines.ingest.chunk import texts_array
from pipelines.ingest.fields import kind_of, value_of
from pipelines.ingest.places.files import list_files, reading
from pipelines.ingest.places.streams import StreamFault, decompressed
from pipelines.spec.decontamination import DecontaminationSpec, EvalSetSpec
from pipelines.spec.source import COMPRESSIONS, SourceSpec

_BOM = b"\xef\xbb\xbf"
_MISSING = object()
# Items are held in memory, and their n-grams in every worker.
_MAX_FILE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class EvalItems:
    """All items, in the order of the sets and their files.

    Attributes:
        texts: the fields of each, joined by line feeds.
        places: of each its file and its number there: the line, or the row from 1, such as
            ``evals/maths.jsonl:17``.
        digest: of places and texts.
    """

    texts: pa.LargeStringArray
    places: tuple[str, ...]
    digest: Digest


def load_items(spec: DecontaminationSpec, root: Path) -> EvalItems:
    """Reads the evaluation sets of a spec. A file that two sets name is read twice.

    Args:
        root: the workspace's root.

    Raises:
        NotFound: a path names nothing.
        ConfigError: a file without an item, one that cannot be read whole, a field that no
            item of any set has, or a link that leaves the workspace.
        Unavailable: the disk does not answer.
    """
    hasher = hashlib.sha256(frame(b"shardline/evaluation-items/v1"))
    texts, places, met = list[bytes](), list[str](), set[str]()
    for evals in spec.sets:
        for path in _paths(evals, root):
            before = len(texts)
            for number, text in _read(evals, root, path, met):
                texts.append(text)
                places.append(f"{path}:{number}")
                hasher.update(frame(places[-1].encode(), text))
            if len(texts) == before:
                raise _wrong(path, "holds no item", "take it out of `sets`")
    _require_met(spec, met)
    return EvalItems(texts_array(texts), tuple(places), Digest(hasher.digest()))


def _paths(evals: EvalSetSpec, root: Path) -> list[str]:
    # The files of a source: sorted, ordinary, inside the workspace.
    source = SourceSpec("decontamination", evals.path, evals.format, "CC0-1.0", "other", "2000-01")
    try:
        return [file.path for file in list_files(source, root)]
    except NotFound:
        hint = "paths of `sets` in [decontamination] start at the workspace's root"
        raise NotFound(f"the evaluation set {evals.path!r} names no file", hint) from None


def _require_met(spec: DecontaminationSpec, met: set[str]) -> None:
    for field in (field for evals in spec.sets for field in evals.fields):
        if field not in met:
            hint = "look for a slip in `fields` of [decontamination]"
            raise ConfigError(f"no item of the evaluation sets has the field {field!r}", hint)


def _read(evals: EvalSetSpec, root: Path, path: str, met: set[str]) -> Iterator[tuple[int, bytes]]:
    with reading(f"evaluation set {path!r}"):
        if evals.format == "parquet":
            records: Iterator[tuple[int, object]] = _rows(root / path, path)
        else:
            records = _lines(evals, (root / path).read_bytes(), path)
        for number, record in records:
            text = record if isinstance(record, str) else _text(evals, record, path, number, met)
            yield number, text.encode()


def _rows(file: Path, path: str) -> Iterator[tuple[int, object]]:
    try:
        yield from enumerate(pq.read_table(file).to_pylist(), 1)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _wrong(path, f"is no Parquet file that can be read: {type(error).__name__}") from None


def _lines(evals: EvalSetSpec, data: bytes, path: str) -> Iterator[tuple[int, object]]:
    compressions = (name for ending, name in COMPRESSIONS.items() if path.lower().endswith(ending))
    try:
        data = _bounded(decompressed([data], next(compressions, "")), path)
    except StreamFault as fault:
        raise _wrong(path, f"cannot be unpacked: {fault.detail}") from None
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, line.decode() if evals.format == "text" else orjson.loads(line)
        except UnicodeDecodeError:
            raise _wrong(path, f"line {number} is not UTF-8") from None
        except orjson.JSONDecodeError as error:
            raise _wrong(path, f"line {number} is not JSON: {error.msg}") from None


def _bounded(pieces: Iterable[bytes], path: str) -> bytes:
    """All pieces; a small file may unpack to more than memory holds."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > _MAX_FILE_BYTES:
            what = f"is larger than {_MAX_FILE_BYTES >> 20} MiB, unpacked"
            raise _wrong(path, what, "split it, or take out what is no item")
    return bytes(data)


def _text(evals: EvalSetSpec, record: object, path: str, number: int, met: set[str]) -> str:
    if not isinstance(record, Mapping):
        raise _wrong(path, f"item {number} is {kind_of(record)}, not an object")
    values = {field: value_of(record, field, _MISSING) for field in evals.fields}
    met.update(field for field, value in values.items() if value is not _MISSING)
    text = "\n".join(word for value in values.values() for word in _words(value))
    if not text.strip():
        hint = "name the fields of the set: fields = [...]"
        raise _wrong(
            path, f"item {number} has no text in the fields {', '.join(evals.fields)}", hint
        )
    return text


def _words(value: Any) -> Iterator[str]:
    """The strings and numbers of a value, in order; choices are lists or objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _words(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _wrong(path: str, what: str, hint: str = "repair the file, or name its format") -> ConfigError:
    return ConfigError(f"the evaluation set {path!r} {what}", hint)
