"""Cleaning: the acts that a spec names, over one table of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lineage.ids import IdHasher
from pipelines.clean.act import FINDINGS, SHOWN, Act, Places
from pipelines.clean.codepoints import num_chars
from pipelines.clean.nfc import replaced
from pipelines.schema import DOCUMENTS


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of records, row by row.

    Attributes:
        documents: DOCUMENTS.
        signals: a column a signal.
        findings: FINDINGS, in the order of the rows.
        bands: a column of uint64 a band; no columns where near duplicates are not looked for.
    """

    documents: pa.Table
    signals: pa.Table
    findings: pa.Table
    bands: pa.Table


def clean_records(records: pa.Table, acts: Sequence[Act], source: str, hasher: IdHasher) -> Cleaned:
    """Cleans records (schema RECORDS): each act in turn, on what the one before it left.

    Nothing is dropped here: rules decide later, on the signals.

    Args:
        source: name of the source.
    """
    records = records.combine_chunks()
    way = _Way(_shown(records, source))
    for act in acts:
        way.take(act)
    texts = way.documents["text"].combine_chunks()
    columns = {name: records.column(name) for name in records.column_names}
    columns["content_id"] = _content_ids(records, way.changed(), texts, hasher)
    columns["num_chars"] = pa.array(num_chars(texts))
    columns["edits"] = way.edits()
    columns["text"] = texts
    documents = [columns[name] for name in DOCUMENTS.names]
    return Cleaned(
        pa.Table.from_arrays(documents, schema=DOCUMENTS),
        way.documents.select(way.signals) if way.signals else pa.table({}),
        pa.concat_tables([FINDINGS.empty_table(), *way.findings]),
        way.bands,
    )


def signals_schema(acts: Sequence[Act]) -> pa.Schema:
    """The columns of all signals that acts give, in order."""
    return pa.schema([column for act in acts for column in act.columns])


def bands_schema(bands: int) -> pa.Schema:
    """One column of band keys a band."""
    return pa.schema([pa.field(f"band_{number:02d}", pa.uint64()) for number in range(bands)])


class _Way:
    """Documents on their way through the acts."""

    def __init__(self, documents: pa.Table) -> None:
        self.documents = documents
        self.signals: list[str] = []
        self.findings: list[pa.Table] = []
        self.bands = pa.table({})
        self._editors: list[tuple[str, Places]] = []

    def take(self, act: Act) -> None:
        effect = act.apply(self.documents)
        for column in act.columns:
            values = effect.signals[column.name]
            self.documents = self.documents.append_column(column, values)
            self.signals.append(column.name)
        if effect.findings is not None:
            self.findings.append(effect.findings)
        if effect.bands is not None:
            columns = [pa.array(column) for column in effect.bands.T]
            self.bands = pa.table(columns, schema=bands_schema(len(columns)))
        if len(effect.places):
            texts = replaced(self.documents["text"].combine_chunks(), effect.places, effect.texts)
            self.documents = self.documents.set_column(0, "text", texts)
            self._editors.append((act.name, effect.places))

    def changed(self) -> Places:
        places = [places for _, places in self._editors]
        return np.unique(np.concatenate(places)) if places else np.zeros(0, np.int64)

    def edits(self) -> pa.Array:
        """The names of the acts that changed each text, by comma."""
        marks = np.zeros(self.documents.num_rows, np.int64)
        for number, (_, places) in enumerate(self._editors):
            marks[places] |= 1 << number
        kinds, which = np.unique(marks, return_inverse=True)
        words = [self._named(int(kind)) for kind in kinds]
        return pa.array(words, pa.string()).take(pa.array(which))

    def _named(self, marks: int) -> str:
        return ",".join(name for i, (name, _) in enumerate(self._editors) if marks >> i & 1)


def _shown(records: pa.Table, source: str) -> pa.Table:
    shown = {name: records.column(name) for name in SHOWN if name != "source"}
    shown["source"] = pa.array(["", source]).take(pa.array(np.ones(records.num_rows, np.int32)))
    return pa.table(shown | {"document_id": records.column("document_id")}).combine_chunks()


def _content_ids(
    records: pa.Table, changed: Places, texts: pa.LargeStringArray, hasher: IdHasher
) -> pa.Array:
    as_read = records.column("content_id").combine_chunks()
    new = texts.take(pa.array(changed)).cast(pa.large_binary()).to_pylist()
    ids = hasher.content_ids(new)
    return replaced(as_read, changed, pa.array(ids, as_read.type))
