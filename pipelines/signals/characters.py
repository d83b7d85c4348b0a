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
# Sentence_Terminal of Unicode, in hexadecimal.
_SENTENCE_TERMINALS = (
    "21 2E 3F 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 1367-1368 "
    "166E 1735-1736 17D4-17D5 1803 1809 1944-1945 1AA8-1AAB 1B4E-1B4F 1B5A-1B5B 1B5E-1B5F "
    "1B7D-1B7F 1C3B-1C3C 1C7E-1C7F 2024 203C-203D 2047-2049 2CF9-2CFB 2E2E 2E3C 2E53-2E54 "
    "2E60-2E61 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F "
    "AAF0-AAF1 ABEB FE12 FE15-FE16 FE52 FE56-FE57 FF01 FF0E FF1F FF61 10A56-10A57 10F55-10F59 "
    "10F86-10F89 11047-11048 110BE-110C1 11141-11143 111C5-111C6 111CD 111DE-111DF "
    "11238-11239 1123B-1123C 112A9 113D4-113D5 1144B-1144C 115C2-115C3 115C9-115D7 "
    "11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8 "
    "11F43-11F44 16A6E-16A6F 16AF5 16B37-16B38 16B44 16D6E-16D6F 16E98 1BC9F 1DA88 "
)
# Ellipses, and the marks of Tibetan that end a phrase.
_OTHER_TERMINALS = "\u2026\u2025\u0f0d\u0f0e"
_WIDE_TERMINALS = "\u3002\uff01\uff1f\uff0e\uff61\u2025\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57"
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
    for ends in _SENTENCE_TERMINALS.split():
        first, _, last = ends.partition("-")
        table[int(first, 16) : int(last or first, 16) + 1] |= TERMINAL
    for chars, mark in ((_OTHER_TERMINALS, TERMINAL), (_QUOTES, QUOTE), (_BULLETS, BULLET)):
        for char in chars:
            table[ord(char)] |= mark
    for char in _WIDE_TERMINALS:
        table[ord(char)] |= TERMINAL | WIDE
    for char in _JOINERS:
        table[ord(char)] = (table[ord(char)] & ~np.uint8(KIND)) | JOINER
    return table
