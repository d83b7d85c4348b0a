"""The cleaning of a dataset: its acts in order, and the rules that decide on their signals."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lineage.errors import ConfigError
from pipelines.clean.act import Act
from pipelines.clean.nfc import Nfc
from pipelines.rules.rule import AnyRule, Rule, Side
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.measured import Measured
from pipelines.spec.dataset import CleanSpec, DatasetSpec
from pipelines.spec.limits import LimitSpec

# Signals that every document has, whatever the spec.
_ALWAYS = ("num_chars", "num_bytes")


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
        published = [rule for rules in spec.rules for rule in rules.rules()]
        rules = (*_length_rules(spec.clean), *published, *_limit_rules(spec.limits))
        acts: list[Act] = [Nfc()] if spec.clean.normalize == "NFC" else []
        wanted = SIGNALS.keys() & {rule.signal for rule in rules}
        near = spec.duplicates if spec.duplicates.near else None
        if wanted or near:
            acts.append(Measured(wanted, near))
        _require_measured(acts, rules)
        return cls(tuple(acts), rules)


def _require_measured(acts: Sequence[Act], rules: Sequence[AnyRule]) -> None:
    known = [*_ALWAYS, *SIGNALS, *(column.name for act in acts for column in act.columns)]
    for rule in rules:
        if rule.signal not in known:
            near = difflib.get_close_matches(rule.signal, known, n=1, cutoff=0.0)
            raise ConfigError(
                f"the rule {rule.name} stands on {rule.signal!r}, which nothing measures",
                f"the nearest signal that is measured is {near[0]!r}",
            )


def _limit_rules(limits: Sequence[LimitSpec]) -> Iterator[Rule]:
    for limit in limits:
        for side, threshold in ((Side.MIN, limit.min), (Side.MAX, limit.max)):
            if threshold is not None:
                yield Rule(f"limits.{limit.signal}.{side}", limit.signal, side, threshold)


def _length_rules(spec: CleanSpec) -> tuple[Rule, ...]:
    low = Rule("min_chars", "num_chars", Side.MIN, spec.min_chars)
    if spec.max_chars is None:
        return (low,)
    return (low, Rule("max_chars", "num_chars", Side.MAX, spec.max_chars))
