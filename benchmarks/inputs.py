"""Inputs of the benchmarks: rows of real JSON Lines, taken by hash, so the same every time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path


def take(source: Path, out: Path, num_bytes: int, num_files: int) -> int:
    """Writes about `num_bytes` of rows of ``source/*.jsonl`` into equal files.

    A row is taken by the hash of its file's name and its place, so that a small sample is
    a subset of a larger one. Rows go round the files; order inside a file is by that hash.

    Returns:
        The bytes written; less than asked where the source has less.

    Raises:
        ValueError: there is no ``.jsonl`` file in `source`.
    """
    files = sorted(source.glob("*.jsonl"))
    if not files:
        raise ValueError(f"no .jsonl file in {source}")
    out.mkdir(parents=True)
    written = 0
    targets = [(out / f"part-{number:03d}.jsonl").open("wb") for number in range(num_files)]
    for number, line in enumerate(_chosen(files, num_bytes)):
        targets[number % num_files].write(line)
        written += len(line)
    for target in targets:
        target.close()
    return written


def _chosen(files: list[Path], num_bytes: int) -> Iterator[bytes]:
    rows = sorted(row for number, path in enumerate(files) for row in _rows(number, path))
    total = 0
    handles = [path.open("rb") for path in files]
    for _, number, offset, length in rows:
        if total >= num_bytes:
            break
        handles[number].seek(offset)
        line = handles[number].read(length).removesuffix(b"\n") + b"\n"
        total += len(line)
        yield line
    for handle in handles:
        handle.close()


def _rows(number: int, path: Path) -> Iterator[tuple[bytes, int, int, int]]:
    offset = 0
    with path.open("rb") as lines:
        for place, line in enumerate(lines):
            rank = hashlib.sha256(f"{path.name}\0{place}".encode()).digest()
            yield rank, number, offset, len(line)
            offset += len(line)
