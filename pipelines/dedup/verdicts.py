"""The decisions of a resolution, made piece by piece as the input is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.tables import binary_matrix
from pipelines.decisions import (
    DECISIONS,
    EXACT_DUPLICATE,
    NEAR_DUPLICATE,
    RECORD_ID_REUSED,
    Stage,
    Verdict,
)
from pipelines.dedup.columns import column_of_words, id_column
from pipelines.dedup.documents import Documents, Published
from pipelines.dedup.order import Ids, Ints, Mask, ranks
from pipelines.dedup.removals import Removals
from pipelines.dedup.rows import gathered
from pipelines.dedup.survivors import Fates

_VERDICTS = pa.array(sorted(verdict.value for verdict in Verdict))
_DROPPED, _KEPT, _QUARANTINED, _REMOVED = range(4)
_STAGES = pa.array([Stage.CLEAN.value, Stage.DEDUP.value, Stage.PUBLISH.value])
_CLEAN, _DEDUP, _PUBLISH = range(3)
_RULES = pa.array([EXACT_DUPLICATE, NEAR_DUPLICATE, RECORD_ID_REUSED])
_DUPLICATE, _NEAR, _REUSED = range(3)
_IDS = ("document_id", "raw_content_id", "content_id")

# What is read of a document on which a decision is due.
DECIDED = (
    *("partition", "row", "source", *_IDS),
    *("num_bytes", "edits", "rule", "value", "threshold"),
)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Says what became of documents.

    Memory: 40 bytes for each document that stands for another one.

    Attributes:
        threshold: of near duplicates, in millionths.
        survivors: rows that stand for others in decisions that are due, ascending.
        survivor_id: their document ids.
    """

    documents: Documents
    published: Published
    fates: Fates
    lost: Removals
    threshold: int
    survivors: Ints
    survivor_id: Ids

    @classmethod
    def of(
        cls,
        documents: Documents,
        published: Published,
        fates: Fates,
        lost: Removals,
        threshold: int,
        due: Mask,
    ) -> Verdicts:
        """Looks up who stands for others where a decision is due."""
        named = np.unique(np.concatenate([fates.survivor[due], lost.survivor]))
        named = named[named >= 0].astype(np.int64)
        ids = binary_matrix(gathered(documents.rows, named, ["document_id"])["document_id"])
        return cls(documents, published, fates, lost, threshold, named, ids)

    def on_rows(self, rows: Ints, piece: pa.Table, tokens: Ints) -> pa.Table:
        """The decisions on some rows of the input, as DECISIONS.

        Args:
            piece: `DECIDED` of these rows.
            tokens: of those that are new, in their order.
        """
        fates = self.fates
        kept, passed = fates.survives[rows], self.documents.passed[rows]
        verdict, rule = np.where(kept, _KEPT, _DROPPED), np.full(len(rows), -1)
        rule[fates.survivor[rows] >= 0] = _DUPLICATE
        near = fates.similarity[rows] >= 0
        rule[near] = _NEAR
        verdict[fates.reused[rows]], rule[fates.reused[rows]] = _QUARANTINED, _REUSED
        stage = np.where(kept, _PUBLISH, np.where(passed, _DEDUP, _CLEAN))
        similarity = pa.array(fates.similarity[rows].astype(np.int64))
        measured = {"value": similarity, "threshold": pa.scalar(self.threshold, pa.int64())}
        columns = {
            **{name: piece[name] for name in DECIDED},
            "stage": _word(_STAGES, stage),
            "verdict": _word(_VERDICTS, verdict),
            "rule": pc.coalesce(_word(_RULES, rule), piece["rule"]),
            **{
                name: pc.if_else(pa.array(near), own, piece[name]) for name, own in measured.items()
            },
            "survivor_id": self._survivor_ids(fates.survivor[rows]),
            "num_tokens": self._num_tokens(rows, kept, tokens),
        }
        return pa.table([columns[name] for name in DECISIONS.names], DECISIONS)

    def on_removals(self) -> Iterator[pa.Table]:
        """The decisions on published documents that leave, as DECISIONS."""
        for numbers, piece in self.published.rows.read(_IDS, self.lost.mask(self.published)):
            at = slice(*np.searchsorted(self.lost.published, [numbers[0], numbers[-1] + 1]))
            rows = len(numbers)
            columns = {
                **{name: piece[name] for name in _IDS},
                "stage": _word(_STAGES, np.full(rows, _PUBLISH)),
                "verdict": _word(_VERDICTS, np.full(rows, _REMOVED)),
                "rule": self.lost.rule[at],
                "survivor_id": self._survivor_ids(self.lost.survivor[at]),
                "edits": pa.array([""] * rows, pa.string()),
            }
            nothing = {item.name: pa.nulls(rows, item.type) for item in DECISIONS}
            columns = nothing | columns
            yield pa.table([columns[name] for name in DECISIONS.names], DECISIONS)

    def _survivor_ids(self, rows: Ints) -> pa.Array:
        ids = np.zeros((len(rows), 32), np.uint8)
        named = rows >= 0
        ids[named] = self.survivor_id[np.searchsorted(self.survivors, rows[named])]
        return id_column(ids, named)

    def _num_tokens(self, rows: Ints, kept: Mask, tokens: Ints) -> pa.Array:
        counts = np.zeros(len(rows), np.int64)
        stays = kept & self.documents.same[rows]
        counts[stays] = self.published.num_tokens[self.documents.published[rows[stays]]]
        counts[kept & ~stays] = tokens
        return pa.array(counts, mask=~kept)


def due(documents: Documents, fates: Fates, lost: Removals, fresh: Mask) -> Mask:
    """The rows of the input on which a decision is due."""
    chosen = fresh | (fates.survives & ~documents.same)
    # A published text that makes way now: its outcome changed, wherever it lies.
    at = lost.row[lost.row >= 0]
    chosen[at[documents.same[at]]] = True
    return chosen


def decision_order(decisions: pa.Table) -> Ints:
    """The order of decisions: by (document_id, verdict), else as they come, by place."""
    document = ranks(binary_matrix(decisions["document_id"]))
    verdict = pc.index_in(decisions["verdict"], _VERDICTS).to_numpy()
    order: Ints = np.lexsort((verdict, document))
    return order


def _word(words: pa.Array, numbers: Ints) -> pa.Array:
    return column_of_words(words, numbers.astype(np.int32))
