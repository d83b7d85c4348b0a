"""Finding: the hits of a scan, looked at more closely."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.personal.kind import Anchor, Digits, Form, Kind, Literal, OwnForm, Trigger
from pipelines.personal.own import Stretch, own_findings
from pipelines.personal.scan import CODE, DIGITS, END, FIRST_LITERAL, NUM_DIGITS, START
from pipelines.personal.scanner import Scanner


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in n texts: sorted by row and start, none overlaps another.

    Attributes:
        row: int64, of the text.
        start, end: int64, bytes in the text; whole characters.
        kind: int32, place in `kinds`.
        kinds: those that were looked for.
    """

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[np.int32]
    kinds: tuple[Kind, ...]

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A form with its pattern compiled, for one anchor."""

    kind: int
    form: Form
    pattern: re.Pattern[bytes]
    group: int
    least: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is looked for, by the code of a hit."""

    scanner: Scanner
    forms: dict[int, list[_Ready]]
    own: dict[int, list[tuple[int, OwnForm]]]
    placeholders: re.Pattern[bytes]


# One finding: row, start, end, place of its kind.
_Found = tuple[int, int, int, int]


def find(texts: pa.LargeStringArray, kinds: Sequence[Kind]) -> Findings:
    """Finds every kind in every text; where two overlap, the kind that stands first wins.

    What overlaps is one finding, from the first byte to the last, so that no part of the
    other is left when it is redacted.
    """
    kinds = tuple(kinds)
    found: list[_Found] = []
    if kinds and len(texts):
        plan = _plan(kinds)
        data, starts = text_bytes(texts)
        stretches: list[Stretch] = []
        for row, text, hits in _by_row(data, starts, plan.scanner.hits(data, starts)):
            found.extend((row, *item) for item in _looked_at(text, hits, plan))
            stretches.extend(_stretches(row, text, hits, plan))
        found.extend(own_findings(stretches, plan.placeholders))
    table = np.array(_settled(found), np.int64).reshape(-1, 4)
    columns = [np.ascontiguousarray(column) for column in table.T]
    return Findings(columns[0], columns[1], columns[2], columns[3].astype(np.int32), kinds)


@cache
def _plan(kinds: tuple[Kind, ...]) -> _Plan:
    anchors = [anchor for kind in kinds for form in kind.forms for anchor in _anchors(form)]
    scanned = list(dict.fromkeys(a for a in anchors if not isinstance(a, Digits)))
    codes: dict[Anchor, int] = {a: int(a) for a in scanned if isinstance(a, Trigger)}
    literals = [anchor for anchor in scanned if isinstance(anchor, Literal)]
    codes |= {literal: FIRST_LITERAL + number for number, literal in enumerate(literals)}
    least = min((a.least for a in anchors if isinstance(a, Digits)), default=None)
    placeholders = re.compile("|".join(kind.placeholder for kind in kinds).encode())
    plan = _Plan(Scanner.of(scanned, least), {}, {}, placeholders)
    for place, kind in enumerate(kinds):
        for form in kind.forms:
            for anchor in _anchors(form):
                code = codes.get(anchor, DIGITS)
                if isinstance(form, OwnForm):
                    plan.own.setdefault(code, []).append((place, form))
                else:
                    plan.forms.setdefault(code, []).append(_ready(place, form, anchor))
    return plan


def _anchors(form: Form | OwnForm) -> tuple[Anchor, ...]:
    return (form.anchor,) if isinstance(form, OwnForm) else form.anchors


def _ready(place: int, form: Form, anchor: Anchor) -> _Ready:
    pattern = re.compile(form.pattern)
    least = anchor.least if isinstance(anchor, Digits) else 0
    return _Ready(place, form, pattern, pattern.groupindex.get("found", 0), least)


def _by_row(
    data: NDArray[np.uint8], starts: NDArray[np.int64], hits: NDArray[np.int64]
) -> Iterator[tuple[int, bytes, list[list[int]]]]:
    """Of each text with hits its row, its bytes and its hits."""
    cuts = [0, *(np.flatnonzero(np.diff(hits[:, 0])) + 1).tolist(), len(hits)]
    for low, high in pairwise(cuts):
        if low < high:
            row = int(hits[low, 0])
            yield row, data[starts[row] : starts[row + 1]].tobytes(), hits[low:high].tolist()


def _looked_at(text: bytes, hits: list[list[int]], plan: _Plan) -> Iterator[tuple[int, int, int]]:
    for hit in hits:
        for ready in plan.forms.get(hit[CODE], ()):
            if hit[NUM_DIGITS] < ready.least:
                continue
            reach = ready.form.reach
            if reach is None:
                match = ready.pattern.match(text, hit[START])
                if match and _passes(text, match, ready):
                    yield *match.span(ready.group), ready.kind
                continue
            low, high = hit[START] - reach[0], hit[END] + reach[1]
            low = low if low > 0 else 0
            if not ready.form.needs or text.find(ready.form.needs, low, high) >= 0:
                match = ready.pattern.search(text, low, high)
                if match:
                    yield from _from_here(text, match, high, ready)


def _from_here(
    text: bytes, match: re.Match[bytes] | None, high: int, ready: _Ready
) -> Iterator[tuple[int, int, int]]:
    while match:
        # A match that does not pass hides none that begins behind its first byte.
        low = match.start() + 1
        if _passes(text, match, ready):
            yield *match.span(ready.group), ready.kind
            low = match.end()
        match = ready.pattern.search(text, low, high)


def _passes(text: bytes, match: re.Match[bytes], ready: _Ready) -> bool:
    return ready.form.check(text, *match.span(ready.group))


def _stretches(row: int, text: bytes, hits: list[list[int]], plan: _Plan) -> Iterator[Stretch]:
    for hit in hits if plan.own else ():
        for kind, form in plan.own.get(hit[CODE], ()):
            if not isinstance(form.anchor, Digits) or form.anchor.least <= hit[NUM_DIGITS]:
                yield Stretch.around(row, text, hit[START], hit[END], kind, form)


def _settled(found: list[_Found]) -> list[_Found]:
    """In order, with every heap of findings that overlap made one, of the first kind in it."""
    settled: list[_Found] = []
    for row, start, end, kind in sorted(found):
        if settled and settled[-1][0] == row and start < settled[-1][2]:
            _, first, last, other = settled[-1]
            settled[-1] = (row, first, max(last, end), min(kind, other))
        else:
            settled.append((row, start, end, kind))
    return settled
