"""The limits of a spec: how much may be unreadable, and thresholds on any signal."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lineage.fields import Fields

_SIGNAL = re.compile(r"[a-z0-9][a-z0-9_]{0,95}\Z")
_MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class QuarantineLimit:
    """How many records of a build may be unreadable; None for no limit.

    Attributes:
        records: a number of records.
        share: of all records, in millionths.
    """

    records: int | None = None
    share: int | None = None


NO_LIMIT = QuarantineLimit()


@dataclass(frozen=True, slots=True)
class LimitSpec:
    """A threshold on one signal, in its own unit: whole numbers, or millionths of a share."""

    signal: str
    min: int | None
    max: int | None


def quarantine_limit(fields: Fields) -> QuarantineLimit:
    """Reads ``max_quarantined``: an integer is a number of records, else it is a share.

    Raises:
        ConfigError: another type, or out of range.
    """
    if "max_quarantined" not in fields:
        return NO_LIMIT
    if isinstance(fields.value("max_quarantined"), float):
        return QuarantineLimit(share=fields.millionths("max_quarantined", 0, 1))
    return QuarantineLimit(records=fields.integer("max_quarantined", 0, _MOST))


def limit_spec(table: object, where: str) -> LimitSpec:
    """Reads one table ``[[limits]]``.

    Raises:
        ConfigError: an unknown key, a wrong type, or neither min nor max.
    """
    fields = Fields(table, where, LimitSpec.__slots__)
    signal = fields.text("signal")
    if not _SIGNAL.match(signal):
        fields.refuse("signal", f"{signal!r} is no name of a signal")
    if "min" not in fields and "max" not in fields:
        fields.refuse("signal", "neither min nor max", "set one of them")
    low, high = (
        fields.integer(key, -_MOST, _MOST) if key in fields else None for key in ("min", "max")
    )
    return LimitSpec(signal, low, high)
