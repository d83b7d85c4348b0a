"""Which documents survive: first one occurrence a document, then one document a content.

Who survives depends on names and contents alone, never on the order of files, on where
the partitions were cut, or on the id key: what is published stays, so that the parent
version is disturbed least; else the smallest content key or shuffle key wins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lineage.errors import IntegrityError
from pipelines.dedup.columns import Documents, Published
from pipelines.dedup.order import Ints, Mask, in_crowds, leaders, ranks, same_ids


@dataclass(frozen=True, slots=True)
class Link:
    """How the input hangs together with the parent version.

    Attributes:
        document: a dense number a row, in the order of the document ids.
        published: the row of `Published` with the same document id, or -1.
        same_raw: it was published with the same raw text.
        same: with the same cleaned text too: nothing is to be written for it.
        of_published: the dense number of each published document.
    """

    document: Ints
    published: Ints
    same_raw: Mask
    same: Mask
    of_published: Ints


@dataclass(frozen=True, slots=True)
class Fates:
    """What dedup says of each row. A row that a rule of cleaning dropped is in none of these.

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
    survivor: Ints
    similarity: Ints

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


def link(documents: Documents, published: Published) -> Link:
    """Finds each row's document in the parent version.

    Raises:
        IntegrityError: a document is alive twice in the parent version.
    """
    numbers = ranks(np.concatenate([documents.document_id, published.document_id]))
    document, of_published = numbers[: len(documents)], numbers[len(documents) :]
    if len(np.unique(of_published)) < len(of_published):
        raise IntegrityError("a document is alive twice in the parent version")
    where = np.full(len(numbers), -1, np.int64)
    where[of_published] = np.arange(len(published))
    at = where[document]
    rows = np.flatnonzero(at >= 0)
    same_raw, same = np.zeros((2, len(documents)), np.bool_)
    raw, content = published.raw_content_id, published.content_id
    same_raw[rows] = same_ids(documents.raw_content_id[rows], raw[at[rows]])
    same[rows] = same_raw[rows] & same_ids(documents.content_id[rows], content[at[rows]])
    return Link(document, at, same_raw, same, of_published)


def survivors(documents: Documents, linked: Link) -> Fates:
    """Decides between occurrences of one document, then between documents of one content."""
    booked = documents.rule < 0
    reused = np.zeros(len(documents), np.bool_)
    survivor = np.full(len(documents), -1, np.int64)
    _choose_occurrences(documents, linked, booked, reused, survivor)
    survives = booked.copy()
    _choose_documents(documents, linked, survives, survivor)
    return Fates(booked, survives, reused, survivor, np.full(len(documents), -1, np.int64))


def _choose_occurrences(
    documents: Documents, linked: Link, booked: Mask, reused: Mask, survivor: Ints
) -> None:
    kept = np.flatnonzero(booked)
    rows = kept[in_crowds(linked.document[kept])]
    content = ranks(documents.content_key[rows])
    document = linked.document[rows]
    # Rows are sorted by place, and lexsort is stable: the first occurrence goes first.
    order = np.lexsort((content, ~linked.same_raw[rows], document))
    first = order[leaders(document[order])]
    others, others_first = rows[order], rows[first]
    equal = content[order] == content[first]
    later = others != others_first
    booked[others] = ~later
    survivor[others[later & equal]] = others_first[later & equal]
    reused[others[~equal]] = True


def _choose_documents(documents: Documents, linked: Link, survives: Mask, survivor: Ints) -> None:
    booked = np.flatnonzero(survives)
    content = ranks(documents.content_id[booked])
    crowded = in_crowds(content)
    rows, content = booked[crowded], content[crowded]
    key = ranks(documents.shuffle_key[rows])
    order = np.lexsort((key, ~linked.same[rows], content))
    first = rows[order[leaders(content[order])]]
    later = rows[order] != first
    survives[rows[order[later]]] = False
    survivor[rows[order[later]]] = first[later]
