"""What remains of each code point when case, accents and punctuation are taken away.

All comes from one pinned Unicode (version 18): compatibility decomposition, names for the
pairs of capital and small letters, categories. So ``CAFÉ``, ``café`` and ``cafe`` with a
combining accent are one word on every machine.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import unicodedata2
from numpy.typing import NDArray

from pipelines.signals import characters

# Ends a word; takes no part; is a letter of a word; stands for itself.
SEPARATOR, IGNORED, LETTER, IDEOGRAPH, UNSPACED = range(5)

_NUM_CODE_POINTS = 0x110000
_ASSIGNED = (range(0x33480), range(0xE0000, 0xE0200))
# Scripts that write no spaces between words: each letter stands for itself.
_UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x1950, 0x19E0),  # Tai Le, New Tai Lue
    range(0x1A20, 0x1AB0),  # Tai Tham
    range(0x1B00, 0x1B80),  # Balinese
    range(0xA980, 0xAA00),  # Javanese, Myanmar
    range(0xAA60, 0xAAE0),  # Myanmar, Tai Viet
)
# Symbols that stand for ideographs in texts taken out of PDF.
_RADICALS = range(0x2E80, 0x2FE0)
# Pairs that names do not tell.
_CASES = {
    "\u00df": "ss",
    "\u0131": "i",
    "\u018e": "\u01dd",
    "\u0189": "\u0256",
    "\u019f": "\u0275",
    "\u01a6": "\u0280",
    "\u01f6": "\u0195",
    "\u01f7": "\u01bf",
    "\u0345": "\u03b9",
    "\u037f": "\u03f3",
    "\u03c2": "\u03c3",
    "\u04c0": "\u04cf",
    "\u1e9e": "ss",
    "\u2183": "\u2184",
    "\ua7ae": "\u026a",
}
_RENAMED = (
    ("CAPITAL", "SMALL"),
    ("CAPITAL LETTER ", "LETTER "),
    ("CAPITAL LETTER SMALL", "SMALL LETTER"),
    ("MTAVRULI CAPITAL ", ""),
    ("CHEROKEE SMALL LETTER", "CHEROKEE LETTER"),
)


class Folding(NamedTuple):
    """Tables over all code points.

    Attributes:
        plain: uint8, by byte: the small letter or digit of ASCII that remains, else 0.
        kinds: uint8, SEPARATOR to UNSPACED.
        folded: int32, the code point that remains, or -1 - the number of a sequence.
        starts: int32, where each sequence begins in `sequences`, and the end of the last.
        sequences: int32, code points.
    """

    plain: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    folded: NDArray[np.int32]
    starts: NDArray[np.int32]
    sequences: NDArray[np.int32]


@cache
def folding() -> Folding:
    """The tables, made once a process."""
    kinds, cases = _kinds(), _cases()
    folded = np.arange(_NUM_CODE_POINTS, dtype=np.int32)
    starts, sequences = [0], list[int]()
    for code in _maybe_folded(kinds):
        char = chr(code)
        parts = unicodedata2.normalize("NFKD", char)
        if parts == char and char not in cases:
            continue
        if code in _RADICALS:
            kinds[code] = kinds[ord(parts)]
        rest = [ord(c) for part in parts for c in cases.get(part, part) if _stays(kinds, ord(c))]
        kinds[code] = kinds[rest[0]] if rest else IGNORED
        if len(rest) == 1:
            folded[code] = rest[0]
        elif rest:
            folded[code] = -len(starts)
            sequences += rest
            starts.append(len(sequences))
    places = np.array(starts, np.int32), np.array(sequences, np.int32)
    plain = np.where((kinds == LETTER) & (folded < 0x80), folded, 0)[:256].astype(np.uint8)
    plain[0x80:] = 0
    return Folding(plain, kinds, folded, *places)


def _maybe_folded(kinds: NDArray[np.uint8]) -> list[int]:
    maybe = kinds >= LETTER
    maybe[_RADICALS.start : _RADICALS.stop] = True
    # Ideographs have neither case nor parts, but for those that stand for others.
    for span in (range(0x3400, 0xA000), range(0x20000, 0x2F800), range(0x30000, 0x33480)):
        maybe[span.start : span.stop] = False
    found: list[int] = np.flatnonzero(maybe).tolist()
    return found


def _stays(kinds: NDArray[np.uint8], code: int) -> bool:
    return bool(kinds[code] >= LETTER)


def _kinds() -> NDArray[np.uint8]:
    known = characters.kinds() & characters.KIND
    kinds = np.zeros(_NUM_CODE_POINTS, np.uint8)
    kinds[(known == characters.LETTER) | (known == characters.DIGIT)] = LETTER
    kinds[known == characters.IDEOGRAPH] = IDEOGRAPH
    for code in np.flatnonzero(known == characters.MARK).tolist():
        kinds[code] = IGNORED if _is_accent(chr(code)) else LETTER
    for span in _UNSPACED:
        part = kinds[span.start : span.stop]
        part[part == LETTER] = UNSPACED
    formats = (code for span in _ASSIGNED for code in span if known[code] <= characters.SPACE)
    joiners = np.flatnonzero(known == characters.JOINER).tolist()
    for code in (*formats, *joiners):
        if unicodedata2.category(chr(code)) == "Cf":
            kinds[code] = IGNORED
    # It folds to a letter where it stands alone.
    kinds[0x345] = LETTER
    return kinds


def _is_accent(char: str) -> bool:
    """Accents, points and tones; not the vowel signs of Indic scripts, which spell."""
    variation = 0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF
    enclosing = unicodedata2.category(char) == "Me"
    return bool(unicodedata2.combining(char)) or variation or enclosing


def _cases() -> dict[str, str]:
    """The small letters of capitals and the like."""
    cases = dict(_CASES)
    for char in map(chr, range(0x20000)):
        cherokee = 0xAB70 <= ord(char) <= 0xABBF or 0x13F8 <= ord(char) <= 0x13FD
        if char not in cases and (cherokee or unicodedata2.category(char) in ("Lu", "Lt")):
            small = _named_after(unicodedata2.name(char, ""))
            if small is not None:
                cases[char] = small
    return cases


def _named_after(name: str) -> str | None:
    for old, new in _RENAMED:
        if old in name:
            try:
                found: str = unicodedata2.lookup(name.replace(old, new, 1))
            except KeyError:
                continue
            return found
    return None
