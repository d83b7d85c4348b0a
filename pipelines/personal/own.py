"""Users' own kinds: their patterns are run by RE2, in time that grows with the text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.personal.kind import OwnForm
from pipelines.personal.registry import search_pattern

# How far a match may reach from its anchor, inside the line.
_REACH = 256
_LONGEST = 4096
_LONGEST_PLACEHOLDER = 44
_CONTINUES = 0x80


@dataclass(frozen=True, slots=True)
class Stretch:
    """The part of a text in which an own kind is looked for.

    Attributes:
        row: of the text.
        text: the text's bytes.
        start, end: of the part; matches begin behind its first character, which is a line
            feed that was put before the text where start is -1.
        kind: place among the kinds.
        form: what is looked for.
    """

    row: int
    text: bytes
    start: int
    end: int
    kind: int
    form: OwnForm

    @classmethod
    def around(
        cls, row: int, text: bytes, start: int, end: int, kind: int, form: OwnForm
    ) -> Stretch:
        """The line around an anchor, as far as it is near, with the character before it."""
        low = max(text.rfind(b"\n", max(0, start - _REACH), start), start - _REACH - 1, -1)
        low = low if low < 0 else _character(text, low)
        high = min(len(text), end + _REACH)
        line = text.find(b"\n", end, high)
        high = high if line < 0 else line
        while high < len(text) and text[high] & 0xC0 == _CONTINUES:
            high += 1
        return cls(row, text, low, high, kind, form)

    def joined(self, other: Stretch) -> Stretch | None:
        """Both as one, where the other begins inside this one and they are not too long."""
        near = self.row == other.row and self.start <= other.start <= self.end
        if not near or other.end - self.start > _LONGEST:
            return None
        return replace(self, end=max(self.end, other.end))

    def read(self) -> bytes:
        """Its bytes, the character before it included."""
        return b"\n" * (self.start < 0) + self.text[max(0, self.start) : self.end]


def own_findings(
    stretches: Sequence[Stretch], placeholders: re.Pattern[bytes]
) -> Iterator[tuple[int, int, int, int]]:
    """Every match that takes in no part of a placeholder: row, start, end, kind."""
    by_form: dict[tuple[int, OwnForm], list[Stretch]] = {}
    for part in stretches:
        parts = by_form.setdefault((part.kind, part.form), [])
        # Anchors that stand near each other share a stretch, up to some length.
        if parts and (joined := parts[-1].joined(part)):
            parts[-1] = joined
        else:
            parts.append(part)
    for (kind, form), parts in by_form.items():
        left: Sequence[Stretch] = parts
        while left:
            left, found = _first_matches(left, form)
            yield from (
                (part.row, start, end, kind)
                for part, start, end in found
                if form.check(part.text, start, end)
                and not _overlaps(placeholders, part.text, start, end)
            )


def _first_matches(
    stretches: Sequence[Stretch], form: OwnForm
) -> tuple[list[Stretch], list[tuple[Stretch, int, int]]]:
    """The first match in each stretch, and what is left of the stretches behind it."""
    texts = pa.array([part.read() for part in stretches], pa.large_binary())
    spans = pc.extract_regex_span(texts.cast(pa.large_string()), search_pattern(form.pattern))
    places = np.flatnonzero(np.asarray(spans.is_valid())).tolist()
    rest, found = [], []
    for place, (start, size) in zip(
        places, spans.field(0).take(pa.array(places, pa.int64())).to_pylist(), strict=True
    ):
        part = stretches[place]
        start, end = part.start + start, part.start + start + size
        if size:
            found.append((part, start, end))
        # The next match begins behind the last character of this one, or one further on.
        low = _character(part.text, end - 1) if size else end
        if low < part.end:
            rest.append(replace(part, start=low))
    return rest, found


def _overlaps(placeholders: re.Pattern[bytes], text: bytes, start: int, end: int) -> bool:
    low, high = max(0, start - _LONGEST_PLACEHOLDER), end + _LONGEST_PLACEHOLDER
    near = placeholders.finditer(text, low, high)
    return any(match.start() < end and start < match.end() for match in near)


def _character(text: bytes, at: int) -> int:
    """Where the character of a byte begins."""
    while at > 0 and text[at] & 0xC0 == _CONTINUES:
        at -= 1
    return at
