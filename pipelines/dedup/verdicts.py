"""The decisions of a resolution: which are due, in their order, as a table."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.decisions import (
    CHANGED,
    DECISIONS,
    EXACT_DUPLICATE,
    NEAR_DUPLICATE,
    RECORD_ID_REUSED,
    REMOVED,
    Stage,
    Verdict,
)
from pipelines.dedup.columns import Documents, Published, column_of_words, id_column
from pipelines.dedup.order import Ints, Mask, taken
from pipelines.dedup.removals import DUPLICATE, GONE, NEAR, OTHER_CONTENT, Removals
from pipelines.dedup.survivors import Fates, Link

_VERDICTS = pa.array(sorted(verdict.value for verdict in Verdict))
_DROPPED, _KEPT, _QUARANTINED, _REMOVED = range(4)
_STAGES = pa.array([Stage.CLEAN.value, Stage.DEDUP.value, Stage.PUBLISH.value])
_CLEAN, _DEDUP, _PUBLISH = range(3)
_SLICE_ROWS = 1 << 16
_IDS = ("document_id", "raw_content_id", "content_id")
_COPIED = ("partition", "row", "source", "num_bytes")


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a resolution as words: those of cleaning, then those of dedup."""

    words: pa.Array
    duplicate: int
    near: int
    reused: int
    gone: int
    changed: int

    @classmethod
    def of(cls, cleaning: pa.Array) -> Rules:
        """Appends the own rules to those of cleaning, whose numbers stay."""
        own = [EXACT_DUPLICATE, NEAR_DUPLICATE, RECORD_ID_REUSED, REMOVED, CHANGED]
        first = len(cleaning)
        words = pa.concat_arrays([cleaning, pa.array(own, cleaning.type)])
        return cls(words, *range(first, first + len(own)))

    def of_removals(self, lost: Removals) -> npt.NDArray[np.int32]:
        """The number of the rule of each removal."""
        numbers = lost.reason.astype(np.int32)
        named = (
            (DUPLICATE, self.duplicate),
            (NEAR, self.near),
            (GONE, self.gone),
            (OTHER_CONTENT, self.changed),
        )
        for reason, number in named:
            numbers[lost.reason == reason] = number
        return numbers


@dataclass(frozen=True, slots=True)
class Wording:
    """What the numbers of decisions mean.

    Attributes:
        similarity: threshold of near duplicates in millionths.
        published: for each row of the input its row of `Published` if it is published as
            it is, else -1.
    """

    rules: Rules
    similarity: int
    published: Ints


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Decisions as numbers, one array a column.

    Attributes:
        document: dense number, in the order of the document ids.
        verdict, stage, rule: numbers of words; a rule of -1 is none.
        row: the row of the input, or -1 for a removed document.
        published: the row of `Published` of a removed document, else -1.
        survivor: the row of the input that stands for it, or -1.
        similarity: to that row in millionths where it is a near duplicate, else -1.
    """

    document: Ints
    verdict: npt.NDArray[np.int8]
    stage: npt.NDArray[np.int8]
    rule: npt.NDArray[np.int32]
    row: Ints
    published: Ints
    survivor: Ints
    similarity: Ints

    @classmethod
    def due(cls, linked: Link, fates: Fates, lost: Removals, fresh: Mask) -> Ints:
        """The rows of the input on which a decision is due, in their order."""
        chosen = fresh | (fates.survives & ~linked.same)
        # A published text that makes way now: its outcome changed, wherever it lies.
        at = lost.row[lost.row >= 0]
        chosen[at[linked.same[at]]] = True
        return np.flatnonzero(chosen)

    @classmethod
    def on_rows(
        cls, documents: Documents, linked: Link, fates: Fates, rules: Rules, rows: Ints
    ) -> Verdicts:
        """The decisions on rows of the input."""
        rule = documents.rule[rows]
        stage = np.where(fates.survives[rows], _PUBLISH, np.where(rule < 0, _DEDUP, _CLEAN))
        verdict = np.where(fates.survives[rows], _KEPT, _DROPPED)
        verdict[fates.reused[rows]] = _QUARANTINED
        rule = np.where(fates.survivor[rows] >= 0, rules.duplicate, rule)
        rule = np.where(fates.similarity[rows] >= 0, rules.near, rule)
        rule[fates.reused[rows]] = rules.reused
        return cls(
            linked.document[rows],
            verdict.astype(np.int8),
            stage.astype(np.int8),
            rule.astype(np.int32),
            rows,
            np.full(len(rows), -1, np.int64),
            fates.survivor[rows],
            fates.similarity[rows],
        )

    @classmethod
    def on_removals(cls, linked: Link, lost: Removals, rules: Rules) -> Verdicts:
        """The decisions on published documents that leave."""
        length = len(lost.published)
        return cls(
            linked.of_published[lost.published],
            np.full(length, _REMOVED, np.int8),
            np.full(length, _PUBLISH, np.int8),
            rules.of_removals(lost),
            np.full(length, -1, np.int64),
            lost.published,
            lost.survivor,
            np.full(length, -1, np.int64),
        )

    def sorted_with(self, others: Verdicts) -> Verdicts:
        """Both, by (document_id, verdict, partition, row)."""
        names = [item.name for item in fields(self)]
        both = Verdicts(*(np.concatenate([getattr(self, n), getattr(others, n)]) for n in names))
        # Rows come sorted by place, and the sort is stable.
        order = np.argsort(both.document * len(_VERDICTS) + both.verdict, kind="stable")
        return Verdicts(*(getattr(both, name)[order] for name in names))

    def table(self, documents: Documents, published: Published, words: Wording) -> pa.Table:
        """The decisions as DECISIONS; new documents have no number of tokens yet."""
        parts = [
            self._slice(start).piece(documents, published, words)
            for start in range(0, len(self.row), _SLICE_ROWS)
        ]
        return pa.concat_tables(parts) if parts else DECISIONS.empty_table()

    def piece(self, documents: Documents, published: Published, words: Wording) -> pa.Table:
        """The same in one go; memory is that of all columns twice."""
        indices = pa.array(self.row, mask=self.row < 0)  # null takes null
        copied = {name: documents.table[name].take(indices) for name in _COPIED}
        edits = documents.table["edits"].take(indices)
        survivor_ids = taken(documents.document_id, self.survivor)
        columns = {
            **{name: self._ids(documents, published, name) for name in _IDS},
            **copied,
            "stage": column_of_words(_STAGES, self.stage.astype(np.int32)),
            "verdict": column_of_words(_VERDICTS, self.verdict.astype(np.int32)),
            "rule": column_of_words(words.rules.words, self.rule),
            **self._measured(documents, words.similarity, indices),
            "survivor_id": id_column(survivor_ids, self.survivor >= 0),
            "num_tokens": self._known_tokens(published, words.published),
            "edits": pc.fill_null(edits, ""),
        }
        return pa.table([columns[name] for name in DECISIONS.names], DECISIONS)

    def _slice(self, start: int) -> Verdicts:
        stop = start + _SLICE_ROWS
        return Verdicts(*(getattr(self, item.name)[start:stop] for item in fields(self)))

    def _measured(
        self, documents: Documents, threshold: int, indices: pa.Array
    ) -> dict[str, pa.ChunkedArray]:
        """Value and threshold: those of the rule of cleaning, or of the near duplicate."""
        near = pa.array(self.similarity >= 0)
        limit = pa.array(np.full(len(self.row), threshold, np.int64))
        own = {"value": pa.array(self.similarity), "threshold": limit}
        return {
            name: pc.if_else(near, values, documents.table[name].take(indices))
            for name, values in own.items()
        }

    def _known_tokens(self, published: Published, rows: Ints) -> pa.Array:
        at = np.full(len(self.row), -1, np.int64)
        kept = np.flatnonzero(self.verdict == _KEPT)
        at[kept] = rows[self.row[kept]]
        return published.table["num_tokens"].take(pa.array(at, mask=at < 0)).combine_chunks()

    def _ids(self, documents: Documents, published: Published, name: str) -> pa.Array:
        ids = taken(getattr(documents, name), self.row)
        gone = np.flatnonzero(self.row < 0)
        ids[gone] = getattr(published, name)[self.published[gone]]
        return id_column(ids)
