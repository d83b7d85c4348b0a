"""The act language: what language a text is in, by CLD2.

CLD2 counts sequences of characters against tables of 165 languages that come with it. A
text of up to `_MOST_BYTES` is looked at whole; of a longer one as many bytes, in
`_PIECES` pieces that lie evenly from its first byte to its last.

Codes are those of ISO 639-1 where it has one, else of 639-3. CLD2's own are turned into
them: ``iw`` is ``he``, ``jw`` is ``jv``, both kinds of Chinese are ``zh``, ``sr-ME`` is
``sr``. What CLD2 only knows by its script, or means as a joke, is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pycld2
from numpy.typing import NDArray

from pipelines.clean.act import Effect
from pipelines.clean.codepoints import text_bytes
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.transform import Transform

UNKNOWN = "und"
_REVISION = 1
_PIECES, _PIECE_BYTES = 8, 256
_MOST_BYTES = _PIECES * _PIECE_BYTES
_RENAMED = {"iw": "he", "jw": "jv", "zh-Hant": "zh", "sr-ME": "sr", "un": UNKNOWN, "xxx": UNKNOWN}
# Scripts, and the jokes: Bork, Elmer Fudd, Hacker, Pig Latin.
_NO_LANGUAGES = ("xx-", "zz")
_SPACE, _BREAK = np.uint8(0x20), np.uint8(0x0A)


class Language:
    """Detects languages: the signals ``language`` and ``language_share``.

    The share is that of the text in its language, in millionths, in steps of a hundredth.
    """

    name = "language"
    columns = (pa.field("language", pa.string()), pa.field("language_share", pa.int64()))

    def transform(self) -> Transform:
        """What a build key knows of it."""
        found = _detected(pa.array([*PROBE_TEXTS, _LONG_PROBE], pa.large_string()))
        outputs = (f"{code} {share}".encode() for code, share in found)
        return Transform(self.name, _REVISION, {"detector": "cld2"}, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Detects the language of each text as it is now."""
        found = list(_detected(documents["text"].combine_chunks()))
        shares = np.array([share for _, share in found], np.int64)
        codes = pa.array([code for code, _ in found], pa.string())
        return Effect(signals={"language": codes, "language_share": pa.array(shares)})


# The probe texts are all short: this one is read in pieces.
_LONG_PROBE = "".join(
    f"The lion sleeps {n} nights. Le lion dort {n} nuits. \u72ee\u5b50\u7761\u4e86{n}\u591c\u3002\n"
    for n in range(100)
)


def detected(text: str) -> tuple[str, int]:
    """Code of the language and share of the text, `UNKNOWN` and 0 where none is known."""
    return next(_detected(pa.array([text], pa.large_string())))


def _detected(texts: pa.LargeStringArray) -> Iterator[tuple[str, int]]:
    data, starts = text_bytes(texts)
    samples, bounds = _samples(data, starts)
    memory, ends = samples.tobytes(), bounds.tolist()
    for begin, end in pairwise(ends):
        yield _of_sample(memory[begin:end])


def _of_sample(sample: bytes) -> tuple[str, int]:
    try:
        # As plain text: tags and entities are no markup here, and name no language.
        _, _, details = pycld2.detect(sample, isPlainText=True)
    # No code point is known to be refused still, but no text may stop a build.
    except pycld2.error:
        return UNKNOWN, 0
    _, code, percent, _ = details[0]
    code = _RENAMED.get(code, code)
    if code == UNKNOWN or code.startswith(_NO_LANGUAGES):
        return UNKNOWN, 0
    return code, percent * 10_000


@numba.njit(cache=True, nogil=True)
def _samples(
    data: NDArray[np.uint8], starts: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """What is looked at of each text, without what CLD2 refuses, and where each begins."""
    num = len(starts) - 1
    bounds = np.zeros(num + 1, np.int64)
    for row in range(num):
        size = starts[row + 1] - starts[row]
        bounds[row + 1] = bounds[row] + min(size, _MOST_BYTES + _PIECES)
    samples = np.empty(bounds[num], np.uint8)
    put: Any = np.int64(0)
    for row in range(num):
        begin, end = starts[row], starts[row + 1]
        bounds[row] = put
        if end - begin <= _MOST_BYTES:
            put = _copied(data, begin, end, samples, put)
            continue
        for piece in range(_PIECES):
            at = begin + piece * (end - begin - _PIECE_BYTES) // (_PIECES - 1)
            stop = at + _PIECE_BYTES
            # Whole characters: a byte 10xxxxxx is the inside of one.
            while data[at] & 0xC0 == 0x80:
                at += 1
            while stop < end and data[stop] & 0xC0 == 0x80:
                stop -= 1
            put = _copied(data, at, stop, samples, put)
            samples[put], put = _BREAK, put + 1
    bounds[num] = put
    return samples, bounds


@numba.njit(cache=True, nogil=True)
def _copied(
    data: NDArray[np.uint8], at: int, end: int, samples: NDArray[np.uint8], put: int
) -> int:
    """Copies a span, with spaces for controls and for code points that are no characters."""
    while at < end:
        lead = data[at]
        width, refused = 1, False
        if lead < 0x80:
            refused = lead < 0x09 or 0x0A < lead < 0x20 or lead == 0x7F
        elif lead < 0xE0:
            width, refused = 2, lead == 0xC2 and data[at + 1] < 0xA0
        elif lead < 0xF0:
            width = 3
            if lead == 0xEF and data[at + 1] == 0xB7:
                refused = 0x90 <= data[at + 2] <= 0xAF
            elif lead == 0xEF and data[at + 1] == 0xBF:
                refused = data[at + 2] >= 0xBE
        else:
            width = 4
            last = data[at + 2] == 0xBF and data[at + 3] >= 0xBE
            refused = last and data[at + 1] & 0x0F == 0x0F
        for i in range(width):
            samples[put + i] = _SPACE if refused else data[at + i]
        at, put = at + width, put + width
    return put
