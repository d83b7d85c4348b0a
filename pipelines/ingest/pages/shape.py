"""The shape of a page's markup, measured on its bytes before a parser builds a tree of it.

A tree can cost far more than the page: formatting elements that are never closed are made
anew in each block behind them, attributes of one tag are compared with each other, and the
search for the main content looks at every ancestor of every element. 130 KB can ask for
4 GB. What is measured here bounds all of it, in one pass, in counts and never in time.

Source: the tree construction of the WHATWG HTML standard, section 13.2.6, as far as it makes
trees deep or large.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from pipelines.ingest.pages.markup import (
    ALONE,
    CELL,
    CLOSES_P,
    EMPTY,
    END,
    FOREIGN,
    FORMATTING,
    HEADING,
    IGNORED,
    ITEM,
    KEYS,
    KINDS,
    LIST_END,
    MARKER,
    NO_NAME,
    RAW,
    ROW,
    SCOPE,
    SPECIAL,
    TABLE,
    TERM,
    VOID,
    Buffer,
    end_of_raw,
    packed,
    tag_at,
    tag_hash,
)

MAX_DEPTH = 512
# About 600 MB of memory.
MAX_NODES = 2_000_000
# About four seconds each.
MAX_ANCESTORS = 32_000_000
MAX_COMPARISONS = 1_000_000_000

_P, _OPTION, _BUTTON, _PLAINTEXT = map(packed, ("p", "option", "button", "plaintext"))
# The place of an active formatting element that is open no more.
_CLOSED = 1 << 20
# Places in the state.
_TOP, _ACTIVE, _BASE, _INSIDE, _TABLES = 0, 1, 2, 3, 4


class Shape(NamedTuple):
    """What a page's markup asks of a parser.

    Attributes:
        nodes: tags, comments, and elements that are made anew.
        depth: of nesting; measuring ends where it, or `nodes`, is beyond its bound.
        ancestors: of all elements, together.
        comparisons: of the attributes of each tag with each other.
    """

    nodes: int
    depth: int
    ancestors: int
    comparisons: int


def shape_of(page: bytes) -> Shape:
    """Measures a page in UTF-8, or in any encoding that is ASCII where ASCII is."""
    return Shape(*_shape(np.frombuffer(page, np.uint8), KEYS, KINDS))


@numba.njit(cache=True, nogil=True)
def _shape(page: Buffer, keys: Buffer, kinds: Buffer) -> tuple[int, int, int, int]:
    # The open elements: name; kind, and the active elements before it. The active formatting
    # elements: name, tag; place among the open ones.
    size, room = len(page), MAX_DEPTH + 2
    names, marks = np.zeros(room, np.uint64), np.zeros((room, 3), np.int64)
    active, places = np.zeros((room, 2), np.uint64), np.zeros(room, np.int64)
    state = np.zeros(5, np.int64)
    nodes = deepest = ancestors = comparisons = 0
    at = after = 0
    while at < size and nodes <= MAX_NODES and deepest <= MAX_DEPTH:
        if page[at] != 60:
            at += 1
            continue
        start = at
        at, name, kind, attributes = tag_at(page, start, keys, kinds)
        nodes += name != NO_NAME or at > start + 1
        if name == NO_NAME:
            continue
        if start > after or not kind & SPECIAL:
            nodes += _open_again(state, names, marks, active, places)
        after = at
        if kind & FORMATTING:
            tag = tag_hash(page, start, at)
            _format(name, kind, tag, state, names, marks, active, places)
        elif kind & END:
            _close(name, kind, state, names, marks, places)
        else:
            _open(name, kind, state, names, marks, places)
        deepest = max(deepest, state[_TOP], state[_ACTIVE])
        ancestors += state[_TOP]
        comparisons += attributes * attributes
        if kind & RAW and not kind & END and not state[_INSIDE]:
            at = after = end_of_raw(page, at, name)
        if name == _PLAINTEXT:
            break
    return nodes, deepest, ancestors, comparisons


@numba.njit(cache=True, nogil=True)
def _open_again(state: Buffer, names: Buffer, marks: Buffer, active: Buffer, places: Buffer) -> int:
    """Opens the active formatting elements again that were closed with a block around them."""
    count = 0
    for i in range(state[_BASE], state[_ACTIVE]):
        if places[i] == _CLOSED:
            places[i] = state[_TOP]
            _push(active[i, 0], FORMATTING, state, names, marks)
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _find(
    name: np.uint64, kind: int, barrier: int, state: Buffer, names: Buffer, marks: Buffer
) -> int:
    """Where the innermost open element of a name or kind is, in front of a barrier; or -1."""
    for i in range(state[_TOP] - 1, -1, -1):
        if names[i] == name or marks[i, 0] & kind:
            return i
        if marks[i, 0] & barrier:
            return -1
    return -1


@numba.njit(cache=True, nogil=True)
def _open(
    name: np.uint64,
    kind: int,
    state: Buffer,
    names: Buffer,
    marks: Buffer,
    places: Buffer,
) -> None:
    """Opens an element that is no formatting one; closes what its start tag ends."""
    if kind & CLOSES_P:
        _pop(_find(_P, 0, SCOPE, state, names, marks), state, marks, places)
    if kind & (VOID | IGNORED) or (kind == EMPTY and state[_INSIDE]):
        return
    wanted, ends, barrier = NO_NAME, 0, 0
    if kind & (CELL | ROW):
        ends, barrier = CELL, TABLE
    elif kind & (ITEM | TERM):
        ends, barrier = kind & (ITEM | TERM), LIST_END
    elif kind & TABLE:
        ends, barrier = TABLE, CELL
    elif name == _BUTTON:
        wanted, barrier = name, SCOPE
    elif kind & HEADING or name == _OPTION:
        wanted, ends, barrier = name, kind & HEADING, -1
    place = _find(wanted, ends, barrier, state, names, marks) if barrier else -1
    if kind & (CELL | ROW) and not state[_TABLES]:
        return
    _pop(place, state, marks, places)
    if not kind & ROW:
        _push(name, kind, state, names, marks)


@numba.njit(cache=True, nogil=True)
def _push(name: np.uint64, kind: int, state: Buffer, names: Buffer, marks: Buffer) -> None:
    top = min(state[_TOP], MAX_DEPTH)
    names[top], marks[top, 0] = name, kind
    marks[top, 1], marks[top, 2] = state[_ACTIVE], state[_BASE]
    if kind & MARKER:
        state[_BASE] = state[_ACTIVE]
    state[_INSIDE] += kind & FOREIGN
    state[_TABLES] += kind & TABLE
    state[_TOP] = top + 1


@numba.njit(cache=True, nogil=True)
def _pop(place: int, state: Buffer, marks: Buffer, places: Buffer) -> None:
    """Closes the element at a place, if it is one, and all above it."""
    if place < 0:
        return
    while place < state[_TOP]:
        state[_TOP] -= 1
        kind = marks[state[_TOP], 0]
        if kind & MARKER:
            state[_ACTIVE], state[_BASE] = marks[state[_TOP], 1], marks[state[_TOP], 2]
        state[_INSIDE] -= kind & FOREIGN
        state[_TABLES] -= kind & TABLE
    for i in range(state[_BASE], state[_ACTIVE]):
        if places[i] >= place:
            places[i] = _CLOSED


@numba.njit(cache=True, nogil=True)
def _close(
    name: np.uint64, kind: int, state: Buffer, names: Buffer, marks: Buffer, places: Buffer
) -> None:
    """An end tag of an element that is no formatting one."""
    ends, barrier = kind & HEADING, SPECIAL
    if kind & ROW:
        ends, barrier = CELL, TABLE
    elif kind & CELL:
        barrier = TABLE
    elif kind & TABLE:
        barrier = 0
    elif kind & SPECIAL:
        barrier = SCOPE
    _pop(_find(name, ends, barrier, state, names, marks), state, marks, places)


@numba.njit(cache=True, nogil=True)
def _format(
    name: np.uint64,
    kind: int,
    tag: np.uint64,
    state: Buffer,
    names: Buffer,
    marks: Buffer,
    active: Buffer,
    places: Buffer,
) -> None:
    """A formatting element begins or ends: three of one tag are active at most, and one link."""
    same, first = 0, -1
    for i in range(state[_ACTIVE] - 1, state[_BASE] - 1, -1):
        if active[i, 0] == name and (kind & (END | ALONE) or active[i, 1] == tag):
            same, first = same + 1, i
            if kind & (END | ALONE):
                _take_out(places[i], state, names, marks, places)
                break
    if same == 3 or (same and kind & (END | ALONE)):
        for i in range(first, state[_ACTIVE] - 1):
            active[i], places[i] = active[i + 1], places[i + 1]
        state[_ACTIVE] -= 1
    if not kind & END:
        place = min(state[_ACTIVE], MAX_DEPTH)
        active[place, 0], active[place, 1], places[place] = name, tag, state[_TOP]
        state[_ACTIVE] = place + 1
        _push(name, FORMATTING, state, names, marks)


@numba.njit(cache=True, nogil=True)
def _take_out(place: int, state: Buffer, names: Buffer, marks: Buffer, places: Buffer) -> None:
    """Closes a formatting element: with what it holds, or out of the blocks that it holds."""
    blocks = False
    for i in range(place + 1, state[_TOP]):
        blocks |= marks[i, 0] & SPECIAL != 0
    if not blocks:
        _pop(place if place != _CLOSED else -1, state, marks, places)
        return
    for i in range(place, state[_TOP] - 1):
        names[i], marks[i] = names[i + 1], marks[i + 1]
    state[_TOP] -= 1
    for i in range(state[_ACTIVE]):
        if place < places[i] != _CLOSED:
            places[i] -= 1
