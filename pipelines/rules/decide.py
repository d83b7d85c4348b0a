"""Deciding: the first rule that a document fails drops it.

Only integers and words are compared, so the verdict follows from the value and the
threshold that stand in the decision, and is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lineage.errors import IntegrityError
from pipelines.probe import behaviour_of
from pipelines.rules.rule import AnyRule, OneOf, Rule, Side
from pipelines.transform import Transform

LANGUAGE = "language"
NAME = "rules"
_REVISION = 1
_NO_LIMIT = {Side.MIN: np.iinfo(np.int64).min, Side.MAX: np.iinfo(np.int64).max}


@dataclass(frozen=True, slots=True)
class Judged:
    """What rules say of documents.

    Attributes:
        rule: number of the first rule that fails, or -1.
        value, threshold: of that rule, 0 where there is none or it compares words.
        compares: whether the rule compares integers.
    """

    rule: NDArray[np.int32]
    value: NDArray[np.int64]
    threshold: NDArray[np.int64]
    compares: NDArray[np.bool_]

    def columns(self, rules: Sequence[AnyRule]) -> dict[str, pa.Array]:
        """As the columns `rule`, `value` and `threshold` of decisions."""
        names = pa.array([rule.name for rule in rules], pa.string())
        return {
            "rule": names.take(pa.array(self.rule, mask=self.rule < 0)),
            "value": pa.array(self.value, mask=~self.compares),
            "threshold": pa.array(self.threshold, mask=~self.compares),
        }


def decide(signals: pa.Table, rules: Sequence[AnyRule]) -> Judged:
    """Judges each row.

    Args:
        signals: a column for each signal that a rule names; ``language`` where a rule
            has thresholds by language.

    Raises:
        IntegrityError: a signal is missing.
    """
    rows = signals.num_rows
    judged = Judged(
        np.full(rows, -1, np.int32),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.bool_),
    )
    for number, rule in enumerate(rules):
        _require(signals, rule.signal)
        fails, values, limits = fails_of(signals, rule)
        first = fails & (judged.rule < 0)
        judged.rule[first] = number
        if isinstance(rule, Rule):
            judged.value[first] = values[first]
            judged.threshold[first] = limits[first]
            judged.compares[first] = True
    return judged


def signals_read(rules: Sequence[AnyRule]) -> list[str]:
    """The signals that some rules look at."""
    by_language = any(isinstance(rule, Rule) and rule.languages for rule in rules)
    return list(dict.fromkeys([rule.signal for rule in rules] + [LANGUAGE] * by_language))


def fails_of(
    signals: pa.Table, rule: AnyRule
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Which rows fail one rule, with values and thresholds; zeros where words are compared."""
    if isinstance(rule, OneOf):
        known = pc.is_in(signals[rule.signal], pa.array(rule.words, pa.string()))
        fails = ~np.asarray(pc.fill_null(known, False))
        return fails, np.zeros(len(fails), np.int64), np.zeros(len(fails), np.int64)
    values = np.asarray(signals[rule.signal], dtype=np.int64)
    limits = limits_of(signals, rule)
    return (values < limits if rule.side is Side.MIN else values > limits), values, limits


def limits_of(signals: pa.Table, rule: Rule) -> NDArray[np.int64]:
    """The threshold of each row; the far end of the range where the rule does not hold."""
    none = _NO_LIMIT[rule.side]
    usual = none if rule.threshold is None else rule.threshold
    if not rule.languages:
        return np.full(signals.num_rows, usual, np.int64)
    _require(signals, LANGUAGE)
    languages = list(rule.languages)
    own = [rule.languages[name] for name in languages]
    table = np.array([none if limit is None else limit for limit in own] + [usual], np.int64)
    which = pc.index_in(signals[LANGUAGE], pa.array(languages, pa.string()))
    limits: NDArray[np.int64] = table[np.asarray(pc.fill_null(which, len(languages)))]
    return limits


def rules_transform(rules: Sequence[AnyRule]) -> Transform:
    """What a build key knows of deciding: every threshold, and the verdicts around each.

    A parameter says what is kept: ``num_words >= 50``, ``hash_share <= 100000`` or
    ``language in en pt``; ``NAME[zh]`` says it for documents in Chinese, and null that
    the rule does not hold.
    """
    parameters: dict[str, str | int | None] = {}
    for rule in rules:
        if isinstance(rule, OneOf):
            parameters[rule.name] = f"{rule.signal} in {' '.join(rule.words)}"
            continue
        parameters[rule.name] = _said(rule, rule.threshold)
        for language, limit in rule.languages.items():
            parameters[f"{rule.name}[{language}]"] = _said(rule, limit)
    return Transform(NAME, _REVISION, parameters, behaviour_of(map(_behaviour, rules)))


def _said(rule: Rule, threshold: int | None) -> str | None:
    if threshold is None:
        return None
    return f"{rule.signal} {'>=' if rule.side is Side.MIN else '<='} {threshold}"


def _behaviour(rule: AnyRule) -> bytes:
    languages = [*rule.languages, "und"] if isinstance(rule, Rule) else [*rule.words, "?"]
    limits: Mapping[str, int | None] = rule.languages if isinstance(rule, Rule) else {}
    usual = rule.threshold if isinstance(rule, Rule) else None
    rows = [
        (language, max(min((limits.get(language, usual) or 0) + step, 2**62), -(2**62)))
        for language in languages
        for step in (-1, 0, 1)
    ]
    table = {LANGUAGE: pa.array([language for language, _ in rows], pa.string())}
    values = pa.array([value for _, value in rows], pa.int64())
    table[rule.signal] = table[LANGUAGE] if isinstance(rule, OneOf) else values
    fails, _, _ = fails_of(pa.table(table), rule)
    return rule.signal.encode() + bytes(fails)


def _require(signals: pa.Table, name: str) -> None:
    if name not in signals.column_names:
        raise IntegrityError(f"no signal {name} was measured", "build again")
