"""What every benchmark prints: one JSON line a figure, medians, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing.

    Attributes:
        name: dotted, such as ``prep.build``.
        values: ours, one a run.
        unit: of both sides, such as ``MB/s`` (MB are 10^6 bytes).
        peer: who was measured beside us in the same run, or empty.
        peer_values: the peer's, one a run.
        about: sizes, dtypes and workers that the figure holds for.
    """

    name: str
    values: Sequence[float]
    unit: str
    peer: str = ""
    peer_values: Sequence[float] = ()
    about: dict[str, object] = field(default_factory=dict)

    def line(self) -> str:
        """The figure as one line of JSON; `ratio` is ours over the peer's."""
        value = median(self.values)
        peer_value = median(self.peer_values) if self.peer_values else None
        return json.dumps(
            {
                "figure": self.name,
                "value": round(value, 3),
                "unit": self.unit,
                "peer": self.peer or None,
                "peer_value": None if peer_value is None else round(peer_value, 3),
                "ratio": round(value / peer_value, 2) if peer_value else None,
                "runs": len(self.values),
                **self.about,
            }
        )
