"""Which published documents leave, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipelines.dedup.columns import Documents, Published
from pipelines.dedup.order import Ints
from pipelines.dedup.survivors import Fates, Link

# Reasons that are no rule of cleaning; those are numbered from 0.
GONE, OTHER_CONTENT, DUPLICATE, NEAR = -2, -3, -4, -5


@dataclass(frozen=True, slots=True)
class Removals:
    """The published documents that are not survivors now.

    Attributes:
        published: their rows in `Published`.
        row: the row of the input that holds the published text, or -1.
        reason: a word of `Documents.rules`, or one of the four reasons above.
        survivor: the row that stands for a duplicate, else -1.
    """

    published: Ints
    row: Ints
    reason: Ints
    survivor: Ints


def removals(documents: Documents, published: Published, linked: Link, fates: Fates) -> Removals:
    """Finds them, and the reason of each.

    A document whose text is nowhere in the input is gone; one whose id now has another
    text, or whose text is now cleaned otherwise, is changed; else the rule that drops it
    now is the reason.
    """
    stays = np.zeros(len(published), np.bool_)
    stays[linked.published[fates.survives & linked.same]] = True
    lost = np.flatnonzero(~stays)
    row = _rows_of_text(documents, len(published), linked, fates)[lost]
    present = np.bincount(linked.document, minlength=linked.of_published.max(initial=0) + 1) > 0
    reason = np.where(present[linked.of_published[lost]], OTHER_CONTENT, GONE)
    survivor = np.full(len(lost), -1, np.int64)

    found = np.flatnonzero(row >= 0)
    at = row[found]
    duplicate = fates.booked[at] & ~fates.survives[at]
    ruled = ~fates.booked[at]
    near = fates.similarity[at[duplicate]] >= 0
    reason[found[duplicate]] = np.where(near, NEAR, DUPLICATE)
    survivor[found[duplicate]] = fates.survivor[at[duplicate]]
    reason[found[ruled]] = documents.rule[at[ruled]]
    return Removals(lost, row, reason, survivor)


def _rows_of_text(documents: Documents, num_published: int, linked: Link, fates: Fates) -> Ints:
    """For each published document the row that holds its raw text, or -1.

    The booked row where there is one. Else all of them were dropped by cleaning, since a
    published text is never quarantined for another one; then the first stands for them.
    """
    found = np.full(num_published, -1, np.int64)
    for rows in (
        np.flatnonzero(linked.same_raw & (documents.rule >= 0))[::-1],
        np.flatnonzero(linked.same_raw & fates.booked),
    ):
        # Of several rows of one document the last assignment stays: the first row.
        found[linked.published[rows]] = rows
    return found
