"""The transform length: drops texts that are too short or too long, in code points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import num_chars
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.dataset import CleanSpec
from pipelines.transform import Transform

NAME = "length"
MIN_RULE, MAX_RULE = "min_chars", "max_chars"
_REVISION = 1


@dataclass(frozen=True, slots=True)
class LengthVerdict:
    """Which texts are outside the limits.

    Attributes:
        num_chars: code points of each text.
        too_short: true where there are fewer than the smallest number allowed.
        too_long: true where there are more than the largest.
    """

    num_chars: NDArray[np.int64]
    too_short: NDArray[np.bool_]
    too_long: NDArray[np.bool_]


def judge_length(texts: pa.LargeStringArray, spec: CleanSpec) -> LengthVerdict:
    """Counts each text and compares it with the limits, both of which are still kept."""
    chars = num_chars(texts)
    too_long = np.zeros(len(chars), dtype=np.bool_)
    if spec.max_chars is not None:
        too_long = chars > spec.max_chars
    return LengthVerdict(chars, chars < spec.min_chars, too_long)


def length_transform(spec: CleanSpec) -> Transform:
    """What a build key knows of it."""
    verdict = judge_length(pa.array(PROBE_TEXTS, pa.large_string()), spec)
    rows = zip(verdict.num_chars, verdict.too_short, verdict.too_long, strict=True)
    outputs = (f"{chars} {bool(short)} {bool(long)}".encode() for chars, short, long in rows)
    limits = {MIN_RULE: spec.min_chars, MAX_RULE: spec.max_chars}
    return Transform(NAME, _REVISION, limits, behaviour_of(outputs))
