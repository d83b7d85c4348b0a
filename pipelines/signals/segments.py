"""Words and lines of texts, found in one pass over their bytes.

A *word* is a run of letters, digits and marks; a joiner (full stop, apostrophe, hyphen,
underscore, zero-width joiner) between two of them does not end it. Each ideograph and each
kana is a word. A *token* is a word, one punctuation mark or symbol, or a run of one and
the same mark of ASCII. A *line* is what stands between line feeds and is not blank; a
*paragraph* is a run of lines without a blank one between.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.signals import characters
from pipelines.signals.bits import byte_at, trailing_zeros, word_at

# Bits of a token's and of a line's marks.
WORD, ALPHABETIC, HASH, ELLIPSIS = 1, 2, 4, 8
ENDS, QUOTED, DOTTED, BULLETED = 1, 2, 4, 8
# What the kernel counts of each text, in this order.
CHARS, BREAKS, BRACES, SENTENCES, TALLIES = 0, 1, 2, 3, 4

_OTHER, _SPACE, _BREAK = characters.OTHER, characters.SPACE, characters.BREAK
_LETTER, _DIGIT, _MARK = characters.LETTER, characters.DIGIT, characters.MARK
_IDEOGRAPH, _JOINER = characters.IDEOGRAPH, characters.JOINER
_KIND, _TERMINAL, _WIDE = characters.KIND, characters.TERMINAL, characters.WIDE
_BULLET, _QUOTE = characters.BULLET, characters.QUOTE
_PRIME, _LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_EVERY_BIT = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW_BITS, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_SEVEN_BITS, _CASE_BITS = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x2020202020202020)
_FROM_A, _BEHIND_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
_FROM_0, _BEHIND_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_SPACE_CODE, _HASH_CODE, _FULL_STOP, _BRACE_CODE = 0x20, 0x23, 0x2E, 0x7B
_ELLIPSIS_CODE = 0x2026
# Bytes that may be read behind the last text.
_BEHIND = 16
# More than there are code points: what a lead byte and three others say, valid or not.
_NUM_CODES = 1 << 21

# What a kernel is handed: arrays of one dimension, or of two for counts.
Buffer = NDArray[Any]


class Segments(NamedTuple):
    """Tokens and lines of n texts.

    Attributes:
        tallies: shape (n, 4), int64: code points, line feeds, opening braces, sentences.
        token_starts: int64, n + 1: where each text's tokens begin in the arrays below.
        hashes: uint64, of each token's bytes.
        lengths: int32, code points of each token.
        marks: uint8, bits of each token.
        line_starts: int64, n + 1.
        line_hashes, line_lengths, line_marks: of each line.
        paragraphs: int32, number of each line's paragraph in its text.
    """

    tallies: NDArray[np.int64]
    token_starts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    lengths: NDArray[np.int32]
    marks: NDArray[np.uint8]
    line_starts: NDArray[np.int64]
    line_hashes: NDArray[np.uint64]
    line_lengths: NDArray[np.int32]
    line_marks: NDArray[np.uint8]
    paragraphs: NDArray[np.int32]


class Segmenter:
    """Finds words and lines, in room that is used again by every call.

    Fresh memory costs more than the search itself. Memory: 31 bytes a byte of the largest
    call, of which pages that are never written are none.
    """

    def __init__(self) -> None:
        self._room = self._rooms(0)
        self._bytes = np.zeros(_BEHIND, np.uint8)

    def segments_of(self, texts: pa.LargeStringArray) -> Segments:
        """The words and lines of each text; they stand until the next call."""
        data, starts = text_bytes(texts)
        first, size = int(starts[0]), int(starts[-1] - starts[0])
        if size + 1 > len(self._room[0]):
            self._room = self._rooms(size + size // 4)
            self._bytes = np.zeros(size + size // 4 + _BEHIND, np.uint8)
        # A copy with room behind it, so that eight bytes can be read anywhere.
        self._bytes[:size] = data[first : first + size]
        num = len(texts)
        tallies = np.zeros((num, TALLIES), np.int64)
        tokens, lines = np.zeros(num + 1, np.int64), np.zeros(num + 1, np.int64)
        _segment(self._bytes, starts - first, _kinds(), tallies, tokens, lines, *self._room)
        hashes, lengths, marks = (part[: tokens[-1]] for part in self._room[:3])
        of_lines = (part[: lines[-1]] for part in self._room[3:])
        return Segments(tallies, tokens, hashes, lengths, marks, lines, *of_lines)

    @staticmethod
    def _rooms(size: int) -> tuple[NDArray[Any], ...]:
        # As many tokens and lines as bytes.
        kinds = (np.uint64, np.int32, np.uint8, np.uint64, np.int32, np.uint8, np.int32)
        return tuple(np.empty(size + 1, kind) for kind in kinds)


@cache
def _kinds() -> NDArray[np.uint8]:
    """Of whatever four bytes can be read as its kind, since places are not checked."""
    kinds = np.zeros(_NUM_CODES, np.uint8)
    kinds[: len(characters.kinds())] = characters.kinds()
    return kinds


@numba.njit(cache=True, nogil=True, inline="always")
def _mixed(size: int, head: Any, tail: Any) -> Any:
    mixed = ((np.uint64(size) * _LAST) ^ head) * _PRIME
    mixed = ((mixed ^ (mixed >> np.uint64(32))) ^ tail) * _PRIME
    return (mixed ^ (mixed >> np.uint64(32))) * _LAST


@numba.njit(cache=True, nogil=True)
def _hash(data: Buffer, start: int, end: int) -> Any:
    """A hash of the bytes of a span and of its length."""
    size = end - start
    if size <= 8:
        head = word_at(data, start) & (_EVERY_BIT >> np.uint64(64 - 8 * size))
        return _mixed(size, head, head)
    mixed = ((np.uint64(size) * _LAST) ^ word_at(data, start)) * _PRIME
    start += 8
    while end - start > 8:
        mixed = ((mixed ^ (mixed >> np.uint64(32))) ^ word_at(data, start)) * _PRIME
        start += 8
    mixed = ((mixed ^ (mixed >> np.uint64(32))) ^ word_at(data, end - 8)) * _PRIME
    return (mixed ^ (mixed >> np.uint64(32))) * _LAST


@numba.njit(cache=True, nogil=True, inline="always")
def decoded(data: Buffer, at: int, lead: int) -> tuple[Any, int]:
    """The code point that begins with a byte above 0x7F, and its width in bytes."""
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | np.int64(data[at + 1] & 0x3F), 2
    if lead < 0xF0:
        high = ((lead & 0x0F) << 12) | (np.int64(data[at + 1] & 0x3F) << 6)
        return high | np.int64(data[at + 2] & 0x3F), 3
    high = ((lead & 0x07) << 18) | (np.int64(data[at + 1] & 0x3F) << 12)
    low = (np.int64(data[at + 2] & 0x3F) << 6) | np.int64(data[at + 3] & 0x3F)
    return high | low, 4


@numba.njit(cache=True, nogil=True, inline="always")
def _first(word: Any) -> tuple[Any, Any]:
    """The code point that eight bytes begin with, and its width in bytes."""
    bits = np.int64(word & np.uint64(0xFFFFFFFF))
    lead = bits & 0xFF
    if lead < 0x80:
        return lead, np.int64(1)
    second = (bits >> 8) & 0x3F
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | second, np.int64(2)
    third = (bits >> 16) & 0x3F
    if lead < 0xF0:
        return ((lead & 0x0F) << 12) | (second << 6) | third, np.int64(3)
    fourth = (bits >> 24) & 0x3F
    return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | fourth, np.int64(4)


@numba.njit(cache=True, nogil=True, inline="always")
def _plain(word: Any) -> tuple[Any, Any]:
    """Letters and digits of ASCII that eight bytes begin with, and the high bit of each letter.

    All eight are tested at once: adding moves a byte of a range up to its high bit, and no
    sum of seven bits carries into the next byte.
    """
    low = word & _SEVEN_BITS
    lower = low | _CASE_BITS
    alphabetic = (lower + _FROM_A) & ~(lower + _BEHIND_Z) & ~word & _HIGH_BITS
    digits = (low + _FROM_0) & ~(low + _BEHIND_9) & ~word & _HIGH_BITS
    return trailing_zeros(~(alphabetic | digits) & _HIGH_BITS) >> 3, alphabetic


@numba.njit(cache=True, nogil=True, inline="always")
def _of_first(word: Any, size: Any) -> Any:
    """The first of eight bytes, 1 to 8 of them; the others are 0."""
    return word & (_EVERY_BIT >> np.uint64(64 - 8 * size))


@numba.njit(cache=True, nogil=True)
def _word_end(data: Buffer, at: Any, end: Any, kinds: Buffer) -> tuple[Any, Any, Any]:
    """Where a word that begins here ends, its code points, and whether it has a letter."""
    chars: Any = np.int64(0)
    stop, stop_chars = at, chars
    letters, joined = False, False
    while at < end:
        word = word_at(data, at)
        if word & np.uint64(0x80) == 0:
            size, alphabetic = _plain(word)
            size = min(size, end - at)
            if size:
                letters |= _of_first(alphabetic, size) != 0
                at, chars, joined = at + size, chars + size, False
                stop, stop_chars = at, chars
                continue
        code, width = _first(word)
        kind = byte_at(kinds, code) & _KIND
        if _LETTER <= kind <= _MARK:
            letters |= kind == _LETTER
            joined = False
        elif kind == _JOINER and not joined:
            joined = True
        else:
            break
        at, chars = at + width, chars + 1
        if not joined:
            stop, stop_chars = at, chars
    return stop, stop_chars, letters


@numba.njit(cache=True, nogil=True)
def _segment(
    data: Buffer,
    starts: Buffer,
    kinds: Buffer,
    tallies: Buffer,
    token_starts: Buffer,
    line_starts: Buffer,
    hashes: Buffer,
    lengths: Buffer,
    marks: Buffer,
    line_hashes: Buffer,
    line_lengths: Buffer,
    line_marks: Buffer,
    paragraphs: Buffer,
) -> None:
    num = len(starts) - 1
    # Unsigned, so that no place is taken for one from the end.
    token: Any = np.uint64(0)
    line: Any = np.uint64(0)
    for row in range(num):
        at: Any = starts[row]
        end = starts[row + 1]
        chars = breaks = braces = sentences = np.int64(0)
        paragraph, gap = np.int32(-1), True
        while at < end:
            line_at, line_chars, blank = at, chars, True
            first = last = np.int64(0)
            dots, line_sentences = 0, 0
            terminal = open_sentence = False
            while at < end:
                word = word_at(data, at)
                code, width = _first(word)
                entry = byte_at(kinds, code)
                kind = entry & _KIND
                if kind == _BREAK:
                    break
                if kind <= _SPACE:
                    at, chars = at + width, chars + 1
                    if kind == _SPACE:
                        if terminal and open_sentence:
                            line_sentences, open_sentence = line_sentences + 1, False
                        terminal = False
                    continue
                if blank:
                    blank, first = False, entry
                if kind <= _MARK:
                    size, alphabetic = _plain(word)
                    stop, follows = at + size, byte_at(data, at + size)
                    # Most words are short and of ASCII, and so is what ends them.
                    if (
                        (0 < size < 8)
                        & (stop < end)
                        & (follows < 0x80)
                        & (byte_at(kinds, follows) & _KIND != _JOINER)
                    ):
                        count, letters = size, _of_first(alphabetic, size) != 0
                    else:
                        stop, count, letters = _word_end(data, at, end, kinds)
                    mark = np.uint8(WORD | ALPHABETIC) if letters else np.uint8(WORD)
                    terminal, open_sentence = False, True
                    dots, last = 0, np.int64(0)
                else:
                    stop, count, mark = at + width, np.int64(1), np.uint8(0)
                    if width == 1:
                        while stop < end and byte_at(data, stop) == code:
                            stop, count = stop + 1, count + 1
                    dots, last = 0, entry
                    if kind == _IDEOGRAPH:
                        mark = np.uint8(WORD | ALPHABETIC)
                    elif code == _ELLIPSIS_CODE or (code == _FULL_STOP and count >= 3):
                        mark, dots = np.uint8(ELLIPSIS), 3
                    elif code == _HASH_CODE:
                        mark = np.uint8(HASH)
                    elif code == _BRACE_CODE:
                        braces += count
                    if entry & _TERMINAL:
                        terminal = True
                        if entry & _WIDE and open_sentence:
                            line_sentences, open_sentence = line_sentences + 1, False
                    elif not entry & _QUOTE:
                        terminal, open_sentence = False, True
                size = stop - at
                if size <= 8:
                    head = _of_first(word, size)
                    hashes[token] = _mixed(size, head, head)
                else:
                    hashes[token] = _hash(data, at, stop)
                lengths[token], marks[token] = count, mark
                token += np.uint64(1)
                at, chars = stop, chars + count
                # A space behind a word is nothing but a space.
                if kind <= _MARK and at < end and byte_at(data, at) == _SPACE_CODE:
                    at, chars = at + 1, chars + 1
            if blank:
                gap = True
            else:
                if gap:
                    paragraph, gap = paragraph + np.int32(1), False
                mark = np.uint8(0)
                if last & _TERMINAL:
                    mark |= np.uint8(ENDS)
                if last & _QUOTE:
                    mark |= np.uint8(QUOTED)
                if dots >= 3:
                    mark |= np.uint8(DOTTED)
                if first & _BULLET:
                    mark |= np.uint8(BULLETED)
                line_hashes[line] = _hash(data, line_at, at)
                line_lengths[line] = chars - line_chars
                line_marks[line], paragraphs[line] = mark, paragraph
                line += np.uint64(1)
                sentences += line_sentences + open_sentence
            if at < end:
                at, chars, breaks = at + 1, chars + 1, breaks + 1
        token_starts[row + 1], line_starts[row + 1] = token, line
        tallies[row, CHARS], tallies[row, BREAKS] = chars, breaks
        tallies[row, BRACES], tallies[row, SENTENCES] = braces, sentences
