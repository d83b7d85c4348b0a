"""Resolving: what the whole current input means for the version that was published before.

Each document of the input either survives or makes way for another one; survivors that
are not published are new, and published documents that do not survive are removed. The
answer is the same for any order of rows, files and partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lineage.errors import IntegrityError
from lineage.tables import binary_matrix
from pipelines.books import Books, Count, StageBook
from pipelines.decisions import EXACT_DUPLICATE, NEAR_DUPLICATE, RECORD_ID_REUSED
from pipelines.dedup.clusters import largest_cluster
from pipelines.dedup.documents import Documents, Published, survey
from pipelines.dedup.order import Ints, Mask, ranks, sorted_ids
from pipelines.dedup.removals import Removals, removals
from pipelines.dedup.rows import Rows, gathered
from pipelines.dedup.survivors import Fates, survivors
from pipelines.dedup.verdicts import DECIDED, Verdicts, due
from pipelines.schema import ID

# One row a document that goes into the next segment, in the order of the shuffle keys.
NEW = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),  # of the partition's DOCUMENTS
        pa.field("source", pa.int32(), nullable=False),
        pa.field("shuffle_key", ID, nullable=False),
        pa.field("document_id", ID, nullable=False),
        pa.field("raw_content_id", ID, nullable=False),
        pa.field("content_id", ID, nullable=False),
    ]
)

# One row a published document that becomes a hole, by (segment, shard, span).
REMOVALS = pa.schema(
    [
        pa.field("document_id", ID, nullable=False),
        pa.field("segment", pa.int32(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("span", pa.int64(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is to be done, and what is to be said about it.

    Attributes:
        new: which documents of the input go into the next segment.
        num_new: how many.
        num_decisions: that are due.
        removed: REMOVALS.
        books: the stages clean and dedup over the whole current input; tokenizing adds its own.
        published_tokens: of the documents that stay as they are published.
        tokens: of each new document by place, the end token included; None before tokenizing.
    """

    new: Mask
    num_new: int
    num_decisions: int
    removed: pa.Table
    books: Books
    published_tokens: int
    tokens: Ints | None
    _due: Mask
    _verdicts: Verdicts

    def with_tokens(self, tokens: Ints) -> Resolution:
        """The same after tokenizing.

        Args:
            tokens: of each new document, by place in the input, the end token included.

        Raises:
            IntegrityError: of more or fewer documents than are new.
        """
        if len(tokens) != self.num_new:
            raise IntegrityError(f"{len(tokens)} of {self.num_new} new documents were tokenized")
        total = self.published_tokens + int(tokens.sum(dtype=np.int64))
        kept = self.books.stage("dedup").kept
        tokenize = StageBook("tokenize", kept, kept + Count(tokens=total))
        return replace(self, tokens=tokens, books=self.books.add(Books((tokenize,))))

    def new_documents(self) -> Iterator[pa.Table]:
        """The documents that are new, as NEW, by place."""
        for _, piece in self._verdicts.documents.rows.read(NEW.names, self.new):
            yield piece.select(NEW.names).cast(NEW)

    def decisions(self, columns: Sequence[str] = ()) -> Iterator[tuple[pa.Table, pa.Table | None]]:
        """Decisions as DECISIONS: on the input by place, then on published ones that leave.

        Put into `pipelines.dedup.verdicts.decision_order` they are those of a version.

        Args:
            columns: read besides; they come with the decisions on the input.

        Raises:
            IntegrityError: nothing was tokenized yet.
        """
        if self.tokens is None:
            raise IntegrityError("decisions before the new documents were tokenized")
        told = 0
        names = dict.fromkeys([*DECIDED, *columns])
        for rows, piece in self._verdicts.documents.rows.read(list(names), self._due):
            new = int(self.new[rows].sum())
            decided = self._verdicts.on_rows(rows, piece, self.tokens[told : told + new])
            told += new
            yield decided, piece.select(list(columns))
        for decided in self._verdicts.on_removals():
            yield decided, None


@dataclass(frozen=True, slots=True)
class Contest:
    """The documents among which near duplicates are looked for.

    Attributes:
        rows: of the input, ascending: the survivors of the exact duplicates.
    """

    rows: Ints
    _documents: Documents

    @property
    def num_documents(self) -> int:
        """Of the whole input."""
        return len(self._documents)

    def standing(self, places: Ints) -> tuple[Ints, pa.Table]:
        """How some contestants stand to each other, and where they lie.

        Args:
            places: in `rows`, ascending.

        Returns:
            The rank of each, 0 for the one that stands before all others: published ones
            first, then the longer copy, then the smaller shuffle key; and the columns
            ``partition``, ``row``, ``num_chars`` and ``shuffle_key``.
        """
        rows = self.rows[places]
        names = ["partition", "row", "num_chars", "shuffle_key"]
        table = gathered(self._documents.rows, rows, names)
        key = ranks(binary_matrix(table["shuffle_key"]))
        length = table["num_chars"].to_numpy()
        order = np.lexsort((key, -length, ~self._documents.same[rows]))
        rank = np.empty(len(rows), np.int64)
        rank[order] = np.arange(len(rows))
        return rank, table


class Resolving:
    """Resolves the input against the parent version, in two goes.

    What a rule of cleaning dropped takes no part. Of several rows of one document, those
    of one content are one; another content under the same record id is quarantined, and
    the published one stays, else the one with the smallest content key. Of several
    documents with one cleaned text the published one stays, else the one with the
    smallest shuffle key. Then near duplicates, which the caller finds, make way.

    The input is read in pieces, several times; ids are in memory only of documents that
    share one. Nothing is written: content keys, being unkeyed hashes, must not lie in clear.
    Memory: 60 bytes a document at the peak and 25 afterwards, 80 a published one, and 150
    more for each that shares its document id or its content (ADR 0004).

    Args:
        documents: every document of the whole current input, by (partition, row), with the
            columns of INPUT in pipelines/dedup/columns.py.
        published: the documents alive in the parent version, with the columns of PUBLISHED;
            no rows for a first version.

    Raises:
        IntegrityError: a document is alive twice in the parent version.
    """

    def __init__(self, documents: Rows, published: Rows) -> None:
        self._alive = Published(published)
        self._documents, keys = survey(documents, self._alive)
        self._fates = survivors(self._documents, keys)
        self._threshold = 0

    def contest(self) -> Contest:
        """Who takes part in the search for near duplicates."""
        return Contest(self.kept(), self._documents)

    def kept(self) -> Ints:
        """Rows of the input, ascending, that are kept as far as is known now."""
        return np.flatnonzero(self._fates.survives)

    def make_way(self, rows: Ints, for_rows: Ints, similarity: Ints, threshold: int) -> None:
        """Takes near duplicates: `Fates.make_way`; the threshold is in millionths."""
        self._fates.make_way(rows, for_rows, similarity)
        self._threshold = threshold

    def near_by_source(self) -> tuple[Ints, Ints]:
        """Documents of each source ordinal that contested, and that made way as near ones."""
        source, near = self._documents.source, self._fates.similarity >= 0
        contested = np.bincount(source[self._fates.survives | near])
        return contested, np.bincount(source[near], minlength=len(contested))

    def largest_cluster(self) -> tuple[int, int]:
        """As `pipelines.dedup.clusters.largest_cluster`."""
        return largest_cluster(self._fates.survivor)

    def result(self, fresh_partitions: Collection[int]) -> Resolution:
        """Says what is to be done.

        A decision stands for every document of a fresh partition, for every other one
        whose outcome changed, and for each removed one.

        Args:
            fresh_partitions: partitions whose build key the parent version did not have.
        """
        documents, alive, fates = self._documents, self._alive, self._fates
        lost = removals(documents, alive, fates)
        chosen = due(documents, fates, lost, documents.in_partitions(fresh_partitions))
        stays = documents.published[fates.survives & documents.same]
        new = fates.survives & ~documents.same
        return Resolution(
            new,
            int(new.sum()),
            int(chosen.sum()) + len(lost.published),
            _removed(alive, lost),
            Books((documents.clean, _dedup_book(documents, fates))),
            int(alive.num_tokens[stays].sum(dtype=np.int64)),
            None,
            chosen,
            Verdicts.of(documents, alive, fates, lost, self._threshold, chosen),
        )


def new_order(new: pa.Table) -> Ints:
    """The order of new documents: by shuffle key.

    Raises:
        IntegrityError: two documents have one.
    """
    order, steps = sorted_ids(binary_matrix(new["shuffle_key"]))
    if not steps.all():
        raise IntegrityError("two documents of different ids have one shuffle key")
    return order


def _removed(published: Published, lost: Removals) -> pa.Table:
    names = [name for name in REMOVALS.names if name != "rule"]
    pieces = [piece for _, piece in published.rows.read(names, lost.mask(published))]
    if not pieces:
        return REMOVALS.empty_table()
    table = pa.concat_tables(pieces).append_column("rule", lost.rule).cast(REMOVALS)
    return table.sort_by([(name, "ascending") for name in ("segment", "shard", "span")])


def _dedup_book(documents: Documents, fates: Fates) -> StageBook:
    near = fates.similarity >= 0
    return StageBook(
        "dedup",
        _count(documents, documents.passed),
        _count(documents, fates.survives),
        {
            EXACT_DUPLICATE: _count(documents, (fates.survivor >= 0) & ~near),
            NEAR_DUPLICATE: _count(documents, near),
        },
        {RECORD_ID_REUSED: _count(documents, fates.reused)},
    )


def _count(documents: Documents, rows: Mask) -> Count:
    return Count(int(rows.sum()), int(documents.num_bytes[rows].sum(dtype=np.int64)))
