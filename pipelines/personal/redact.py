"""Redaction: what was found leaves the text, and a word for its kind takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.clean.nfc import replaced
from pipelines.personal.action import Action
from pipelines.personal.find import Findings, find

# More than were ever needed; an end in any case.
_MOST_ROUNDS = 8


def redact(
    texts: pa.LargeStringArray, findings: Findings, actions: Mapping[str, Action]
) -> tuple[NDArray[np.int64], pa.LargeStringArray]:
    """Puts placeholders for the findings of the kinds to be redacted.

    What a finding hid by standing beside it is redacted as well: the new texts are looked at
    again until there is nothing in them.

    Args:
        texts: those in which the findings were found.
        actions: by name of a kind; a kind without one is left alone.

    Returns:
        The rows that change, ascending, and what becomes of them. In these texts `find`
        finds no more of the kinds that were redacted.
    """
    places, new_texts = _redacted(texts, findings, actions)
    for _ in range(_MOST_ROUNDS):
        rows, others = _redacted(new_texts, find(new_texts, findings.kinds), actions)
        if len(rows) == 0:
            break
        new_texts = replaced(new_texts, rows, others)
    return places, new_texts


def _redacted(
    texts: pa.LargeStringArray, findings: Findings, actions: Mapping[str, Action]
) -> tuple[NDArray[np.int64], pa.LargeStringArray]:
    wanted = [actions.get(kind.name) == Action.REDACT for kind in findings.kinds]
    chosen = np.flatnonzero(np.array([*wanted, False])[findings.kind])
    columns = (findings.row, findings.start, findings.end, findings.kind)
    spans = zip(*(column[chosen].tolist() for column in columns), strict=True)
    data, starts = text_bytes(texts)
    places, redacted = [], []
    for row, of_row in groupby(spans, itemgetter(0)):
        text = data[starts[row] : starts[row + 1]].tobytes()
        places.append(row)
        redacted.append(b"".join(_pieces(text, of_row, findings)))
    new_texts = pa.array(redacted, pa.large_binary()).cast(pa.large_string())
    return np.array(places, np.int64), new_texts


def _pieces(
    text: bytes, spans: Iterator[tuple[int, int, int, int]], findings: Findings
) -> Iterator[bytes]:
    done = 0
    for _, start, end, kind in spans:
        yield text[done:start]
        yield findings.kinds[kind].placeholder.encode()
        done = end
    yield text[done:]
