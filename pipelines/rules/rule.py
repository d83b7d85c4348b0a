"""A rule: one threshold on one signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Side(StrEnum):
    """Which side of the threshold is dropped; the threshold itself is always kept."""

    MIN = "min"  # smaller values are dropped
    MAX = "max"  # larger values are dropped


@dataclass(frozen=True, slots=True)
class Rule:
    """One threshold, for all languages or with others for some.

    Attributes:
        name: stands in decisions, such as ``gopher_quality.min_words``.
        signal: the signal's name.
        side: which side is dropped.
        threshold: in the signal's unit (whole numbers, or millionths of a ratio); None
            where the rule holds for no document but those of `languages`.
        languages: thresholds for documents of a language (ISO 639-1 where it has one, else
            639-3); None where the rule does not hold for it.
    """

    name: str
    signal: str
    side: Side
    threshold: int | None
    languages: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A signal that is a word must be one of a few; an unknown word (null) is none of them.

    Attributes:
        name: stands in decisions, such as ``language.allowed``.
        signal: the signal's name.
        words: those that are kept.
    """

    name: str
    signal: str
    words: tuple[str, ...]


AnyRule = Rule | OneOf
