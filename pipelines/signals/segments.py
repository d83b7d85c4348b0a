"""Words and lines of texts, found in one pass over their bytes.

A *word* is a run of letters, digits and marks; a joiner (full stop, apostrophe, hyphen,
underscore, zero-width joiner) between two of them does not end it. Each ideograph and each
kana is a word. A *token* is a word, one punctuation mark or symbol, or a run of one and
the same mark of ASCII. A *line* is what stands between line feeds and is not blank; a
*paragraph* is a run of lines without a blank one between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.signals import characters

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
_ELLIPSIS_CODE = 0x2026

# What a kernel is handed: arrays of one dimension, or of two for counts.
Buffer = NDArray[Any]


class Segments(NamedTuple):
    """Tokens and lines of n texts.

    Attributes:
        tallies: shape (n, 4), int64: code points, line feeds, opening braces, sentences.
        token_starts: int64, n + 1: where each text's tokens begin in the arrays below.
        hashes: uint64, of each token's bytes.
        lengths: int32, code points of each token.
        keys: uint64, the bytes of a token of at most eight, the first one lowest; else 0.
        marks: uint8, bits of each token.
        line_starts: int64, n + 1.
        line_hashes, line_lengths, line_marks: of each line.
        paragraphs: int32, number of each line's paragraph in its text.
    """

    tallies: NDArray[np.int64]
    token_starts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    lengths: NDArray[np.int32]
    keys: NDArray[np.uint64]
    marks: NDArray[np.uint8]
    line_starts: NDArray[np.int64]
    line_hashes: NDArray[np.uint64]
    line_lengths: NDArray[np.int32]
    line_marks: NDArray[np.uint8]
    paragraphs: NDArray[np.int32]


class Segmenter:
    """Finds words and lines, in room that is used again by every call.

    Fresh memory costs more than the search itself. Memory: 38 bytes a byte of the largest
    call, of which pages that are never written are none.
    """

    def __init__(self) -> None:
        self._room = self._rooms(0)
        self._words = np.zeros(3, np.uint64)

    def segments_of(self, texts: pa.LargeStringArray) -> Segments:
        """The words and lines of each text; they stand until the next call."""
        data, starts = text_bytes(texts)
        first, size = int(starts[0]), int(starts[-1] - starts[0])
        if size + 1 > len(self._room[0]):
            self._room = self._rooms(size + size // 4)
            self._words = np.zeros(size // 6 + 4, np.uint64)
        # A copy that ends with an empty word, so that eight bytes can be read anywhere.
        self._words.view(np.uint8)[:size] = data[first : first + size]
        num = len(texts)
        tallies = np.zeros((num, TALLIES), np.int64)
        tokens, lines = np.zeros(num + 1, np.int64), np.zeros(num + 1, np.int64)
        kinds = characters.kinds()
        _segment(self._words, starts - first, kinds, tallies, tokens, lines, *self._room)
        hashes, lengths, keys, marks = (part[: tokens[-1]] for part in self._room[:4])
        of_lines = (part[: lines[-1]] for part in self._room[4:])
        return Segments(tallies, tokens, hashes, lengths, keys, marks, lines, *of_lines)

    @staticmethod
    def _rooms(size: int) -> tuple[NDArray[Any], ...]:
        # As many tokens and lines as bytes.
        kinds = (np.uint64, np.int32, np.uint64, np.uint8, np.uint64, np.int32, np.uint8, np.int32)
        return tuple(np.empty(size + 1, kind) for kind in kinds)


def key_of(word: str) -> int:
    """The key of a word of at most eight bytes."""
    return int.from_bytes(word.encode("utf-8"), "little")


@numba.njit(cache=True, nogil=True, inline="always")
def _word_at(words: Buffer, at: int) -> Any:
    place = np.uint64(at) >> np.uint64(3)
    shift = (np.uint64(at) & np.uint64(7)) << np.uint64(3)
    # Shifting by 64 is undefined, so the upper word is shifted in two goes.
    high = (words[place + np.uint64(1)] << np.uint64(1)) << (np.uint64(63) - shift)
    return (words[place] >> shift) | high


@numba.njit(cache=True, nogil=True, inline="always")
def _hash(words: Buffer, start: int, end: int) -> Any:
    """A hash of the bytes of a span and of its length, and its first eight bytes."""
    # Both ends, overlapping where it is short: no branch for spans up to 16 bytes.
    short = min(end - start, 8)
    mask = _EVERY_BIT >> np.uint64(64 - 8 * short)
    head, tail = _word_at(words, start) & mask, _word_at(words, end - short) & mask
    mixed = ((np.uint64(end - start) * _LAST) ^ head) * _PRIME
    start += 8
    while end - start > 8:
        mixed = ((mixed ^ (mixed >> np.uint64(32))) ^ _word_at(words, start)) * _PRIME
        start += 8
    mixed = ((mixed ^ (mixed >> np.uint64(32))) ^ tail) * _PRIME
    return (mixed ^ (mixed >> np.uint64(32))) * _LAST, head


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
def _plain(word: Any) -> tuple[Any, Any]:
    """Letters and digits of ASCII that eight bytes begin with, and the high bit of each letter.

    All eight are tested at once: adding moves a byte of a range up to its high bit, and no
    sum of seven bits carries into the next byte.
    """
    low = word & _SEVEN_BITS
    lower = low | _CASE_BITS
    alphabetic = (lower + _FROM_A) & ~(lower + _BEHIND_Z) & ~word & _HIGH_BITS
    digits = (low + _FROM_0) & ~(low + _BEHIND_9) & ~word & _HIGH_BITS
    others = ~(alphabetic | digits) & _HIGH_BITS
    # The lowest set bit less one has ones in every byte up to and with the first other one.
    ones = ((others & (~others + np.uint64(1))) - np.uint64(1)) & _LOW_BITS
    count = np.int64((ones * _LOW_BITS) >> np.uint64(56))
    return (count - 1 if others else np.int64(8)), alphabetic


@numba.njit(cache=True, nogil=True, inline="always")
def _word_end(
    words: Buffer, data: Buffer, at: int, end: int, kinds: Buffer
) -> tuple[Any, Any, Any]:
    """Where a word that begins here ends, its code points, and whether it has a letter."""
    chars, letters, stop, stop_chars = np.int64(0), np.uint64(0), at, np.int64(0)
    joined = False
    while at < end:
        begin = at
        while at < end:
            found, alphabetic = _plain(_word_at(words, at))
            size = min(found, end - at)
            # The letters of the bytes that count, by their high bits.
            letters |= alphabetic & ~((_EVERY_BIT << np.uint64(4 * size)) << np.uint64(4 * size))
            at += size
            if size < 8:
                break
        if at > begin:
            chars += at - begin
            joined, stop, stop_chars = False, at, chars
            if at == end:
                break
        code, width = np.int64(data[at]), 1
        if code >= 0x80:
            code, width = decoded(data, at, code)
        kind = kinds[code] & _KIND
        if _LETTER <= kind <= _MARK:
            letters |= np.uint64(kind == _LETTER)
            joined = False
        elif kind == _JOINER and not joined:
            joined = True
        else:
            break
        at, chars = at + width, chars + 1
        if not joined:
            stop, stop_chars = at, chars
    return stop, stop_chars, letters != 0


@numba.njit(cache=True, nogil=True)
def _segment(
    words: Buffer,
    starts: Buffer,
    kinds: Buffer,
    tallies: Buffer,
    token_starts: Buffer,
    line_starts: Buffer,
    hashes: Buffer,
    lengths: Buffer,
    keys: Buffer,
    marks: Buffer,
    line_hashes: Buffer,
    line_lengths: Buffer,
    line_marks: Buffer,
    paragraphs: Buffer,
) -> None:
    data = words.view(np.uint8)
    num = len(starts) - 1
    token: Any = np.int64(0)
    line: Any = np.int64(0)
    for row in range(num):
        at: Any = starts[row]
        end = starts[row + 1]
        chars = breaks = braces = sentences = np.int64(0)
        paragraph, gap = np.int32(-1), True
        while at < end:
            line_at, line_chars, blank = at, chars, True
            first = last = np.uint8(0)
            dots, line_sentences = 0, 0
            terminal = open_sentence = False
            while at < end:
                code: Any = np.int64(data[at])
                width = 1
                if code >= 0x80:
                    code, width = decoded(data, at, code)
                entry = kinds[code]
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
                    stop, count, letters = _word_end(words, data, at, end, kinds)
                    mark = np.uint8(WORD | ALPHABETIC) if letters else np.uint8(WORD)
                    terminal, open_sentence = False, True
                    dots, last = 0, np.uint8(0)
                else:
                    stop, count, mark = at + width, np.int64(1), np.uint8(0)
                    if width == 1:
                        while stop < end and data[stop] == code:
                            stop, count = stop + 1, count + 1
                    dots, last = 0, entry
                    if kind == _IDEOGRAPH:
                        mark = np.uint8(WORD | ALPHABETIC)
                    elif code == _ELLIPSIS_CODE or (code == 46 and count >= 3):
                        mark, dots = np.uint8(ELLIPSIS), 3
                    elif code == 35:
                        mark = np.uint8(HASH)
                    elif code == 123:
                        braces += count
                    if entry & _TERMINAL:
                        terminal = True
                        if entry & _WIDE and open_sentence:
                            line_sentences, open_sentence = line_sentences + 1, False
                    elif not entry & _QUOTE:
                        terminal, open_sentence = False, True
                hashes[token], key = _hash(words, at, stop)
                keys[token] = key if stop - at <= 8 else np.uint64(0)
                lengths[token], marks[token] = count, mark
                token += 1
                at, chars = stop, chars + count
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
                line_hashes[line], _ = _hash(words, line_at, at)
                line_lengths[line] = chars - line_chars
                line_marks[line], paragraphs[line] = mark, paragraph
                line += 1
                sentences += line_sentences + open_sentence
            if at < end:
                at, chars, breaks = at + 1, chars + 1, breaks + 1
        token_starts[row + 1], line_starts[row + 1] = token, line
        tallies[row, CHARS], tallies[row, BREAKS] = chars, breaks
        tallies[row, BRACES], tallies[row, SENTENCES] = braces, sentences
