"""What kind of character each code point is, from one pinned Unicode (version 18).

The kind stands in the low four bits of a table of bytes; the high bits are marks that
matter at the ends of lines.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import unicodedata2
from numpy.typing import NDArray

OTHER, SPACE, BREAK, LETTER, DIGIT, MARK, IDEOGRAPH, PUNCTUATION, SYMBOL, JOINER = range(10)
KIND = 0x0F
# Ends a sentence; WIDE ends it without white space behind.
TERMINAL, WIDE, BULLET, QUOTE = 0x10, 0x20, 0x40, 0x80

_NUM_CODE_POINTS = 0x110000
# Nothing is assigned between the ideographs of the third plane and the tags, nor behind them.
_ASSIGNED = (range(0x33480), range(0xE0000, 0xE0200))
_KIND_OF = {
    "L": LETTER,
    "M": MARK,
    "N": DIGIT,
    "P": PUNCTUATION,
    "S": SYMBOL,
    "Z": SPACE,
}
# Scripts written without spaces whose characters are words of their own here.
_IDEOGRAPHS = (
    range(0x2E80, 0x2FE0),
    range(0x3005, 0x3008),
    range(0x3021, 0x302A),
    range(0x3038, 0x303C),
    range(0x3041, 0x3100),  # kana
    range(0x3100, 0x3130),
    range(0x31A0, 0x31C0),
    range(0x31F0, 0x3200),
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0xFF66, 0xFF9E),
    range(0x1B000, 0x1B170),
    range(0x20000, 0x33480),
)
_SPACES = "\t\x0b\x0c\r\x1c\x1d\x1e\x1f\x85"
# Inside a word, between two letters or digits, these do not end it.
_JOINERS = ".'\u2019-_\u00ad\u200c\u200d\u2010\u2011\u02bc\u00b7\u05f3\u05f4"
_TERMINALS = (
    ".!?\u2026\u203c\u2047\u2048\u2049\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u1368"
    "\u104b\u17d4\u17d5\u0f0d\u0f0e\u2e2e"
)
_WIDE_TERMINALS = "\u3002\uff01\uff1f\uff0e\uff61\u2025"
_QUOTES = "\"'\u201d\u2019\u00bb\u300d\u300f\u203a"
_BULLETS = "-\u2022\u2023\u25b6\u25c0\u25e6\u25a0\u25a1\u25aa\u25ab\u2013\u2043*\u00b7"


@cache
def kinds() -> NDArray[np.uint8]:
    """Of each code point its kind and its marks, shape (0x110000,), uint8."""
    table = np.zeros(_NUM_CODE_POINTS, dtype=np.uint8)
    category = unicodedata2.category
    for span in _ASSIGNED:
        named = [_KIND_OF.get(category(chr(code))[0], OTHER) for code in span]
        table[span.start : span.stop] = named
    for span in _IDEOGRAPHS:
        part = table[span.start : span.stop]
        part[(part == LETTER) | (part == DIGIT)] = IDEOGRAPH
    for char in _SPACES:
        table[ord(char)] = SPACE
    table[ord("\n")] = BREAK
    for chars, mark in ((_TERMINALS, TERMINAL), (_QUOTES, QUOTE), (_BULLETS, BULLET)):
        for char in chars:
            table[ord(char)] |= mark
    for char in _WIDE_TERMINALS:
        table[ord(char)] |= TERMINAL | WIDE
    for char in _JOINERS:
        table[ord(char)] = (table[ord(char)] & ~np.uint8(KIND)) | JOINER
    return table
