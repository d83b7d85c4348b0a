"""N-grams of the words of texts, hashed, whatever their case, wrapping and punctuation.

A *word* is a run of letters and digits of scripts with spaces between words. Scripts
without spaces have none, so what stands for a word is a number of their characters: two
ideographs or kana, or four letters of Thai, Khmer and the like. An n-gram is the shortest
run that weighs n words. Punctuation, symbols and white space only separate; accents,
variation selectors and invisible characters are no part of a text at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.decontamination import folding

# What a word weighs, and a kind of character that stands for itself.
WORD_WEIGHT = 4
_WEIGHTS = np.array([0, 0, WORD_WEIGHT, 2, 1], np.uint8)
# N-grams of short items are hashed apart from those of long ones.
SALTS = (np.uint64(0), np.uint64(0xA0761D6478BD642F))

_LETTER, _IGNORED, _IDEOGRAPH = folding.LETTER, folding.IGNORED, folding.IDEOGRAPH
_SEED, _PRIME = np.uint64(0x8BB84B93962EACC9), np.uint64(0x9E3779B97F4A7C15)
_FACTOR, _BASE = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x2D358DCCAA6C78A5)
Buffer = NDArray[Any]


class Grams(NamedTuple):
    """The n-grams of n texts.

    Attributes:
        hashes: uint64, in the order of the texts.
        starts: int64, n + 1: where each text's n-grams begin.
        weights: int64, of each whole text, in quarters of a word.
        digests: uint64, of each whole text: equal for equal words in the same order.
    """

    hashes: NDArray[np.uint64]
    starts: NDArray[np.int64]
    weights: NDArray[np.int64]
    digests: NDArray[np.uint64]


def grams(texts: pa.LargeStringArray, words: int, salt: np.uint64) -> Grams:
    """All n-grams of texts.

    Args:
        words: in an n-gram, 1 or more.
        salt: one of `SALTS`.
    """
    data, starts = text_bytes(texts)
    num = len(texts)
    found = Grams(
        np.empty(int(starts[-1] - starts[0]), np.uint64),
        np.zeros(num + 1, np.int64),
        np.zeros(num, np.int64),
        np.zeros(num, np.uint64),
    )
    scratch = scratch_for(starts)
    _grams(data, starts, folding.folding(), scratch, powers_of(words), words, salt, found)
    return found._replace(hashes=found.hashes[: found.starts[-1]])


def scratch_for(starts: NDArray[np.int64]) -> tuple[Buffer, Buffer]:
    """Room for the units of the longest text, and their weights."""
    longest = int(np.diff(starts).max(initial=0))
    return np.empty(longest + 1, np.uint64), np.empty(longest + 1, np.uint8)


def powers_of(words: int) -> NDArray[np.uint64]:
    """Powers of the base of the rolling hash: as many as an n-gram has characters at most."""
    factors = np.full(WORD_WEIGHT * words + 2, _BASE, np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)


@numba.njit(cache=True, nogil=True, inline="always")
def finished(rolled: Any) -> Any:
    """A hash whose every bit hangs on every bit of another."""
    mixed = (rolled ^ (rolled >> np.uint64(32))) * _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _PRIME
    return mixed ^ (mixed >> np.uint64(32))


@numba.njit(cache=True, nogil=True, inline="always")
def _code_at(data: Buffer, at: Any) -> tuple[Any, Any]:
    """The code point that begins here, and its width in bytes."""
    lead = np.int64(data[at])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | np.int64(data[at + 1] & 0x3F), 2
    high = ((lead & 0x0F) << 12) | (np.int64(data[at + 1] & 0x3F) << 6)
    if lead < 0xF0:
        return high | np.int64(data[at + 2] & 0x3F), 3
    high = ((lead & 0x07) << 18) | (np.int64(data[at + 1] & 0x3F) << 12)
    low = (np.int64(data[at + 2] & 0x3F) << 6) | np.int64(data[at + 3] & 0x3F)
    return high | low, 4


@numba.njit(cache=True, nogil=True)
def _head(
    sequences: Buffer,
    where: Any,
    kind: Any,
    count: Any,
    mixed: Any,
    units: Buffer,
    weights: Buffer,
) -> tuple[Any, Any]:
    """All but the last of the code points that one stands for."""
    for part in sequences[where[0] : where[1]]:
        mixed = (mixed ^ np.uint64(part)) * _PRIME
        if kind >= _IDEOGRAPH:
            units[count], weights[count] = finished(mixed), _WEIGHTS[kind]
            count, mixed = count + 1, _SEED
    return count, mixed


@numba.njit(cache=True, nogil=True)
def units_of(data: Buffer, at: Any, end: Any, tables: Any, units: Buffer, weights: Buffer) -> Any:
    """Hashes and weights of a text's words, and of what stands for itself; their number."""
    plain, kinds, folded, starts, sequences = tables
    count, mixed, is_open = 0, _SEED, False
    while at < end:
        # Letters of ASCII, most of most texts, are told by one look.
        low = plain[data[at]]
        if low:
            mixed, at, is_open = (mixed ^ np.uint64(low)) * _PRIME, at + 1, True
            continue
        code, width = _code_at(data, at)
        at += width
        kind = kinds[code]
        if kind == _IGNORED:
            continue
        if is_open and kind != _LETTER:
            units[count], weights[count] = finished(mixed), WORD_WEIGHT
            count, mixed, is_open = count + 1, _SEED, False
        if kind < _LETTER:
            continue
        rest = folded[code]
        if rest < 0:
            where = (starts[-1 - rest], starts[-rest] - 1)
            count, mixed = _head(sequences, where, kind, count, mixed, units, weights)
            rest = sequences[where[1]]
        mixed = (mixed ^ np.uint64(rest)) * _PRIME
        if kind >= _IDEOGRAPH:
            units[count], weights[count] = finished(mixed), _WEIGHTS[kind]
            count, mixed = count + 1, _SEED
        is_open = kind == _LETTER
    if is_open:
        units[count], weights[count] = finished(mixed), WORD_WEIGHT
        count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _grams(
    data: Buffer,
    text_starts: Buffer,
    tables: Any,
    scratch: Any,
    powers: Buffer,
    words: int,
    salt: Any,
    found: Any,
) -> None:
    units, weights = scratch
    hashes, starts, totals, digests = found
    least = WORD_WEIGHT * words
    put = np.int64(0)
    for row in range(len(text_starts) - 1):
        count = units_of(data, text_starts[row], text_starts[row + 1], tables, units, weights)
        tail, weight, rolled = 0, np.int64(0), np.uint64(0)
        whole, total = np.uint64(count), np.int64(0)
        for head in range(count):
            rolled = rolled * _BASE + units[head]
            whole = whole * _BASE + units[head]
            weight += weights[head]
            total += weights[head]
            while weight - weights[tail] >= least:
                rolled -= units[tail] * powers[head - tail]
                weight -= weights[tail]
                tail += 1
            if weight >= least:
                hashes[put] = finished(rolled ^ salt)
                put += 1
        starts[row + 1], totals[row], digests[row] = put, total, finished(whole)
