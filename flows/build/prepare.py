"""Prepares partitions in a worker: read and clean, each output sealed.

One pass over a partition, chunk by chunk, so memory holds a few chunks (16 MiB each)
and the longest record, whatever the size of a file. Nothing is dropped here: the stage
keeps every document with its signals, so that thresholds can change.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flows.build.plan import PlannedPartition
from flows.build.worker import Assignment, Bench, bench
from flows.sources import source_files
from lineage.keys.sealing import parquet_writer
from pipelines.books import Books, book_ingest
from pipelines.clean.act import FINDINGS
from pipelines.clean.clean import bands_schema, clean_records, signals_schema
from pipelines.ingest.chunk import Chunk
from pipelines.ingest.read import read_partition
from pipelines.schema import DOCUMENTS, QUARANTINE
from storage_tiers.stage import StagePart

KIND = "partitions"


@dataclass(frozen=True, slots=True)
class PreparedPartition:
    """What became of one partition.

    Attributes:
        ordinal: its place in the plan.
        reused: whether the outputs were there already.
        num_documents: rows of its DOCUMENTS.
        books: of the stage ingest.
        num_bytes: source bytes.
        seconds: work time by stage; empty when reused.
    """

    ordinal: int
    reused: bool
    num_documents: int
    books: Mapping[str, Any]
    num_bytes: int
    seconds: Mapping[str, float] = field(default_factory=dict)


def prepare_partitions(
    assignment: Assignment, partitions: Iterable[PlannedPartition]
) -> list[PreparedPartition]:
    """Prepares a batch of partitions, or finds them prepared. Safe to run again.

    Raises:
        Conflict: a source changed since it was planned.
        Unavailable: the disk is full.
    """
    return [_prepare(bench(assignment), planned) for planned in partitions]


def _prepare(at: Bench, planned: PlannedPartition) -> PreparedPartition:
    entry = at.stage.get(KIND, planned.stage_key)
    if entry is not None:
        return _summary(planned, entry.receipt, reused=True)
    with at.stage.write(KIND, planned.stage_key) as part:
        work = _Work(at, planned, part)
        work.run()
        part.receipt.update(work.receipt())
        return _summary(planned, part.receipt, reused=False)


def _summary(
    planned: PlannedPartition, receipt: Mapping[str, Any], *, reused: bool
) -> PreparedPartition:
    return PreparedPartition(
        planned.ordinal,
        reused,
        receipt["num_documents"],
        receipt["books"],
        planned.partition.num_bytes,
        {} if reused else receipt["seconds"],
    )


class _Work:
    """One partition on its way."""

    def __init__(self, at: Bench, planned: PlannedPartition, part: StagePart) -> None:
        self._at = at
        self._planned = planned
        self._source = at.spec.sources[planned.source]
        self._hasher = at.workspace.id_hasher()
        self._writers = {name: _writer(part, name, schema) for name, schema in _files(at).items()}
        self._num_documents = 0
        self._books = Books()
        self._seconds = dict.fromkeys(("ingest", "clean"), 0.0)

    def run(self) -> None:
        at, partition = self._at, self._planned.partition
        files = source_files(self._source, at.workspace.root)
        chunks = read_partition(partition, self._source, files, self._hasher, at.spec.seed)
        while True:
            with self._timed("ingest"):
                chunk = next(chunks, None)
            if chunk is None:
                break
            with self._timed("clean"):
                self._take(chunk)
        for writer in self._writers.values():
            writer.close()

    def receipt(self) -> dict[str, Any]:
        return {
            "num_documents": self._num_documents,
            "books": self._books.to_json(),
            "seconds": self._seconds,
        }

    def _take(self, chunk: Chunk) -> None:
        acts, source = self._at.cleaning.acts, self._source.name
        cleaned = clean_records(chunk.records, acts, source, self._hasher)
        self._books = self._books.add(Books((book_ingest(chunk.records, chunk.quarantine),)))
        self._num_documents += cleaned.documents.num_rows
        self._write("quarantine", chunk.quarantine)
        self._write("documents", cleaned.documents)
        self._write("signals", cleaned.signals)
        self._write("findings", cleaned.findings)
        self._write("bands", cleaned.bands)

    def _write(self, name: str, table: pa.Table) -> None:
        if table.num_rows and name in self._writers:
            self._writers[name].write_table(table)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._seconds[stage] += time.perf_counter() - started


def _files(at: Bench) -> dict[str, pa.Schema]:
    signals = signals_schema(at.cleaning.acts)
    files = {"documents": DOCUMENTS, "quarantine": QUARANTINE, "findings": FINDINGS}
    if len(signals):
        files["signals"] = signals
    if at.spec.duplicates.near:
        files["bands"] = bands_schema(at.spec.duplicates.bands)
    return files


def _writer(part: StagePart, name: str, schema: pa.Schema) -> pq.ParquetWriter:
    # lz4: these files are read a few times and soon dropped, so time counts more than room.
    path = part.path(f"{name}.parquet")
    return parquet_writer(path, schema, part.seal(name), compression="lz4")
