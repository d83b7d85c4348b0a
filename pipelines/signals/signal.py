"""A signal: one integer that is measured of a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MILLION = 1_000_000


class Unit(StrEnum):
    """What a signal's integer counts."""

    COUNT = "count"
    # A ratio as floor(1,000,000 * numerator / denominator), so that verdicts are integer
    # comparisons and equal everywhere; 0 where the denominator is 0.
    MILLIONTHS = "millionths"


@dataclass(frozen=True, slots=True)
class Signal:
    """One column of integers (int64), a value a document.

    Attributes:
        name: of the column, such as ``num_words`` or ``bullet_line_share``.
        unit: what the integer counts.
        what: one line for reports and documentation, without a full stop.
    """

    name: str
    unit: Unit
    what: str
