"""The acts that repair damage: each looks for it cheaply, and leaves clean texts alone."""

from __future__ import annotations

import re
from functools import cache

import ftfy
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ftfy.badness import BADNESS_RE, is_bad

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
# A line is repaired as a whole or not at all, so that a text which quotes such damage is not
# changed; nor are single controls taken for what Windows-1252 has in their place.
_FTFY = ftfy.TextFixerConfig(fix_c1_controls=False, decode_inconsistent_utf8=False)
# What the classes of Python's patterns match, as RE2 writes it.
_CLASSES = {r"\w": r"[\pL\pM\pN_]", r"\s": r"[\s\x0b\x1c-\x1f\x{85}\pZ]"}


def repairs(spec: RepairSpec) -> tuple[Act, ...]:
    """The acts of a spec, in the order in which they are applied."""
    acts = (
        # Before line endings: half of a letter that was read wrongly may look like one.
        (spec.mojibake, Mojibake()),
        (spec.line_endings, Replaces("line_endings", _LINE_ENDINGS, "\n")),
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
        return _transform(self, {}, _DAMAGED)

    def apply(self, documents: pa.Table) -> Effect:
        """Changes the lines that ftfy finds damaged, and can read otherwise from end to end."""
        texts = documents["text"].combine_chunks()
        places = _matching(texts, _suspicion())
        before = [texts[int(place)].as_py() for place in places]
        after = [_mended(text) for text in before]
        changed = np.array([a != b for a, b in zip(before, after, strict=True)], np.bool_)
        kept = [text for text, other in zip(after, changed, strict=True) if other]
        return Effect(places[changed], pa.array(kept, pa.large_string()))


def _mended(text: str) -> str:
    return "\n".join(
        ftfy.fix_encoding(line, _FTFY) if _is_bad(line) else line for line in text.split("\n")
    )


def _is_bad(line: str) -> bool:
    # ftfy holds a capital with a circumflex or a tilde that a text begins with to be damage.
    # Here it would be one that a line begins with, as in a table of letters.
    return not line.isascii() and is_bad("\n" + line)


@cache
def _suspicion() -> str:
    """What ftfy holds to be damage, for RE2: it looks for it a hundred times as fast."""
    parts, inside = [], False
    for part in re.findall(r"\\.|#[^\n]*|.", BADNESS_RE.pattern, re.DOTALL):
        if inside or not (part.startswith("#") or part in " \t\n"):
            parts.append(part if inside else _CLASSES.get(part, part))
        inside = part == "[" or (inside and part != "]")
    return "(?m)" + "".join(parts)


def _matching(texts: pa.LargeStringArray, pattern: str) -> np.ndarray:
    matches = pc.match_substring_regex(texts, pattern)
    return np.flatnonzero(np.asarray(matches)).astype(np.int64)


def _transform(
    act: Replaces | Mojibake, parameters: dict[str, str | int | None], more: tuple[str, ...] = ()
) -> Transform:
    texts = pa.array([*PROBE_TEXTS, *more], pa.large_string())
    effect = act.apply(pa.table({"text": texts}))
    outputs = (text.as_py().encode() for text in replaced(texts, effect.places, effect.texts))
    return Transform(act.name, _REVISION, parameters, behaviour_of(outputs))


# The probe texts have no damage of this kind: each is one that is repaired, or must not be.
_DAMAGED = (
    "La caf\u00c3\u00a9t\u00c3\u00a9ria",
    "It\u00e2\u20ac\u2122s a \u00e2\u20ac\u0153test\u00e2\u20ac\x9d",
    "\u00d0\u00bf\u00d1\u20ac\u00d0\u00b8\u00d0\u00b2\u00d0\u00b5\u00d1\u201a",
    "voil\u00c3 le travail",
    "\u0420\x98\u0420\u00b7-\u0420\u0457\u0420\u0455\u0420\u0491",
    "a quoted \u201c\u00c3\u00a9\u201d \u4e2d\u6587",
    "\x84Handwerk\x93",
)
