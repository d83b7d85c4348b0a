"""Prepares partitions in a worker: read, clean, tokenize, each output sealed.

One pass over a partition, chunk by chunk, so memory holds a few chunks (16 MiB each)
and the longest record, whatever the size of a file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flows.build.plan import PlannedPartition
from flows.build.worker import Assignment, Bench, bench
from lineage.digest import Digest
from lineage.keys.sealing import parquet_writer
from pipelines.books import Books, book_clean, book_ingest
from pipelines.clean.clean import clean_records
from pipelines.ingest.chunk import Chunk
from pipelines.ingest.read import read_partition
from pipelines.schema import DOCUMENTS, QUARANTINE, TOKENS
from pipelines.tokens.tokenizer import sampled_rows
from storage_tiers.stage import StagePart

KIND = "partitions"
# DOCUMENTS as they rest in the stage store, with the count that tokenizing adds.
STAGED_DOCUMENTS = DOCUMENTS.append(pa.field("num_tokens", pa.int64()))
_FILES = {"documents": STAGED_DOCUMENTS, "tokens": TOKENS, "quarantine": QUARANTINE}


@dataclass(frozen=True, slots=True)
class PreparedPartition:
    """What became of one partition.

    Attributes:
        ordinal: its place in the plan.
        key: its build key; its outputs lie under it in the stage store.
        reused: whether the outputs were there already.
        num_documents: rows of its DOCUMENTS.
        books: of the stages ingest and clean.
        num_bytes, num_tokens: source bytes, and tokens of documents that cleaning kept.
        seconds: work time by stage; empty when reused.
    """

    ordinal: int
    key: Digest
    reused: bool
    num_documents: int
    books: Mapping[str, Any]
    num_bytes: int
    num_tokens: int
    seconds: Mapping[str, float] = field(default_factory=dict)


def prepare_partitions(
    assignment: Assignment, partitions: Iterable[PlannedPartition]
) -> list[PreparedPartition]:
    """Prepares a batch of partitions, or finds them prepared. Safe to run again.

    Raises:
        IntegrityError: two tokenizer engines disagree.
        Unavailable: the disk is full.
    """
    return [_prepare(bench(assignment), planned) for planned in partitions]


def _prepare(at: Bench, planned: PlannedPartition) -> PreparedPartition:
    entry = at.stage.get(KIND, planned.key)
    if entry is not None:
        return _summary(planned, entry.receipt, reused=True)
    with at.stage.write(KIND, planned.key) as part:
        work = _Work(at, planned, part)
        work.run()
        part.receipt.update(work.receipt())
        return _summary(planned, part.receipt, reused=False)


def _summary(
    planned: PlannedPartition, receipt: Mapping[str, Any], *, reused: bool
) -> PreparedPartition:
    return PreparedPartition(
        planned.ordinal,
        planned.key,
        reused,
        receipt["num_documents"],
        receipt["books"],
        planned.partition.num_bytes,
        receipt["num_tokens"],
        {} if reused else receipt["seconds"],
    )


class _Work:
    """One partition on its way through the stages."""

    def __init__(self, at: Bench, planned: PlannedPartition, part: StagePart) -> None:
        self._at = at
        self._planned = planned
        self._source = at.spec.sources[planned.source]
        self._hasher = at.workspace.id_hasher()
        self._writers: dict[str, pq.ParquetWriter] = {
            # lz4: these files are read once and soon dropped, so time counts more than room.
            name: parquet_writer(
                part.path(f"{name}.parquet"), schema, part.seal(name), compression="lz4"
            )
            for name, schema in _FILES.items()
        }
        self._token_bytes = np.dtype(at.tokenizer.identity.dtype).itemsize
        self._num_documents = 0
        self._num_tokens = 0
        self._books = Books()
        self._seconds = dict.fromkeys(("ingest", "clean", "tokenize"), 0.0)

    def run(self) -> None:
        at, partition = self._at, self._planned.partition
        chunks = read_partition(
            partition, self._source, at.workspace.root, self._hasher, at.spec.seed
        )
        while True:
            with self._timed("ingest"):
                chunk = next(chunks, None)
            if chunk is None:
                break
            self._take(chunk)
        for writer in self._writers.values():
            writer.close()

    def receipt(self) -> dict[str, Any]:
        return {
            "num_documents": self._num_documents,
            "num_tokens": self._num_tokens,
            "books": self._books.to_json(),
            "seconds": self._seconds,
        }

    def _take(self, chunk: Chunk) -> None:
        self._write("quarantine", chunk.quarantine)
        with self._timed("clean"):
            documents = clean_records(chunk.records, self._at.spec.clean, self._hasher)
        ingested = book_ingest(chunk.records, chunk.quarantine)
        self._books = self._books.add(Books((ingested, book_clean(documents))))
        with self._timed("tokenize"):
            self._tokenize(documents)

    def _tokenize(self, documents: pa.Table) -> None:
        kept = documents["rule"].is_null()
        rows = kept.combine_chunks().to_numpy(zero_copy_only=False).nonzero()[0]
        texts = documents["text"].filter(kept).combine_chunks()
        batch = self._at.tokenizer.encode(texts)
        sizes = pc.binary_length(texts).to_numpy()
        sample = sampled_rows(len(texts), self._planned.partition.content, sizes)
        self._at.tokenizer.check(texts, batch.tokens, sample)
        counts = pc.divide(pc.binary_length(batch.tokens), self._token_bytes)
        table = pa.table([rows + self._num_documents, batch.tokens], schema=TOKENS)
        self._write("tokens", table)
        self._write("documents", _with_counts(documents, kept, counts))
        self._num_documents += documents.num_rows
        self._num_tokens += batch.num_tokens

    def _write(self, name: str, table: pa.Table) -> None:
        if table.num_rows:
            self._writers[name].write_table(table)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._seconds[stage] += time.perf_counter() - started


def _with_counts(documents: pa.Table, kept: pa.ChunkedArray, counts: pa.Array) -> pa.Table:
    placed = pc.replace_with_mask(
        pa.nulls(documents.num_rows, pa.int64()), kept.combine_chunks(), counts
    )
    return documents.append_column(STAGED_DOCUMENTS.field("num_tokens"), placed)
