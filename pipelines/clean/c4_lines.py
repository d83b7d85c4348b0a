"""The act c4_lines: takes out lines that are hardly text, as for C4.

Raffel et al. 2020, arXiv 1910.10683, section 2.2, and the published code, made good for all
scripts: a word is one of `pipelines.signals.segments`, so each ideograph is one, and a line
may end with any mark that ends a sentence, or with a quotation mark. What stays, stays byte
for byte:

- Citations are taken out first; a line is judged without them, and leaves when nothing else
  stood in it.
- A line leaves for any reason that `C4LinesSpec` names; a blank line is no line.
- Between two lines that stay, a line feed stands in place of those that left, and a blank
  line where there was one. What is before the first and behind the last leaves with them.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.act import Effect, Places
from pipelines.clean.codepoints import text_bytes
from pipelines.clean.lines import Limits, Phrases, judge, write
from pipelines.clean.nfc import replaced
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.lines import C4LinesSpec
from pipelines.transform import Transform

REMOVED = "c4_lines_removed"
_REVISION = 1
_JAVASCRIPT = (b"javascript",)
_POLICY = (
    b"terms of use",
    b"privacy policy",
    b"cookie policy",
    b"uses cookies",
    b"use of cookies",
    b"use cookies",
)
# Beside the fixed texts, so that every reason shows in the behaviour.
_OWN_PROBE_TEXTS = (
    "Menu\nThree words here.\n\nAn end of sorts...\nHe said \u201cit is so\u201d\n\nFoot",
    "It was so[1] in 1984.[citation needed]\n[edit]\n[2][33]\nNo end[4] of it",
    "Please enable JavaScript now.\nWe use cookies, see it.\nOur Privacy Policy is long.",
    "x" * 1001 + " is too long.\n" + "y" * 1000 + " is not long.",
    "\u4e00\u4e8c\u3002\n\u4e00\u4e8c\u4e09\u3002\n\u0e01\u0e02 \u0e01. \u0e01.",
)


class C4Lines:
    """Takes lines out of texts, and counts them: the signal ``c4_lines_removed``."""

    name = "c4_lines"
    columns = (pa.field(REMOVED, pa.int64()),)

    def __init__(self, spec: C4LinesSpec) -> None:
        self._spec = spec

    def transform(self) -> Transform:
        """What a build key knows of it."""
        return c4_lines_transform(self._spec)

    def apply(self, documents: pa.Table) -> Effect:
        """Changes the texts that hold such lines or citations."""
        texts = documents["text"].combine_chunks()
        places, others, removed = without_lines(texts, self._spec)
        return Effect(places, others, {REMOVED: pa.array(removed)})


def c4_lines_transform(spec: C4LinesSpec) -> Transform:
    """What a build key knows of taking lines out as a spec says."""
    texts = pa.array([*PROBE_TEXTS, *_OWN_PROBE_TEXTS], pa.large_string())
    places, others, _ = without_lines(texts, spec)
    outputs = (text.as_py().encode() for text in replaced(texts, places, others))
    parameters: dict[str, str | int | None] = {}
    for item in fields(spec):
        value = getattr(spec, item.name)
        parameters[item.name] = value if value is None else int(value)
    return Transform(C4Lines.name, _REVISION, parameters, behaviour_of(outputs))


def without_lines(
    texts: pa.LargeStringArray, spec: C4LinesSpec
) -> tuple[Places, pa.LargeStringArray, NDArray[np.int64]]:
    """The texts that change, and how many lines leave.

    Returns:
        Places of the texts that change (int64), what they become, and of every text the
        number of lines that leave (int64).
    """
    data, starts = text_bytes(texts)
    phrases = (_JAVASCRIPT if spec.javascript else ()) + (_POLICY if spec.policy else ())
    limits = Limits(
        int(spec.terminal), spec.min_words or 0, spec.max_word_length or 0, int(spec.citations)
    )
    judged = judge(data, starts, limits, Phrases.of(phrases))
    places = np.flatnonzero((judged.removed > 0) | (judged.cited > 0)).astype(np.int64)
    out, ends = write(data, starts, places, judged)
    buffers = (pa.py_buffer(ends), pa.py_buffer(out))
    return places, pa.LargeStringArray.from_buffers(len(places), *buffers), judged.removed
