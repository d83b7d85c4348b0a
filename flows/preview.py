"""A preview: what a spec would do, on a sample of its sources, in seconds.

Nothing is stored and no version is looked at: the sample is read, cleaned and judged in
this process. Duplicates are those inside the sample, so a build finds more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flows.sources import source_files
from lineage.digest import digest_of
from lineage.ids import IdHasher
from lineage.workspace import Workspace
from pipelines.books import Books, book_ingest
from pipelines.clean.clean import Cleaned, clean_records
from pipelines.clean.cleaning import Cleaning
from pipelines.decontamination.evaluation import Evaluation
from pipelines.decontamination.recall import sampled
from pipelines.dedup.choose import choose
from pipelines.dedup.columns import PUBLISHED
from pipelines.dedup.crowds import crowds
from pipelines.dedup.resolve import Resolving
from pipelines.dedup.rows import TableRows
from pipelines.dedup.shingles import shingles
from pipelines.ingest.chunk import Chunk
from pipelines.ingest.partition import FileRange, Partition, compression_of, plan_file, planned
from pipelines.ingest.places.files import SourceFile
from pipelines.ingest.places.opening import Opener, OpenFile, SourceFiles, blocks_of
from pipelines.ingest.read import read_partition
from pipelines.rules.decide import decide
from pipelines.signals.segments import Segmenter
from pipelines.spec.dataset import DatasetSpec
from pipelines.spec.source import SourceSpec

# What is read of a file of lines at one place; other files are read from their start.
_RANGE_BYTES = 1 << 20
_CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Preview:
    """What became of the sample.

    Attributes:
        dataset: its name.
        books: of the stages ingest, clean and dedup, over the sample.
        source_documents: documents of the sample by source.
        seconds: what it took.
        evaluation: of evaluation items, or None where none are looked for.
    """

    dataset: str
    books: Books
    source_documents: Mapping[str, int]
    seconds: float
    evaluation: Evaluation | None = None

    def to_json(self) -> dict[str, Any]:
        """The preview as JSON values."""
        return {
            "dataset": self.dataset,
            "books": self.books.to_json(),
            "source_documents": dict(self.source_documents),
            "seconds": round(self.seconds, 3),
            "evaluation": None if self.evaluation is None else self.evaluation.to_json(),
        }


def preview(workspace: Workspace, spec: DatasetSpec, sample: int) -> Preview:
    """Tries a spec on about so many documents, as many of each source.

    Raises:
        NotFound, ConfigError: the spec or a source is wrong.
    """
    started = time.monotonic()
    cleaning, hasher = Cleaning.of(spec, workspace.root), workspace.id_hasher()
    books, counts = Books(), dict.fromkeys((source.name for source in spec.sources), 0)
    tables: list[pa.Table] = []
    bands: list[pa.Table] = []
    for ordinal, source in enumerate(spec.sources):
        wanted = -(-sample // len(spec.sources))
        for chunk in _sampled(source, workspace.root, hasher, spec.seed, wanted):
            cleaned = clean_records(chunk.records, cleaning.acts, source.name, hasher)
            books = books.add(Books((book_ingest(chunk.records, chunk.quarantine),)))
            tables.append(_judged(cleaned, cleaning, len(tables), ordinal))
            bands.append(cleaned.bands)
            counts[source.name] += chunk.records.num_rows
    documents = pa.concat_tables(tables)
    nothing = TableRows.of_published(PUBLISHED.empty_table())
    resolving = Resolving(TableRows.of_input(documents), nothing)
    if spec.duplicates.near:
        _drop_near(resolving, spec, documents, pa.concat_tables(bands))
    books = books.add(resolving.result(range(len(tables))).books)
    evaluation = _evaluation(cleaning, spec, documents, resolving)
    return Preview(spec.name, books, counts, time.monotonic() - started, evaluation)


def _evaluation(
    cleaning: Cleaning, spec: DatasetSpec, documents: pa.Table, resolving: Resolving
) -> Evaluation | None:
    act = cleaning.decontamination
    if act is None:
        return None
    rows = pa.array(sampled(TableRows(documents), resolving.kept()))
    return act.evaluation(documents["text"].take(rows).combine_chunks(), spec.seed)


def _sampled(
    source: SourceSpec, root: Path, hasher: IdHasher, seed: int, wanted: int
) -> Iterator[Chunk]:
    """Chunks of a source until enough records were seen; the last one is cut."""
    found, seen, files = 0, 0, source_files(source, root)
    for partition in _partitions(source, files):
        for chunk in read_partition(
            partition, source, files, hasher, seed, chunk_bytes=_CHUNK_BYTES
        ):
            left = wanted - found
            yield Chunk(chunk.records.slice(0, left), chunk.quarantine)
            found += min(chunk.records.num_rows, left)
            seen += chunk.records.num_rows + chunk.quarantine.num_rows
            # A source that cannot be read is told of in seconds too.
            if seen >= wanted:
                return


def _partitions(source: SourceSpec, files: SourceFiles) -> Iterator[Partition]:
    """Parts of a source, at places that only its files' names choose."""
    listed = files.list(source)
    ranked = sorted(listed, key=lambda file: sha256(file.path.encode()).digest())
    if source.format != "jsonl":
        # Planning reads whole files, so only as many are taken as a preview can use.
        for file in islice(ranked, 64):
            yield from _whole(source, file, files)
        return
    for file in ranked:
        if compression_of(source, file.path):
            yield from _whole(source, file, files)
        elif (part := _range_of_lines(source, file, files)) is not None:
            content = digest_of(part[0])
            ranges = (FileRange(file.path, part[1], len(part[0]), part[1], state=file.state),)
            yield Partition(source.name, "jsonl", "", ranges, content, len(part[0]))


def _whole(source: SourceSpec, file: SourceFile, files: SourceFiles) -> list[Partition]:
    plan = plan_file(source, file, files)
    # An archive may hold nothing of the format.
    return planned(source, [plan]) if plan.partitions or plan.small else []


def _range_of_lines(
    source: SourceSpec, file: SourceFile, files: SourceFiles
) -> tuple[bytes, int] | None:
    """Whole lines from a place in a file, and the place; None for an empty file."""
    room = max(file.size_bytes - _RANGE_BYTES, 0)
    start = int.from_bytes(sha256(file.path.encode()).digest()[:8], "big") % (room + 1)
    with Opener(source, files) as opener, opener.open(file.path, file.state) as opened:
        at = _line_end(opened, start) if start else 0
        if at == opened.size_bytes:
            # One long line was passed over: the start of the file is as good.
            at, end = 0, _line_end(opened, 0)
        else:
            end = _line_end(opened, at + _RANGE_BYTES)
        data = opened.read_at(at, end - at)
    return (data, at) if data else None


def _line_end(opened: OpenFile, at: int) -> int:
    """Where the line ends in which a byte lies, or the file."""
    for block in blocks_of(opened, at, opened.size_bytes):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return opened.size_bytes


def _judged(cleaned: Cleaned, cleaning: Cleaning, partition: int, source: int) -> pa.Table:
    documents = cleaned.documents
    signals = documents.select(["num_chars", "num_bytes"])
    for name in cleaned.signals.column_names:
        signals = signals.append_column(name, cleaned.signals[name])
    rows = documents.num_rows
    for name, column in decide(signals, cleaning.rules).columns(cleaning.rules).items():
        documents = documents.append_column(name, column)
    for name, values in (
        ("source", np.full(rows, source, np.int32)),
        ("row", np.arange(rows)),
        ("partition", np.full(rows, partition, np.int32)),
    ):
        documents = documents.add_column(0, name, pa.array(values))
    return documents


def _drop_near(
    resolving: Resolving, spec: DatasetSpec, documents: pa.Table, bands: pa.Table
) -> None:
    contest = resolving.contest()
    order = np.argsort(contest.standing(np.arange(len(contest.rows)))[0])
    rows = contest.rows[order]
    pairs, so_far = [], 0
    for name in bands.column_names:
        crowd, member = crowds(bands[name].to_numpy()[rows])
        pairs.append((crowd + so_far, member))
        so_far += int(crowd.max(initial=-1)) + 1
    crowd, member = (np.concatenate(part) for part in zip(*pairs, strict=True))
    texts = documents["text"].take(pa.array(rows)).combine_chunks()
    chosen = choose(
        shingles(Segmenter().segments_of(texts), spec.duplicates.words),
        crowd,
        member,
        spec.duplicates.similarity,
        containment=spec.duplicates.measure == "containment",
    )
    away = np.flatnonzero(chosen.survivor >= 0)
    survivors = rows[chosen.survivor[away]]
    resolving.make_way(rows[away], survivors, chosen.similarity[away], spec.duplicates.similarity)
