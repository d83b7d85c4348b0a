"""Which published documents leave, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipelines.decisions import CHANGED, EXACT_DUPLICATE, NEAR_DUPLICATE, REMOVED
from pipelines.dedup.columns import column_of_words, words_of
from pipelines.dedup.documents import Documents, Published
from pipelines.dedup.order import Ints, Mask
from pipelines.dedup.rows import gathered
from pipelines.dedup.survivors import Fates

# What is no rule of cleaning; those come behind.
_OWN = (REMOVED, CHANGED, EXACT_DUPLICATE, NEAR_DUPLICATE)
_GONE, _CHANGED, _DUPLICATE, _NEAR = range(4)


@dataclass(frozen=True, slots=True)
class Removals:
    """The published documents that are not survivors now.

    Attributes:
        published: their rows in `Published`, ascending.
        row: the row of the input that holds the published text, or -1.
        rule: the reason in a word.
        survivor: the row that stands for a duplicate, else -1.
    """

    published: Ints
    row: Ints
    rule: pa.Array
    survivor: Ints

    def mask(self, published: Published) -> Mask:
        """Which rows of `Published` they are."""
        leaves = np.zeros(len(published), np.bool_)
        leaves[self.published] = True
        return leaves


def removals(documents: Documents, published: Published, fates: Fates) -> Removals:
    """Finds them, and the reason of each.

    A document whose text is nowhere in the input is gone; one whose id now has another
    text, or whose text is now cleaned otherwise, is changed; else the rule that drops it
    now is the reason.
    """
    stays, present = np.zeros((2, len(published)), np.bool_)
    stays[documents.published[fates.survives & documents.same]] = True
    present[documents.published[documents.published >= 0]] = True
    lost = np.flatnonzero(~stays)
    row = _rows_of_text(documents, len(published), fates)[lost]
    reason = np.where(present[lost], _CHANGED, _GONE).astype(np.int32)
    survivor = np.full(len(lost), -1, np.int64)

    found = np.flatnonzero(row >= 0)
    at = row[found]
    duplicate = fates.booked[at] & ~fates.survives[at]
    near = fates.similarity[at[duplicate]] >= 0
    reason[found[duplicate]] = np.where(near, _NEAR, _DUPLICATE)
    survivor[found[duplicate]] = fates.survivor[at[duplicate]]
    ruled = found[~fates.booked[at]]
    words, reason[ruled] = _rules(documents, row[ruled])
    return Removals(lost, row, column_of_words(words, reason), survivor)


def _rules(documents: Documents, rows: Ints) -> tuple[pa.Array, Ints]:
    """All reasons in words, and the number of the rule that drops each of some rows."""
    by_row = np.argsort(rows)
    words, numbers = words_of(gathered(documents.rows, rows[by_row], ["rule"])["rule"])
    reasons = np.empty(len(rows), np.int64)
    reasons[by_row] = len(_OWN) + numbers
    return pa.concat_arrays([pa.array(_OWN, pa.string()), words.cast(pa.string())]), reasons


def _rows_of_text(documents: Documents, num_published: int, fates: Fates) -> Ints:
    """For each published document the row that holds its raw text, or -1.

    The booked row where there is one. Else all of them were dropped by cleaning, since a
    published text is never quarantined for another one; then the first stands for them.
    """
    found = np.full(num_published, -1, np.int64)
    for rows in (
        np.flatnonzero(documents.same_raw & ~documents.passed)[::-1],
        np.flatnonzero(documents.same_raw & fates.booked),
    ):
        # Of several rows of one document the last assignment stays: the first row.
        found[documents.published[rows]] = rows
    return found
