"""Findings: what an audit says of things that are not as recorded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        what: a sentence without text, tokens or keys.
        where: in the ledger ``entry 12``, ``node 3/4`` (level, index), ``tree head 10`` (its
            size), ``principal ID`` or ``ledger``; elsewhere the object and its tier.
    """

    what: str
    where: str
