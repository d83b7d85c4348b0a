"""What the tests of this room share: findings as words, and texts full of them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from pipelines.personal.find import Findings, find
from pipelines.personal.kind import Kind
from pipelines.personal.probe import OWN_PROBE_TEXTS
from pipelines.personal.registry import KINDS

ALL = tuple(KINDS.values())


def texts_of(*texts: str) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def pieces(texts: pa.LargeStringArray, findings: Findings) -> list[tuple[int, str, str]]:
    columns = (findings.row, findings.start, findings.end, findings.kind)
    return [
        (row, findings.kinds[kind].name, texts[row].as_py().encode()[start:end].decode())
        for row, start, end, kind in zip(*(column.tolist() for column in columns), strict=True)
    ]


def found(text: str, *kinds: Kind) -> list[tuple[str, str]]:
    """Name of the kind and text of each finding; all kinds are looked for where none is named."""
    texts = texts_of(text)
    return [piece[1:] for piece in pieces(texts, find(texts, kinds or ALL))]


# Texts in which many kinds stand close together, cut anywhere and joined by anything.
_SNIPPETS = [part.strip() for text in OWN_PROBE_TEXTS for part in text.split(",")]
_JOINTS = ["", " ", "\n", ", ", "é", "电话", "-", "@", "<", ">", "<EMAIL>", "tel ", "CPF ", "1"]


@st.composite
def mixtures(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(0, 8))):
        snippet = draw(st.sampled_from(_SNIPPETS))
        low, high = sorted(draw(st.tuples(*[st.integers(0, len(snippet))] * 2)))
        parts += [snippet if draw(st.booleans()) else snippet[low:high]]
        parts += [draw(st.sampled_from(_JOINTS))]
    return "".join(parts)
