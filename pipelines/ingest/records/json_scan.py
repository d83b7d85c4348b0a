"""Where the elements of JSON end, and where it stops to be any: found without reading values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# Kinds of bytes outside of strings.
_BLANK, _QUOTE, _OPEN, _CLOSE, _COMMA, _COLON, _BARE = range(7)
# What may come next. `IN_BARE`: inside a number or a name such as ``true``.
_VALUE, _KEY, _BEFORE_COLON, _BEHIND_VALUE, _IN_BARE = range(5)
_WRONG = -1
# Places in the state of a scan.
_DEPTH, _EXPECTS, _STRING, _NUM_STATES = 0, 1, 2, 3
_OUTSIDE, _INSIDE, _BEHIND_BACKSLASH = 0, 1, 2
# The array, and what orjson reads at most inside of it.
_MAX_DEPTH = 1025
# Ends that are looked for at a time.
_MAX_ENDS = 256


class Stop(Enum):
    """Why a scan stopped: the bytes are at their end, the array is, what follows is no JSON."""

    OPEN = auto()
    CLOSED = auto()
    WRONG = auto()
    FULL = auto()


@dataclass(frozen=True, slots=True)
class Ends:
    """What a scan found.

    Attributes:
        ends: places behind elements, each with its comma or with the array's bracket.
        stop: why it stopped; FULL where there may be more ends.
        at: place of the first byte that was not scanned, or is wrong.
    """

    ends: list[int]
    stop: Stop
    at: int


class JsonScan:
    """A scan over elements that follow each other, in one go or block by block.

    It sees that quotes and brackets pair up, and that commas, colons and values take
    turns, so that a quote without its pair is seen where its string should have ended. A
    comma too many, or a name that is none, is left to whoever reads the element.

    Args:
        array: behind the bracket of an array; else values without anything around them.
    """

    def __init__(self, *, array: bool) -> None:
        self._state = np.zeros(_NUM_STATES, np.int64)
        self._base = int(array)
        # An array has the kind of its bracket.
        self._kinds = np.full(_MAX_DEPTH + 1, ord("["), np.uint8)
        self._ends = np.zeros(_MAX_ENDS, np.int64)
        self.start_anew()

    def start_anew(self) -> None:
        """Goes on in front of an element, whatever was before."""
        self._state[:] = 0
        self._state[_DEPTH] = self._base

    @property
    def inside_a_string(self) -> bool:
        """Whether the bytes so far end in a string."""
        return bool(self._state[_STRING])

    def ends(self, data: bytes | bytearray, start: int, end: int) -> Ends:
        """Scans bytes from a place on; 256 ends at most.

        Args:
            data: whose bytes from `start` on follow those that were scanned.
            end: how far.
        """
        units = np.frombuffer(data, np.uint8, end)
        found, at, stop = _scan(units, start, self._base, self._state, self._kinds, self._ends)
        stops = (Stop.OPEN, Stop.CLOSED, Stop.WRONG, Stop.FULL)
        return Ends(self._ends[:found].tolist(), stops[stop], at)


def _kinds_of_bytes() -> NDArray[np.int8]:
    kinds = np.full(256, _BARE, np.int8)
    signs = ((b" \t\r\n", _BLANK), (b'"', _QUOTE), (b"{[", _OPEN), (b"}]", _CLOSE))
    for characters, kind in (*signs, (b",", _COMMA), (b":", _COLON)):
        kinds[list(characters)] = kind
    return kinds


def _turns() -> NDArray[np.int8]:
    """What a kind of byte makes of what is expected."""
    turns = np.full((5, 7), _WRONG, np.int8)
    turns[:, _BLANK] = range(5)
    turns[_IN_BARE, _BLANK] = _BEHIND_VALUE
    # What they lead to hangs on the bracket around.
    turns[:, [_CLOSE, _COMMA]] = 0
    turns[_VALUE, [_QUOTE, _OPEN, _BARE]] = (_BEHIND_VALUE, 0, _IN_BARE)
    turns[_KEY, _QUOTE] = _BEFORE_COLON
    turns[_BEFORE_COLON, _COLON] = _VALUE
    turns[_IN_BARE, _BARE] = _IN_BARE
    return turns


_KIND_OF = _kinds_of_bytes()
_TURNS = _turns()


@numba.njit(cache=True, nogil=True)
def _scan(
    data: NDArray[Any],
    at: int,
    base: int,
    state: NDArray[Any],
    kinds: NDArray[Any],
    ends: NDArray[Any],
) -> tuple[int, int, int]:
    """Number of ends, the place behind, and the number of the reason to stop."""
    found, stop = 0, 0
    while at < len(data):
        if state[_STRING]:
            at = _behind_string(data, at, state)
            continue
        byte = data[at]
        kind = _KIND_OF[byte]
        turn = _TURNS[state[_EXPECTS], kind]
        lies_outside = state[_DEPTH] == 0 and kind not in (_BLANK, _OPEN)
        if turn == _WRONG or lies_outside or not _brackets(byte, kind, state, kinds):
            stop = 2
            break
        at += 1
        if kind <= _QUOTE or kind >= _COLON:
            state[_EXPECTS] = turn
            state[_STRING] = _INSIDE if kind == _QUOTE else _OUTSIDE
        elif _ends_element(kind, state[_DEPTH], base):
            ends[found] = at
            found += 1
            if state[_DEPTH] < base:
                stop = 1
                break
            if found == len(ends):
                stop = 3
                break
    return found, at, stop


@numba.njit(cache=True, nogil=True)
def _ends_element(kind: int, depth: int, base: int) -> bool:
    if kind == _COMMA:
        return base == 1 and depth == 1
    return kind == _CLOSE and depth == 0


@numba.njit(cache=True, nogil=True)
def _behind_string(data: NDArray[Any], at: int, state: NDArray[Any]) -> int:
    inside = state[_STRING]
    while inside and at < len(data):
        byte = data[at]
        at += 1
        if inside == _BEHIND_BACKSLASH:
            inside = _INSIDE
        elif byte == 92:
            inside = _BEHIND_BACKSLASH
        elif byte == 34:
            inside = _OUTSIDE
    state[_STRING] = inside
    return at


@numba.njit(cache=True, nogil=True)
def _brackets(byte: int, kind: int, state: NDArray[Any], kinds: NDArray[Any]) -> bool:
    """Opens and closes brackets, and says what may follow; False where none pairs up."""
    depth = state[_DEPTH]
    if kind == _OPEN:
        if depth == _MAX_DEPTH:
            return False
        kinds[depth] = byte
        state[_DEPTH] = depth + 1
        state[_EXPECTS] = _KEY if byte == 123 else _VALUE
    elif kind == _CLOSE:
        # In ASCII a closing bracket lies two behind the opening one.
        if kinds[depth - 1] != byte - 2:
            return False
        state[_DEPTH] = depth - 1
        state[_EXPECTS] = _BEHIND_VALUE if depth > 1 else _VALUE
    elif kind == _COMMA:
        state[_EXPECTS] = _KEY if kinds[depth - 1] == 123 else _VALUE
    return True
