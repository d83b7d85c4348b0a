"""Which documents survive: first one occurrence a document, then one document a content.

Who survives depends on names and contents alone, never on the order of files, on where
the partitions were cut, or on the id key: what is published stays, so that the parent
version is disturbed least; else the smallest content key or shuffle key wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lineage.errors import IntegrityError
from lineage.tables import binary_matrix
from pipelines.dedup.documents import Documents, Leading
from pipelines.dedup.order import Ids, Ints, Mask, in_crowds, leaders, ranks, row_type, sharing
from pipelines.dedup.rows import gathered

Rowed = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Fates:
    """What dedup says of each row: about 11 bytes. What a rule of cleaning dropped is in none.

    Attributes:
        booked: the row stands for its document.
        survives: it is booked, and no other document with the same content goes before it.
        reused: its record id was used for other content, which stands for the document.
        survivor: the row that stands for this one if it is a duplicate, else -1.
        similarity: to that row in millionths if it is a near duplicate, else -1.
    """

    booked: Mask
    survives: Mask
    reused: Mask
    survivor: Rowed
    similarity: npt.NDArray[np.int32]

    def make_way(self, rows: Ints, survivors: Ints, similarity: Ints) -> None:
        """Notes near duplicates.

        Args:
            rows: survivors so far, which make way.
            survivors: for each the row that stands for it, which survives itself.

        Raises:
            IntegrityError: a row makes way that does not survive, or for one that does not.
        """
        if not self.survives[rows].all():
            raise IntegrityError("a near duplicate did not survive the exact ones")
        self.survives[rows] = False
        if not self.survives[survivors].all():
            raise IntegrityError("a near duplicate makes way for a document that is not kept")
        self.survivor[rows] = survivors
        self.similarity[rows] = similarity


def survivors(documents: Documents, keys: Leading) -> Fates:
    """Decides between occurrences of one document, then between documents of one content."""
    size = len(documents)
    booked, reused = documents.passed.copy(), np.zeros(size, np.bool_)
    survivor = np.full(size, -1, row_type(size))
    _choose_occurrences(documents, keys, booked, reused, survivor)
    survives = booked.copy()
    _choose_documents(documents, keys, survives, survivor)
    return Fates(booked, survives, reused, survivor, np.full(size, -1, np.int32))


def _choose_occurrences(
    documents: Documents, keys: Leading, booked: Mask, reused: Mask, survivor: Rowed
) -> None:
    rows, document, key = _crowded(documents, keys.document, booked, "document_id", "content_key")
    content = ranks(key)
    # Rows are sorted by place, and lexsort is stable: the first occurrence goes first.
    order = np.lexsort((content, ~documents.same_raw[rows], document))
    first = order[leaders(document[order])]
    others, others_first = rows[order], rows[first]
    equal = content[order] == content[first]
    later = others != others_first
    booked[others] = ~later
    survivor[others[later & equal]] = others_first[later & equal]
    reused[others[~equal]] = True


def _choose_documents(documents: Documents, keys: Leading, survives: Mask, survivor: Rowed) -> None:
    rows, content, key = _crowded(documents, keys.content, survives, "content_id", "shuffle_key")
    order = np.lexsort((ranks(key), ~documents.same[rows], content))
    first = rows[order[leaders(content[order])]]
    later = rows[order] != first
    survives[rows[order[later]]] = False
    survivor[rows[order[later]]] = first[later]


def _crowded(
    documents: Documents, keys: npt.NDArray[np.uint64], among: Mask, by: str, then: str
) -> tuple[Ints, Ints, Ids]:
    """The rows that share an id with another row, a number of that id, and another id of each.

    Memory: about 150 bytes for each row that may share one.
    """
    rows = sharing(keys, among)
    table = gathered(documents.rows, rows, [by, then])
    group = ranks(binary_matrix(table[by]))
    crowded = in_crowds(group)
    return rows[crowded], group[crowded], binary_matrix(table[then])[crowded]
