"""Content-defined cuts: where one partition ends and the next begins.

A piece (a line, a file, a row group) ends a partition with probability size/target,
decided by its own hash alone, so a piece that is inserted or changed disturbs the
partition it lies in and no other. Two bounds keep sizes sane: no cut before a
sixteenth of the target, and where four targets pass without one, the cut falls
behind the piece of the lowest score since the first target (again by content, so
that the next partitions fall where they fell before).

The hash is not an identity, but changing it would rebuild every partition once:
tests/vectors/partition_cuts.json holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from lineage.digest import Digest
from lineage.errors import Conflict
from pipelines.ingest.places.opening import OpenFile

_MIN_SHARE = 16
_MAX_TARGETS = 4
_BLOCK_BYTES = 1 << 20
_PAD = 16
_MORE, _CUT = 0, 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of bytes of a file that is not cut any further.

    Attributes:
        start: its first byte.
        size: bytes.
        base: what lies before it, unpacked.
        digest: of its bytes.
        skip: bytes in front of its first record, unpacked.
        end: where what it needs ends in the file; more than `size` where its last record
            goes on behind it.
        stop: where its last record ends, unpacked, unless that is where its bytes end.
    """

    start: int
    size: int
    base: int
    digest: Digest
    skip: int = 0
    end: int = 0
    stop: int | None = None


def cut_positions(sizes: Sequence[int], digests: Sequence[Digest], target: int) -> list[int]:
    """Where a sequence of pieces is cut: the exclusive end of each part, in pieces.

    Args:
        sizes: of the pieces, in bytes.
        digests: of their content.
        target: mean size of a part, in bytes.
    """
    ends: list[int] = []
    start = 0
    while start < len(sizes):
        start = _end_of_part(sizes, digests, start, target)
        ends.append(start)
    return ends


def cut_runs(pieces: Iterable[Piece], target: int) -> Iterator[list[Piece]]:
    """The same parts as `cut_positions` makes, of pieces that come one by one.

    Holds the pieces of four targets.
    """
    held: list[Piece] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += piece.size
        # So much always holds a cut: later pieces change nothing about it.
        if size >= _MAX_TARGETS * target:
            part, held = _first_part(held, target)
            size -= sum(piece.size for piece in part)
            yield part
    while held:
        part, held = _first_part(held, target)
        yield part


def _first_part(held: list[Piece], target: int) -> tuple[list[Piece], list[Piece]]:
    sizes, digests = [piece.size for piece in held], [piece.digest for piece in held]
    end = _end_of_part(sizes, digests, 0, target)
    return held[:end], held[end:]


def _end_of_part(sizes: Sequence[int], digests: Sequence[Digest], start: int, target: int) -> int:
    size, best, best_end = 0, 2.0, len(sizes)
    for i in range(start, len(sizes)):
        size += sizes[i]
        share = (int.from_bytes(digests[i].raw[:8], "little") >> 11) * 2.0**-53
        score = share / max(sizes[i], 1)
        if size >= target and score < best:
            best, best_end = score, i + 1
        if size * _MIN_SHARE >= target and score * target < 1.0:
            return i + 1
        if size >= _MAX_TARGETS * target:
            return best_end
    return len(sizes)


def next_cut(file: OpenFile, start: int, end: int, target: int) -> int:
    """Where the partition that starts at a line ends: behind a line feed, or at `end`.

    Holds one block of 1 MiB; lines of any length.

    Args:
        start: offset in bytes of the partition's first line.
        end: offset of the end of the lines, usually of the file.
        target: mean size of a partition in bytes.

    Raises:
        Conflict: the file is shorter than `end`.
        OSError: the file cannot be read.
    """
    block = np.zeros(_BLOCK_BYTES + _PAD, dtype=np.uint8)
    state = np.zeros(4, dtype=np.int64)
    carry = (state, np.zeros(1, dtype=np.uint64), np.full(1, 2.0))
    position, held = start, 0
    while position + held < end:
        data = file.read_at(position + held, min(_BLOCK_BYTES - held, end - position - held))
        if not data:
            raise Conflict("a source file became shorter while it was read", "build again")
        block[held : held + len(data)] = np.frombuffer(data, dtype=np.uint8)
        filled = held + len(data)
        state[_AT] = 0
        if _scan(block.view(np.uint64), filled, position - start, target, carry) == _CUT:
            return start + int(state[_END])
        at = int(state[_AT])
        held = filled - at
        block[:held] = block[at:filled].copy()
        position += at
    return end


# Places in the state of a scan: where it stands in the block, bytes of the line in
# progress behind it, the cut found, and the best cut so far (from the partition's start).
_AT, _LINE, _END, _BEST = 0, 1, 2, 3
_LF_WORD = np.uint64(0x0A0A0A0A0A0A0A0A)
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_LAST_FACTOR = np.uint64(0xD6E8FEB86659FD93)


@numba.njit(cache=True, nogil=True)
def _word(words: NDArray[np.uint64], at: int) -> np.uint64:
    # Unsigned all through: a signed index costs a test for negative ones at every word.
    place = np.uint64(at) >> np.uint64(3)
    shift = (np.uint64(at) & np.uint64(7)) << np.uint64(3)
    low, high = words[place] >> shift, words[place + np.uint64(1)]
    # Shifting by 64 is undefined, so the upper word is shifted in two goes.
    word: np.uint64 = low | ((high << np.uint64(1)) << (np.uint64(63) - shift))
    return word


@numba.njit(cache=True, nogil=True)
def _line_feed(word: np.uint64, num_bytes: int) -> int:
    """Place of the first line feed among the first bytes of a word, or -1."""
    for i in range(num_bytes):
        if (word >> np.uint64(8 * i)) & np.uint64(0xFF) == np.uint64(0x0A):
            return i
    return -1


@numba.njit(cache=True, nogil=True)
def _mix(mixed: np.uint64, word: np.uint64, factor: np.uint64) -> np.uint64:
    product = (mixed ^ word) * factor
    return product ^ (product >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _scan(
    words: NDArray[np.uint64],
    filled: int,
    passed: int,
    target: int,
    carry: tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.float64]],
) -> int:
    """Walks over a block in words of eight bytes until a cut or its last whole word.

    The words of a line are counted from its start, so its hash does not depend on
    where it lies. Bytes that fill no word are left for the next block. `carry` holds
    the state, the hash of the line in progress, and the best score.
    """
    state, mixed, best = carry
    at, line, hashed = state[_AT], state[_LINE], mixed[0]
    while at < filled:
        word, num_bytes = _word(words, at), min(8, filled - at)
        flipped = word ^ _LF_WORD
        if num_bytes == 8 and not (flipped - _LOW_BITS) & ~flipped & _HIGH_BITS:
            hashed = _mix(hashed, word, _FACTOR)
            at, line = at + 8, line + 8
            continue
        found = _line_feed(word, num_bytes)
        if found < 0:
            break
        at, line = at + found + 1, line + found + 1
        rest = word & ((np.uint64(1) << np.uint64(8 * found)) - np.uint64(1))
        hashed = _mix(_mix(hashed, rest, _FACTOR), np.uint64(line), _LAST_FACTOR)
        score = np.float64(hashed >> np.uint64(11)) * 2.0**-53 / line
        hashed, line, size = np.uint64(0), 0, passed + at
        if size >= target and score < best[0]:
            best[0], state[_BEST] = score, size
        if size * _MIN_SHARE >= target and score * target < 1.0:
            state[_END] = size
            return _CUT
        if size >= _MAX_TARGETS * target:
            state[_END] = state[_BEST]
            return _CUT
    state[_AT], state[_LINE], mixed[0] = at, line, hashed
    return _MORE
