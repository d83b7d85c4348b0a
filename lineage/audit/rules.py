"""The rules of a version, read from its manifest: what each one keeps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage.errors import IntegrityError

_SAID = re.compile(r"(?P<signal>[^ ]+) (?P<side>>=|<=|in) (?P<limit>.*)\Z")
_OF_LANGUAGE = re.compile(r"(?P<rule>.+)\[(?P<language>[^]]+)\]\Z")
_RULES = "rules"
_LANGUAGE = "language"


# Signals in millionths are told by their names; the others are whole numbers.
_IN_MILLIONTHS = ("_share", "_coverage", "mean_word_length")


def scale_of(signal: str) -> int:
    """What one of a signal is worth: 1,000,000 for those in millionths, else 1."""
    return 1_000_000 if signal.endswith(_IN_MILLIONTHS) else 1


def shown(signal: str, value: object) -> str:
    """A signal's value for people: 66666 millionths as 0.066666, 3012 as 3,012."""
    if not isinstance(value, int):
        return str(value)
    return f"{value / scale_of(signal):.6g}" if scale_of(signal) > 1 else f"{value:,}"


@dataclass(frozen=True, slots=True)
class Keeps:
    """What a rule keeps: a signal at least or at most a number, or one of some words.

    Attributes:
        side: ``>=``, ``<=`` or ``in``.
        limit: a number, or words.
    """

    signal: str
    side: str
    limit: int | tuple[str, ...]

    def holds(self, value: object) -> bool:
        """Whether a value is kept; null is below every number and no word."""
        if isinstance(self.limit, tuple):
            return value in self.limit
        number = value if isinstance(value, int) else 0
        return number >= self.limit if self.side == ">=" else number <= self.limit


@dataclass(frozen=True, slots=True)
class VersionRule:
    """One rule of a version.

    Attributes:
        keeps: what it keeps of documents without a rule of their language, or None where
            it does not hold for them.
        languages: the same by language.
    """

    name: str
    keeps: Keeps | None
    languages: Mapping[str, Keeps | None] = field(default_factory=dict)

    def judged(self, signals: Mapping[str, Any]) -> dict[str, Any] | None:
        """Rule, value, threshold and outcome for one document; None where it does not hold."""
        keeps = self.languages.get(signals.get(_LANGUAGE) or "", self.keeps)
        if keeps is None or keeps.signal not in signals:
            return None
        value = signals[keeps.signal]
        limit = list(keeps.limit) if isinstance(keeps.limit, tuple) else keeps.limit
        return {
            "rule": self.name,
            "signal": keeps.signal,
            "value": value,
            "keeps": keeps.side,
            "threshold": limit,
            "passes": keeps.holds(value),
        }


def rules_of(transforms: Sequence[Mapping[str, Any]]) -> list[VersionRule]:
    """The rules of a version in the order of their names.

    Args:
        transforms: those of its content manifest.

    Raises:
        IntegrityError: a rule that cannot be read.
    """
    said: dict[str, Any] = {}
    for transform in transforms:
        if transform["name"] == _RULES:
            said.update(transform["parameters"])
    usual: dict[str, Keeps | None] = {}
    languages: dict[str, dict[str, Keeps | None]] = {}
    for name, text in said.items():
        match = _OF_LANGUAGE.match(name)
        if match:
            languages.setdefault(match["rule"], {})[match["language"]] = _keeps(text)
        else:
            usual[name] = _keeps(text)
    return [VersionRule(name, keeps, languages.get(name, {})) for name, keeps in usual.items()]


def _keeps(text: object) -> Keeps | None:
    if text is None:
        return None
    match = _SAID.match(text) if isinstance(text, str) else None
    if match is None:
        raise IntegrityError("a rule of the manifest cannot be read")
    if match["side"] == "in":
        return Keeps(match["signal"], "in", tuple(match["limit"].split()))
    try:
        return Keeps(match["signal"], match["side"], int(match["limit"]))
    except ValueError:
        raise IntegrityError("a rule of the manifest has no number") from None
