"""The act language: what language a text is in, by CLD2.

CLD2 counts sequences of characters against tables of 176 languages that come with it. Of a
long text a piece at its start, in its middle and at its end are looked at.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pycld2

from pipelines.clean.act import Effect
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.transform import Transform

UNKNOWN = "und"
_REVISION = 1
_PIECE_CHARS = 1200
# CLD2's codes that ISO 639 has changed, or that stand for a script or a joke.
_RENAMED = {"iw": "he", "jw": "jv", "zh-Hant": "zh", "sr-ME": "sr", "un": UNKNOWN, "xxx": UNKNOWN}
# What CLD2 refuses to look at: controls and code points that are no characters.
_REFUSED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
    + "]"
)


class Language:
    """Detects languages: the signals ``language`` and ``language_share``.

    The share is that of the text in its language, in millionths, in steps of a hundredth.
    """

    name = "language"
    columns = (pa.field("language", pa.string()), pa.field("language_share", pa.int64()))

    def transform(self) -> Transform:
        """What a build key knows of it."""
        outputs = (f"{code} {share}".encode() for code, share in map(detected, PROBE_TEXTS))
        return Transform(self.name, _REVISION, {"detector": "cld2"}, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Detects the language of each text as it is now."""
        found = [detected(text) for text in documents["text"].to_pylist()]
        shares = np.array([share for _, share in found], np.int64)
        codes = pa.array([code for code, _ in found], pa.string())
        return Effect(signals={"language": codes, "language_share": pa.array(shares)})


def detected(text: str) -> tuple[str, int]:
    """Code of the language and share of the text, ``und`` and 0 where none is known."""
    sample = _REFUSED.sub(" ", _pieces(text)).encode("utf-8", "replace")
    try:
        _, _, details = pycld2.detect(sample)
    except pycld2.error:
        return UNKNOWN, 0
    _, code, percent, _ = details[0]
    code = _RENAMED.get(code, code)
    return (UNKNOWN, 0) if code == UNKNOWN or code[:2] in ("xx", "zz") else (code, percent * 10_000)


def _pieces(text: str) -> str:
    if len(text) <= 3 * _PIECE_CHARS:
        return text
    middle = (len(text) - _PIECE_CHARS) // 2
    parts = (text[:_PIECE_CHARS], text[middle : middle + _PIECE_CHARS], text[-_PIECE_CHARS:])
    return "\n".join(parts)
