"""The cleaning of a dataset: its acts in order, and the rules that decide on their signals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.clean.act import Act
from pipelines.clean.nfc import Nfc
from pipelines.rules.rule import AnyRule, Rule, Side
from pipelines.spec.dataset import CleanSpec, DatasetSpec


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What is done to every document of a dataset before duplicates are looked for.

    Attributes:
        acts: in the order in which they are applied.
        rules: in the order in which they are asked.
    """

    acts: tuple[Act, ...]
    rules: tuple[AnyRule, ...]

    @classmethod
    def of(cls, spec: DatasetSpec, root: Path) -> Cleaning:
        """Builds the acts of a spec.

        Args:
            root: the workspace's root, below which lists and models lie.

        Raises:
            NotFound, ConfigError: a file that the spec names is missing or wrong.
        """
        acts: tuple[Act, ...] = (Nfc(),) if spec.clean.normalize == "NFC" else ()
        return cls(acts, _length_rules(spec.clean))


def _length_rules(spec: CleanSpec) -> tuple[Rule, ...]:
    low = Rule("min_chars", "num_chars", Side.MIN, spec.min_chars)
    if spec.max_chars is None:
        return (low,)
    return (low, Rule("max_chars", "num_chars", Side.MAX, spec.max_chars))
