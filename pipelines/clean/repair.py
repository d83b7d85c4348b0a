"""The acts that repair damage: each looks for it cheaply, and leaves clean texts alone."""

from __future__ import annotations

import ftfy
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.clean.act import Act, Effect
from pipelines.clean.nfc import replaced
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.repair import RepairSpec
from pipelines.transform import Transform

_REVISION = 1
# Controls but tab, line feed, form feed and carriage return; a byte order mark inside a
# text; code points that are no characters. Joiners and marks of direction are no damage.
_CONTROLS = (
    r"[\x00-\x08\x0b\x0e-\x1f\x7f\x{80}-\x{84}\x{86}-\x{9f}"
    r"\x{feff}\x{fdd0}-\x{fdef}\x{fffe}\x{ffff}]"
)
_LINE_ENDINGS = r"\r\n|\r|\x{85}|\x{2028}|\x{2029}"
# The first byte of a UTF-8 sequence, and what may follow it, as Windows-1252 shows them.
_SUSPECT = (
    "[\u00c2-\u00f4][\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160"
    "\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153"
    "\u017e\u0178]"
)


def repairs(spec: RepairSpec) -> tuple[Act, ...]:
    """The acts of a spec, in the order in which they are applied."""
    acts = (
        (spec.line_endings, Replaces("line_endings", _LINE_ENDINGS, "\n")),
        (spec.mojibake, Mojibake()),
        (spec.controls, Replaces("controls", _CONTROLS, "")),
    )
    return tuple(act for used, act in acts if used)


class Replaces:
    """Replaces what matches a pattern (RE2).

    Args:
        pattern: what is damage.
        replacement: what stands in its place.
    """

    columns: tuple[pa.Field, ...] = ()

    def __init__(self, name: str, pattern: str, replacement: str) -> None:
        self.name, self._pattern, self._replacement = name, pattern, replacement

    def transform(self) -> Transform:
        """What a build key knows of it."""
        return _transform(self, {"replacement": self._replacement})

    def apply(self, documents: pa.Table) -> Effect:
        """Changes the texts in which the pattern matches."""
        texts = documents["text"].combine_chunks()
        places = _matching(texts, self._pattern)
        damaged = texts.take(pa.array(places))
        return Effect(places, pc.replace_substring_regex(damaged, self._pattern, self._replacement))


class Mojibake:
    """Undoes UTF-8 that was read as another encoding, by ftfy; nothing else of ftfy is used."""

    name = "mojibake"
    columns: tuple[pa.Field, ...] = ()

    def transform(self) -> Transform:
        """What a build key knows of it."""
        return _transform(self, {})

    def apply(self, documents: pa.Table) -> Effect:
        """Changes the texts that ftfy finds damaged, among those that look like it."""
        texts = documents["text"].combine_chunks()
        places = _matching(texts, _SUSPECT)
        before = [texts[int(place)].as_py() for place in places]
        after = [ftfy.fix_encoding(text) for text in before]
        changed = np.array([a != b for a, b in zip(before, after, strict=True)], np.bool_)
        kept = [text for text, other in zip(after, changed, strict=True) if other]
        return Effect(places[changed], pa.array(kept, pa.large_string()))


def _matching(texts: pa.LargeStringArray, pattern: str) -> np.ndarray:
    matches = pc.match_substring_regex(texts, pattern)
    return np.flatnonzero(np.asarray(matches)).astype(np.int64)


def _transform(act: Replaces | Mojibake, parameters: dict[str, str | int | None]) -> Transform:
    texts = pa.array(PROBE_TEXTS, pa.large_string())
    effect = act.apply(pa.table({"text": texts}))
    outputs = (text.as_py().encode() for text in replaced(texts, effect.places, effect.texts))
    return Transform(act.name, _REVISION, parameters, behaviour_of(outputs))
