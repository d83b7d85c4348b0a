"""A list in a file of the workspace: UTF-8, one entry a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.digest import Digest, digest_of, frame
from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.clean.codepoints import text_bytes


@dataclass(frozen=True, slots=True)
class Listed:
    """The entries of a list.

    Attributes:
        name: of the file, as the spec has it.
        entries: lines without the space around them, sorted, each once; blank ones and
            those that begin with ``#`` left out.
        digest: of the entries: neither their order nor comments count.
    """

    name: str
    entries: pa.LargeStringArray
    digest: Digest


def read_list(root: Path, name: str) -> Listed:
    """Reads a list.

    Args:
        root: the workspace's root.
        name: path of the file below it.

    Raises:
        NotFound: there is no such file.
        ConfigError: the path leads out of the workspace, or the file is not UTF-8.
        Unavailable: the file cannot be read.
    """
    data = read_file(root, name).removeprefix(b"\xef\xbb\xbf") + b"\n"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}: not UTF-8 in line {line}") from None
    lines = pc.utf8_trim_whitespace(_lines(data))
    entries = _sorted(lines.filter(pc.match_substring_regex(lines, "^[^#]")))
    return Listed(name, entries, _digest(entries))


def _sorted(lines: pa.LargeStringArray) -> pa.LargeStringArray:
    """Each line once."""
    found = lines.take(pc.sort_indices(lines))
    other = np.ones(len(found), np.bool_)
    other[1:] = np.asarray(pc.not_equal(found[1:], found[:-1]))
    return found.filter(pa.array(other))


def _lines(data: bytes) -> pa.LargeStringArray:
    """Lines with their line feeds; the last byte is one."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
    return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(starts), pa.py_buffer(data))


def _digest(entries: pa.LargeStringArray) -> Digest:
    data, starts = text_bytes(entries)
    content = data[starts[0] : starts[-1]].tobytes()
    lengths = np.diff(starts).astype("<i8").tobytes()
    return digest_of(frame(b"shardline/list/v1", content, lengths))


def read_file(root: Path, name: str) -> bytes:
    """The bytes of a file of the workspace.

    Raises:
        NotFound: there is no such file.
        ConfigError: the path leads out of the workspace.
        Unavailable: the file cannot be read.
    """
    path = file_in(root, name)
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{name}: cannot be read: {error.strerror}") from None


def file_in(root: Path, name: str) -> Path:
    """The path of a file of the workspace.

    Raises:
        NotFound: there is no such file.
        ConfigError: the path leads out of the workspace, by itself or by a link, or is that
            of a folder or a device.
    """
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ConfigError(f"{name}: leads out of the workspace", "copy the file into it")
    if not path.exists():
        raise NotFound(f"{name}: there is no such file", "paths start at the workspace's root")
    if not path.is_file():
        raise ConfigError(f"{name}: not an ordinary file", "name a file of the workspace")
    return path
