"""Resolving: what the whole current input means for the version that was published before.

Each document of the input either survives or makes way for another one; survivors that
are not published are new, and published documents that do not survive are removed. The
answer is the same for any order of rows, files and partitions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lineage.errors import IntegrityError
from pipelines.books import Books, Count, StageBook
from pipelines.decisions import EXACT_DUPLICATE, RECORD_ID_REUSED
from pipelines.dedup.columns import Documents, Published, column_of_words
from pipelines.dedup.order import Ints, Mask, sorted_ids
from pipelines.dedup.removals import Removals, removals
from pipelines.dedup.survivors import Fates, link, survivors
from pipelines.dedup.verdicts import Rules, Verdicts
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
        pa.field("num_tokens", pa.int64(), nullable=False),
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
        new: NEW.
        removed: REMOVALS.
        decisions: DECISIONS.
        books: the stages dedup and tokenize, over the whole current input.
    """

    new: pa.Table
    removed: pa.Table
    decisions: pa.Table
    books: Books


def resolve(
    documents: pa.Table, published: pa.Table, fresh_partitions: Collection[int]
) -> Resolution:
    """Resolves the input against the parent version.

    What a rule of cleaning dropped takes no part. Of several rows of one document, those
    of one content are one; another content under the same record id is quarantined, and
    the published one stays, else the one with the smallest content key. Of several
    documents with one cleaned text the published one stays, else the one with the
    smallest shuffle key. A decision stands for every document of a fresh partition, for
    every other one whose outcome changed, and for each removed one.

    Everything is in memory and nothing goes to disk, where content keys, being unkeyed
    hashes, must not lie in clear. The peak is about 500 bytes a document and 200 a
    published one, the result included and the arguments not.

    Args:
        documents: every document of the whole current input, with the columns of INPUT
            in pipelines/dedup/columns.py.
        published: the documents alive in the parent version, with the columns of PUBLISHED;
            no rows for a first version.
        fresh_partitions: partitions whose build key the parent version did not have.

    Raises:
        IntegrityError: a table is not of its schema, a document is alive twice in the
            parent version, two documents have one shuffle key, or a document that was
            kept has no number of tokens.
    """
    rows, alive = Documents.of(documents), Published.of(published)
    linked = link(rows, alive)
    fates = survivors(rows, linked)
    lost = removals(rows, alive, linked, fates)
    rules = Rules.of(rows.rules)
    _need_tokens(rows, fates)

    fresh = np.isin(rows.partition, np.array(sorted(fresh_partitions), np.int64))
    due = Verdicts.due(linked, fates, lost, fresh)
    verdicts = Verdicts.on_rows(rows, linked, fates, rules, due)
    verdicts = verdicts.sorted_with(Verdicts.on_removals(linked, lost, rules))
    return Resolution(
        _new(rows, np.flatnonzero(fates.survives & ~linked.same)),
        _removed(alive, lost, rules),
        verdicts.table(rows, alive, rules),
        _books(rows, fates),
    )


def _need_tokens(documents: Documents, fates: Fates) -> None:
    known = np.asarray(documents.table["num_tokens"].is_valid())
    unknown = np.flatnonzero(fates.survives & ~known)
    if len(unknown):
        row, partition = documents.row[unknown[0]], documents.partition[unknown[0]]
        raise IntegrityError(f"no number of tokens for row {row} of partition {partition}")


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


def _books(documents: Documents, fates: Fates) -> Books:
    kept = _count(documents, fates.survives)
    tokens = documents.table["num_tokens"].filter(pa.array(fates.survives)).to_numpy().sum()
    dedup = StageBook(
        "dedup",
        _count(documents, documents.rule < 0),
        kept,
        {EXACT_DUPLICATE: _count(documents, fates.survivor >= 0)},
        {RECORD_ID_REUSED: _count(documents, fates.reused)},
    )
    return Books((dedup, StageBook("tokenize", kept, kept + Count(tokens=int(tokens)))))


def _count(documents: Documents, rows: Mask) -> Count:
    num_bytes = documents.table["num_bytes"].to_numpy()[rows]
    return Count(int(rows.sum()), int(num_bytes.sum()))
