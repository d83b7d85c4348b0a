"""What may have happened to an evaluation item on its way into a document.

Each mutation is named in the report beside the share of injected items that were found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import unicodedata2

Mutation = Callable[[str, np.random.Generator], str]

_WORDS_A_LINE = 8
_EDITED = 20
_MARKS = (" ", " - ", "; ", " \u2013 ", "\u2026 ", "\u2019", ", ", " / ")
_WORD = re.compile(r"\S+")


def _as_it_is(item: str, chance: np.random.Generator) -> str:
    del chance
    return item


def _rewrapped(item: str, chance: np.random.Generator) -> str:
    del chance
    words = item.split()
    lines = range(0, len(words), _WORDS_A_LINE)
    return "\n".join(" ".join(words[at : at + _WORDS_A_LINE]) for at in lines)


def _upper(item: str, chance: np.random.Generator) -> str:
    del chance
    return item.upper()


def _lower(item: str, chance: np.random.Generator) -> str:
    del chance
    return item.lower()


def _punctuation(item: str, chance: np.random.Generator) -> str:
    """Every punctuation mark becomes another one, or a space."""
    marks = [unicodedata2.category(char).startswith("P") for char in item]
    others = iter(chance.integers(len(_MARKS), size=sum(marks)).tolist())
    shown = zip(item, marks, strict=True)
    return "".join(_MARKS[next(others)] if mark else char for char, mark in shown)


def _half(item: str, chance: np.random.Generator) -> str:
    """The first half of it, such as a question without its answer."""
    del chance
    ends = [match.end() for match in _WORD.finditer(item)]
    return item[: ends[len(ends) // 2]] if len(ends) > 1 else item[: (len(item) + 1) // 2]


def _edited(item: str, chance: np.random.Generator) -> str:
    """One word in twenty is left out, one at least; of a text without spaces, one character."""
    words = item.split()
    parts = words if len(words) > 1 else list(item)
    left_out = chance.choice(len(parts), size=-(-len(parts) // _EDITED), replace=False).tolist()
    rest = [part for place, part in enumerate(parts) if place not in left_out]
    return (" " if len(words) > 1 else "").join(rest)


MUTATIONS: Mapping[str, Mutation] = {
    "embedded": _as_it_is,
    "rewrapped": _rewrapped,
    "upper_case": _upper,
    "lower_case": _lower,
    "punctuation": _punctuation,
    "half": _half,
    "edited": _edited,
}


def inject(
    texts: Sequence[str], items: Sequence[str], mutation: str, chance: np.random.Generator
) -> list[str]:
    """Puts a mutated item into each text, at a white space somewhere in it.

    Args:
        texts: real documents.
        items: as many.
        mutation: a name in `MUTATIONS`.
    """
    mutate = MUTATIONS[mutation]
    pairs = zip(texts, items, strict=True)
    return [_put(text, mutate(item, chance), chance) for text, item in pairs]


def _put(text: str, item: str, chance: np.random.Generator) -> str:
    gaps = [0, *(match.end() for match in _WORD.finditer(text))]
    at = gaps[int(chance.integers(len(gaps)))]
    between = ("\n\n", "\n", " ")[int(chance.integers(3))]
    return f"{text[:at]}{between}{item}{between}{text[at:]}"
