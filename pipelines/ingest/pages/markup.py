"""Tags out of the bytes of a page, as browsers cut them: names, kinds and ends.

Source: the tokenizer of the WHATWG HTML standard, section 13.2.5, but for scripts inside
comments; the kinds of elements are those of its tree construction, section 13.2.6.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Buffer = NDArray[Any]

VOID, RAW, FORMATTING, SPECIAL, SCOPE, CELL = 1, 2, 4, 8, 16, 32
MARKER, CLOSES_P, ITEM, TERM, ROW, HEADING = 64, 128, 256, 512, 1024, 2048
FOREIGN, TABLE, IGNORED, ALONE, LIST_END = 4096, 8192, 16384, 32768, 65536
# Bits of one tag: an end tag, and one that ends in "/>".
END, EMPTY = 1 << 17, 1 << 18
_NAMES = {
    VOID: "area base basefont bgsound br col embed frame hr img input keygen link meta param "
    "source track wbr",
    RAW: "iframe noembed noframes script style textarea title xmp",
    FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    ALONE: "a nobr",
    SPECIAL: "address applet area article aside base basefont bgsound blockquote br button "
    "caption center col colgroup dd details dir div dl dt embed fieldset figcaption figure "
    "footer form frame h1 h2 h3 h4 h5 h6 header hgroup hr iframe img input keygen li link "
    "listing main marquee menu meta nav noembed noframes noscript object ol p param plaintext "
    "pre script search section select source style summary table td template textarea th title "
    "track ul wbr xmp",
    SCOPE: "applet caption marquee object table td template th",
    MARKER: "applet caption marquee object td template th",
    CELL: "caption td th",
    ROW: "colgroup tbody tfoot thead tr",
    TABLE: "table",
    CLOSES_P: "address article aside blockquote center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol "
    "p plaintext pre search section summary table ul xmp",
    ITEM: "li",
    TERM: "dd dt",
    HEADING: "h1 h2 h3 h4 h5 h6",
    FOREIGN: "math svg",
    IGNORED: "body frameset head html",
}
# What an unclosed item of a list lies in front of.
_NAMES[LIST_END] = " ".join(set(_NAMES[SPECIAL].split()) - {"address", "div", "p"})
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_EIGHT, _SLOTS = np.uint64(8), 512
NO_NAME = np.uint64(0)


def packed(name: str) -> np.uint64:
    """A name as the kernel sees it: exact up to eight letters, else a hash."""
    value = 0
    for letter in name.encode():
        value = (value * int(_PRIME) if value >> 56 else value << 8) & 0xFFFFFFFFFFFFFFFF
        value ^= letter
    return np.uint64(value)


def _table() -> tuple[Buffer, Buffer]:
    keys, kinds = np.zeros(_SLOTS, np.uint64), np.zeros(_SLOTS, np.int64)
    for kind, names in _NAMES.items():
        for name in map(packed, names.split()):
            slot = int(name) * int(_PRIME) % 2**64 >> 55
            while keys[slot] not in (0, name):
                slot = (slot + 1) % _SLOTS
            keys[slot] = name
            kinds[slot] |= kind
    return keys, kinds


KEYS, KINDS = _table()


@numba.njit(cache=True, nogil=True)
def tag_at(
    page: Buffer, start: int, keys: Buffer, kinds: Buffer
) -> tuple[int, np.uint64, int, int]:
    """What starts with the ``<`` at a place: its end, name, kind and number of attributes.

    A comment and a ``<`` that begins nothing have no name.
    """
    at = start + 1
    closes = at < len(page) and page[at] == 47
    at += closes
    if at >= len(page) or not _is_letter(page[at]):
        if closes or (at < len(page) and (page[at] == 33 or page[at] == 63)):
            at = _end_of_comment(page, at)
        return at, NO_NAME, 0, 0
    name, at = _name(page, at)
    at, attributes, empty = _end_of_tag(page, at)
    return at, name, _kind_of(name, keys, kinds) | closes * END | empty * EMPTY, attributes


@numba.njit(cache=True, nogil=True)
def _is_letter(byte: int) -> bool:
    return 97 <= (byte | 32) <= 122


@numba.njit(cache=True, nogil=True)
def _is_space(byte: int) -> bool:
    return byte == 32 or (9 <= byte <= 13 and byte != 11)


@numba.njit(cache=True, nogil=True)
def _name(page: Buffer, at: int) -> tuple[np.uint64, int]:
    value = NO_NAME
    while at < len(page) and page[at] != 62 and page[at] != 47 and not _is_space(page[at]):
        byte = page[at]
        if 65 <= byte <= 90:
            byte |= 32
        value = value * _PRIME if value >> np.uint64(56) else value << _EIGHT
        value ^= np.uint64(byte)
        at += 1
    return value, at


@numba.njit(cache=True, nogil=True)
def _kind_of(name: np.uint64, keys: Buffer, kinds: Buffer) -> int:
    slot = np.int64((name * _PRIME) >> np.uint64(55))
    while keys[slot] != NO_NAME:
        if keys[slot] == name:
            return int(kinds[slot])
        slot = (slot + 1) % _SLOTS
    return 0


@numba.njit(cache=True, nogil=True)
def tag_hash(page: Buffer, start: int, end: int) -> np.uint64:
    """A hash of a whole tag: formatting elements count as equal when their tags are."""
    mixed = NO_NAME
    for i in range(start, end):
        mixed = (mixed ^ np.uint64(page[i])) * _PRIME
    return mixed


@numba.njit(cache=True, nogil=True)
def _end_of_tag(page: Buffer, at: int) -> tuple[int, int, bool]:
    """Behind a tag's ``>``, the number of its attributes, and whether it ends in ``/>``."""
    size, attributes, empty = len(page), 0, False
    while at < size and page[at] != 62:
        if _is_space(page[at]) or page[at] == 47:
            empty = page[at] == 47
            at += 1
            continue
        attributes += 1
        at += 1
        while at < size and not (page[at] == 61 or page[at] == 62 or page[at] == 47):
            if _is_space(page[at]):
                break
            at += 1
        equals = at
        while equals < size and _is_space(page[equals]):
            equals += 1
        if equals < size and page[equals] == 61:
            at = _end_of_value(page, equals + 1)
        empty = False
    return min(at + 1, size), attributes, empty


@numba.njit(cache=True, nogil=True)
def _end_of_value(page: Buffer, at: int) -> int:
    size = len(page)
    while at < size and _is_space(page[at]):
        at += 1
    if at < size and (page[at] == 34 or page[at] == 39):
        quote = page[at]
        at += 1
        while at < size and page[at] != quote:
            at += 1
        return at + 1
    while at < size and page[at] != 62 and not _is_space(page[at]):
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _end_of_comment(page: Buffer, at: int) -> int:
    """Behind a comment, a declaration, or what is read as a comment."""
    size = len(page)
    if at + 2 < size and page[at] == 33 and page[at + 1] == 45 and page[at + 2] == 45:
        at += 1
        while at < size:
            if page[at] == 62 and page[at - 1] == 45 and page[at - 2] == 45:
                return at + 1
            bang = page[at] == 62 and page[at - 1] == 33 and page[at - 2] == 45
            if bang and page[at - 3] == 45:
                return at + 1
            at += 1
        return size
    while at < size and page[at] != 62:
        at += 1
    return at + 1


@numba.njit(cache=True, nogil=True)
def end_of_raw(page: Buffer, at: int, name: np.uint64) -> int:
    """Where the end tag of an element starts that holds text alone."""
    while at + 1 < len(page):
        if page[at] == 60 and page[at + 1] == 47 and _name(page, at + 2)[0] == name:
            return at
        at += 1
    return len(page)
