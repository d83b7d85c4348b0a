"""Resolving: what the whole current input means for the version that was published before.

Each document of the input either survives or makes way for another one; survivors that
are not published are new, and published documents that do not survive are removed. The
answer is the same for any order of rows, files and partitions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.errors import IntegrityError
from pipelines.books import Books, Count, StageBook, book_clean
from pipelines.decisions import (
    DECISIONS,
    EXACT_DUPLICATE,
    NEAR_DUPLICATE,
    RECORD_ID_REUSED,
    Verdict,
)
from pipelines.dedup.clusters import largest_cluster
from pipelines.dedup.columns import Documents, Published, column_of_words
from pipelines.dedup.order import Ints, Mask, ranks, sorted_ids
from pipelines.dedup.removals import Removals, removals
from pipelines.dedup.survivors import Fates, link, survivors
from pipelines.dedup.verdicts import Rules, Verdicts, Wording
from pipelines.schema import ID

_NUM_TOKENS = pa.field("num_tokens", pa.int64(), nullable=False)

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
        new: NEW; tokenizing adds ``num_tokens``.
        removed: REMOVALS.
        decisions: DECISIONS; tokenizing fills in the tokens of new documents.
        books: the stages clean and dedup over the whole current input; tokenizing adds its own.
        published_tokens: of the documents that stay as they are published.
    """

    new: pa.Table
    removed: pa.Table
    decisions: pa.Table
    books: Books
    published_tokens: int

    def with_tokens(self, num_tokens: Ints) -> Resolution:
        """The same after tokenizing.

        Args:
            num_tokens: of each row of `new`, the end token included.
        """
        new = self.new.append_column(_NUM_TOKENS, pa.array(num_tokens))
        total = self.published_tokens + int(num_tokens.sum())
        kept = self.books.stage("dedup").kept
        tokenize = StageBook("tokenize", kept, kept + Count(tokens=total))
        return replace(
            self,
            new=new,
            decisions=_filled(self.decisions, new),
            books=self.books.add(Books((tokenize,))),
        )


@dataclass(frozen=True, slots=True)
class Contest:
    """The documents among which near duplicates are looked for.

    Attributes:
        rows: of the input, ascending: the survivors of the exact duplicates.
        rank: of each, 0 for the one that stands before all others: published ones first,
            then the longer copy, then the smaller shuffle key. No two are equal.
    """

    rows: Ints
    rank: Ints


class Resolving:
    """Resolves the input against the parent version, in two goes.

    What a rule of cleaning dropped takes no part. Of several rows of one document, those
    of one content are one; another content under the same record id is quarantined, and
    the published one stays, else the one with the smallest content key. Of several
    documents with one cleaned text the published one stays, else the one with the
    smallest shuffle key. Then near duplicates, which the caller finds, make way.

    Everything is in memory and nothing goes to disk, where content keys, being unkeyed
    hashes, must not lie in clear. The peak is about 500 bytes a document and 200 a
    published one, the result included and the arguments not.

    Args:
        documents: every document of the whole current input, with the columns of INPUT
            in pipelines/dedup/columns.py.
        published: the documents alive in the parent version, with the columns of PUBLISHED;
            no rows for a first version.

    Raises:
        IntegrityError: a table is not of its schema, or a document is alive twice in the
            parent version.
    """

    def __init__(self, documents: pa.Table, published: pa.Table) -> None:
        self._rows, self._alive = Documents.of(documents), Published.of(published)
        self._linked = link(self._rows, self._alive)
        self._fates = survivors(self._rows, self._linked)
        self._threshold = 0

    def contest(self) -> Contest:
        """Who takes part in the search for near duplicates."""
        rows = self.kept()
        length = self._rows.table["num_chars"].to_numpy()[rows]
        key = ranks(self._rows.shuffle_key[rows])
        order = np.lexsort((key, -length, ~self._linked.same[rows]))
        rank = np.empty(len(rows), np.int64)
        rank[order] = np.arange(len(rows))
        return Contest(rows, rank)

    def kept(self) -> Ints:
        """Rows of the input, ascending, that are kept as far as is known now."""
        return np.flatnonzero(self._fates.survives)

    def make_way(self, rows: Ints, for_rows: Ints, similarity: Ints, threshold: int) -> None:
        """Takes near duplicates: `Fates.make_way`; the threshold is in millionths."""
        self._fates.make_way(rows, for_rows, similarity)
        self._threshold = threshold

    def near_by_source(self) -> tuple[Ints, Ints]:
        """Documents of each source ordinal that contested, and that made way as near ones."""
        source = self._rows.table["source"].to_numpy()
        near = self._fates.similarity >= 0
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

        Raises:
            IntegrityError: two documents have one shuffle key.
        """
        rows, alive, linked, fates = self._rows, self._alive, self._linked, self._fates
        lost = removals(rows, alive, linked, fates)
        rules = Rules.of(rows.rules)
        fresh = np.isin(rows.partition, np.array(sorted(fresh_partitions), np.int64))
        due = Verdicts.due(linked, fates, lost, fresh)
        verdicts = Verdicts.on_rows(rows, linked, fates, rules, due)
        verdicts = verdicts.sorted_with(Verdicts.on_removals(linked, lost, rules))
        stays = fates.survives & linked.same
        words = Wording(rules, self._threshold, np.where(stays, linked.published, -1))
        known = alive.table["num_tokens"].to_numpy()
        return Resolution(
            _new(rows, np.flatnonzero(fates.survives & ~linked.same)),
            _removed(alive, lost, rules),
            verdicts.table(rows, alive, words),
            _books(rows, fates),
            int(known[linked.published[stays]].sum()),
        )


def _new(documents: Documents, rows: Ints) -> pa.Table:
    order, steps = sorted_ids(documents.shuffle_key[rows])
    if not steps.all():
        raise IntegrityError("two documents of different ids have one shuffle key")
    table = documents.table.select(NEW.names).take(pa.array(rows[order]))
    return table.cast(NEW)


def _removed(published: Published, lost: Removals, rules: Rules) -> pa.Table:
    table = published.table.select(["document_id", "segment", "shard", "span"])
    rule = column_of_words(rules.words, rules.of_removals(lost))
    table = table.take(pa.array(lost.published)).append_column("rule", rule).cast(REMOVALS)
    return table.sort_by([(name, "ascending") for name in ("segment", "shard", "span")])


def _filled(decisions: pa.Table, new: pa.Table) -> pa.Table:
    """The decisions with the tokens of new documents, which are kept and had none yet."""
    places = [decisions["partition"].fill_null(-1), decisions["row"].fill_null(-1)]
    wanted = np.column_stack([column.to_numpy().astype(np.int64) for column in places])
    given = np.column_stack([new["partition"].to_numpy(), new["row"].to_numpy()])
    order = np.lexsort((given[:, 1], given[:, 0]))
    numbers = _places(given[order], wanted)
    kept = np.asarray(pc.equal(decisions["verdict"], Verdict.KEPT.value))
    unknown = kept & np.asarray(decisions["num_tokens"].is_null())
    if (numbers[unknown] < 0).any():
        raise IntegrityError("a kept document was not tokenized")
    at = np.where(unknown, order[numbers] if len(order) else -1, -1)
    counts = new["num_tokens"].take(pa.array(at, mask=at < 0))
    filled = pc.coalesce(decisions["num_tokens"], counts)
    column = decisions.schema.get_field_index("num_tokens")
    return decisions.set_column(column, DECISIONS.field("num_tokens"), filled)


def _places(given: Ints, wanted: Ints) -> Ints:
    """Where each wanted (partition, row) stands in the given ones, sorted; -1 for nowhere."""
    if not len(given):
        return np.full(len(wanted), -1, np.int64)
    width = 1 + max(int(given[:, 1].max()), int(wanted[:, 1].max(initial=0)))
    keys, asked = given[:, 0] * width + given[:, 1], wanted[:, 0] * width + wanted[:, 1]
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where((keys[at] == asked) & (wanted[:, 0] >= 0), at, -1)


def _books(documents: Documents, fates: Fates) -> Books:
    exact = (fates.survivor >= 0) & (fates.similarity < 0)
    dedup = StageBook(
        "dedup",
        _count(documents, documents.rule < 0),
        _count(documents, fates.survives),
        {
            EXACT_DUPLICATE: _count(documents, exact),
            NEAR_DUPLICATE: _count(documents, fates.similarity >= 0),
        },
        {RECORD_ID_REUSED: _count(documents, fates.reused)},
    )
    return Books((book_clean(documents.table), dedup))


def _count(documents: Documents, rows: Mask) -> Count:
    num_bytes = documents.table["num_bytes"].to_numpy()[rows]
    return Count(int(rows.sum()), int(num_bytes.sum()))
