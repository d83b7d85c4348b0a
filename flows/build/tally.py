"""Lines and paragraphs that a corpus repeats: tallied in workers, counted here.

It takes a reading of its own before partitions are prepared, since what leaves a text hangs
on all others. A partition's outputs are then known by the repeated parts that it holds, so
new data makes only those anew in which a part became, or is no more, repeated.

Memory: in a worker a chunk and its pairs (16 bytes each, 4 million at most). Here the pairs
of some buckets, 8 million or a 256th of all, about four times 16 bytes each; 8 bytes for each
repeated part, which stand in more than `max_documents` documents each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.build.plan import BuildPlan, PlannedPartition
from flows.build.staged import staged
from flows.build.worker import REPEATED, REPEATED_PARTS, Assignment, Bench, bench, repeated_parts
from flows.sources import source_files
from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import IntegrityError
from lineage.keys.sealing import open_parquet, parquet_writer
from pipelines.clean.clean import clean_records
from pipelines.dedup.repeated import Repeated, among, part_pairs
from pipelines.dedup.shingles import Hashes
from pipelines.dedup.tally import (
    NUM_BUCKETS,
    TALLY,
    Counting,
    Pairs,
    bucket_bounds,
    bucket_runs,
)
from pipelines.ingest.read import read_partition
from pipelines.spec.repeated import RepeatedSpec
from storage_tiers.stage import StageEntry, StagePart, StageStore

TALLIES = "tallies"
_RUN_PAIRS = 4 << 20
_READ_PAIRS = 1 << 20


def tally_partitions(assignment: Assignment, partitions: Iterable[PlannedPartition]) -> int:
    """Tallies a batch of partitions, or finds them tallied; gives their bytes.

    Safe to run again.

    Raises:
        Conflict: a source changed since it was planned.
        Unavailable: the disk is full.
    """
    num_bytes = 0
    for planned in partitions:
        _tally(bench(assignment), planned)
        num_bytes += planned.partition.num_bytes
    return num_bytes


def with_repeated(stage: StageStore, plan: BuildPlan) -> BuildPlan:
    """Counts what the corpus repeats, and stages it for the workers under the plan's inputs.

    Returns:
        The plan with the keys that partitions have by what is taken out of them.
    """
    spec = _repeated_spec(plan.spec.repeated)
    tallies = [staged(stage, TALLIES, _tally_key(item)) for item in plan.partitions]
    if stage.get(REPEATED, plan.inputs) is None:
        repeated = _counted(tallies, spec.max_documents or 0)
        with stage.write(REPEATED, plan.inputs) as part:
            seal, path = part.seal("parts"), part.path("parts.parquet")
            with parquet_writer(path, REPEATED_PARTS, seal) as writer:
                writer.write_table(pa.table([repeated], schema=REPEATED_PARTS))
    else:
        repeated = repeated_parts(staged(stage, REPEATED, plan.inputs))
    items = [
        _known_by(item, _held(tally, repeated), plan.act)
        for item, tally in zip(plan.partitions, tallies, strict=True)
    ]
    return replace(plan, partitions=tuple(items))


def _known_by(item: PlannedPartition, held: Hashes, act: Digest) -> PlannedPartition:
    parts = digest_of(held.astype("<u8").tobytes())
    stage_key = digest_of(canonical_json({"stage": item.stage_key, "repeated": parts}))
    key = digest_of(canonical_json({"stage": stage_key, "act": act}))
    return replace(item, stage_key=stage_key, key=key)


def _tally(at: Bench, planned: PlannedPartition) -> None:
    if at.stage.get(TALLIES, _tally_key(planned)) is not None:
        return
    with at.stage.write(TALLIES, _tally_key(planned)) as part:
        path, seal = part.path("pairs.parquet"), part.seal("pairs")
        with parquet_writer(path, TALLY, seal, compression="lz4") as writer:
            _Tallying(at, planned, part, writer).run()


class _Tallying:
    """One partition on its way: runs of pairs, each run by bucket, a row group each."""

    def __init__(
        self, at: Bench, planned: PlannedPartition, part: StagePart, writer: pq.ParquetWriter
    ) -> None:
        self._at = at
        self._planned = planned
        self._writer = writer
        self._groups: list[list[int]] = part.receipt.setdefault("groups", [])
        self._pending: list[Pairs] = []

    def run(self) -> None:
        at, partition = self._at, self._planned.partition
        source = at.spec.sources[self._planned.source]
        acts, hasher = at.cleaning.before(Repeated.name), at.workspace.id_hasher()
        spec = _repeated_spec(at.spec.repeated)
        files = source_files(source, at.workspace.root)
        for chunk in read_partition(partition, source, files, hasher, at.spec.seed):
            cleaned = clean_records(chunk.records, acts, source.name, hasher)
            texts = cleaned.documents["text"].combine_chunks()
            self._pending.append(part_pairs(texts, spec))
            if sum(len(pairs.parts) for pairs in self._pending) >= _RUN_PAIRS:
                self._write()
        self._write()

    def _write(self) -> None:
        if not self._pending:
            return
        whole = Pairs(*(np.concatenate(each) for each in zip(*self._pending, strict=True))).tidy()
        self._pending = []
        table = pa.table([whole.parts, whole.documents], schema=TALLY)
        bounds = bucket_bounds(whole.parts).tolist()
        for bucket in range(NUM_BUCKETS):
            rows = bounds[bucket + 1] - bounds[bucket]
            if rows:
                self._writer.write_table(table.slice(bounds[bucket], rows), row_group_size=rows)
                self._groups.append([bucket, rows])


def _counted(tallies: Sequence[StageEntry], max_documents: int) -> Hashes:
    sizes = np.zeros(NUM_BUCKETS, np.int64)
    for entry in tallies:
        for bucket, rows in entry.receipt["groups"]:
            sizes[bucket] += rows
    found = [np.zeros(0, np.uint64)]
    for first, last in bucket_runs(sizes):
        counting = Counting(max_documents)
        for entry in tallies:
            for pairs in _groups(entry, first, last, TALLY.names):
                counting.add(Pairs(*(column.to_numpy() for column in pairs.columns)))
        found.append(counting.repeated())
    return np.concatenate(found)


def _held(entry: StageEntry, repeated: Hashes) -> Hashes:
    """The repeated parts that a partition holds, ascending."""
    held = [np.zeros(0, np.uint64)]
    for table in _groups(entry, 0, NUM_BUCKETS, ["part"]) if len(repeated) else ():
        parts = table["part"].to_numpy()
        held.append(np.unique(parts[among(parts, repeated)]))
    return np.unique(np.concatenate(held))


def _groups(entry: StageEntry, first: int, last: int, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The row groups of some buckets, about a million rows at a time."""
    groups = [
        (number, rows)
        for number, (bucket, rows) in enumerate(entry.receipt["groups"])
        if first <= bucket < last
    ]
    if not groups:
        return
    ends = np.cumsum([rows for _, rows in groups]) // _READ_PAIRS
    with open_parquet(entry.path("pairs.parquet"), entry.seal("pairs")) as file:
        for _, some in groupby(zip(ends.tolist(), groups, strict=True), key=itemgetter(0)):
            wanted = [number for _, (number, _) in some]
            yield file.read_row_groups(wanted, columns=list(columns))


def _tally_key(planned: PlannedPartition) -> Digest:
    if planned.tally_key is None:
        raise IntegrityError("the plan gives a partition no key for its tally")
    return planned.tally_key


def _repeated_spec(spec: RepeatedSpec | None) -> RepeatedSpec:
    if spec is None:
        raise IntegrityError("nothing of this spec is to be tallied")
    return spec
