"""Answers: what was asked, what is so, and how far the answer reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage.keys.gate import MODE


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of an audit.

    Attributes:
        question: what was asked, in a few words.
        facts: JSON values; integers, strings, lists and mappings.
        tree_size: entries of the ledger that the answer takes in: all there were.
        complete: whether everything recorded up to there was looked at.
        mode: ``self-attested`` (who holds the folder and its key could have gone round
            the gate) or ``brokered``.
    """

    question: str
    facts: Mapping[str, Any]
    tree_size: int
    complete: bool = True
    mode: str = MODE

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return {
            "question": self.question,
            "answer": dict(self.facts),
            "tree_size": self.tree_size,
            "complete": self.complete,
            "mode": self.mode,
        }
