"""Decisions and quarantine say where each record lies: path and offset are the right ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.build.input import InputRows
from flows.build.plan import BuildPlan, PlannedPartition, plan_build
from flows.build.prepare import PreparedPartition, prepare_partitions
from flows.build.records import (
    PARTITIONS,
    PLACED_DECISIONS,
    PLACED_QUARANTINE,
    partition_table,
    placed_quarantine,
    placed_records,
)
from flows.build.resolve import NEW_KIND, NewDocuments, ResolvedBuild, conclude
from flows.build.staged import staged, staged_table
from flows.build.worker import Assignment, bench, stage_store
from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import AccessDenied, Conflict, IntegrityError
from lineage.ids import IdHasher, RecordKey
from lineage.keys.gate import AccessRequest
from lineage.tables import table_root
from lineage.workspace import Workspace
from pipelines.books import Books
from pipelines.clean.cleaning import Cleaning
from pipelines.dedup.columns import PUBLISHED
from pipelines.dedup.resolve import Resolving
from pipelines.dedup.rows import TableRows
from pipelines.ingest.partition import Partition, plan_source
from pipelines.ingest.places.opening import LocalFiles
from storage_tiers.stage import StageStore
from tests.system.world import DATASET, World, add_lines, make_world, record

SMALL = 3_000  # bytes: every file of the sample is cut into several partitions
BROKEN = b'{"id": "broken/1", "text": \n'


@dataclass(frozen=True)
class Desk:
    """A build up to its records."""

    world: World
    workspace: Workspace
    stage: StageStore
    plan: BuildPlan
    prepared: list[PreparedPartition]
    resolved: ResolvedBuild

    @property
    def hasher(self) -> IdHasher:
        return self.workspace.id_hasher()

    @property
    def decisions(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = decisions_of(self.stage, self.plan, self.resolved).to_pylist()
        return rows

    def quarantine(self, fresh: frozenset[int]) -> pa.Table:
        return pa.concat_tables(placed_quarantine(self.stage, self.plan, self.prepared, fresh))

    def of(self, source: str) -> list[dict[str, Any]]:
        return [row for row in self.decisions if row["source"] == source]


def decisions_of(stage: StageStore, plan: BuildPlan, resolved: ResolvedBuild) -> pa.Table:
    return pa.concat_tables(table for table, _ in placed_records(stage, plan, resolved))


def resolve(
    stage: StageStore,
    plan: BuildPlan,
    prepared: list[PreparedPartition],
    published: pa.Table,
    world: World,
) -> ResolvedBuild:
    rules = Cleaning.of(plan.spec, world.root).rules
    documents = InputRows(stage, plan, prepared, rules, tuple(range(4)))
    resolving = Resolving(documents, TableRows.of_published(published))
    resolved = conclude(stage, plan, documents, resolving, frozenset())
    return resolved.with_tokens(np.ones(len(resolved.new), np.int64))


def keys_of(part: Partition) -> tuple[Digest, Digest]:
    key = digest_of(canonical_json([part.source, part.content, "finely cut"]))
    return key, key


def finely_cut(workspace: Workspace, world: World) -> BuildPlan:
    plan = plan_build(workspace, DATASET)
    partitions = [
        (ordinal, partition)
        for ordinal, source in enumerate(plan.spec.sources)
        for partition in plan_source(source, LocalFiles(world.root), SMALL)
    ]
    planned = [
        PlannedPartition(n, ordinal, part, *keys_of(part))
        for n, (ordinal, part) in enumerate(partitions)
    ]
    return replace(plan, partitions=tuple(planned))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    world = make_world(tmp_path_factory.mktemp("records") / "world")
    add_lines(world.help_files[0], [BROKEN], at=3)
    same = world.help_files[1].read_bytes().splitlines(keepends=True)[2]
    add_lines(world.help_files[3], [same, record("no id of its own")])
    with world.open() as workspace:
        plan = finely_cut(workspace, world)
        build = os.urandom(16).hex()
        signer = workspace.signer("builder")
        workspace.gate.release(AccessRequest(signer, DATASET, "raw", "build", on_behalf=build))
        assignment = Assignment(str(world.root), DATASET, plan.spec.digest(), build)
        prepared = prepare_partitions(assignment, plan.partitions)
        stage = stage_store(workspace, DATASET)
        resolved = resolve(stage, plan, prepared, PUBLISHED.empty_table(), world)
        yield Desk(world, workspace, stage, plan, prepared, resolved)
    bench.cache_clear()


def test_files_were_cut_into_several_partitions(desk: Desk) -> None:
    cut = [item for item in desk.plan.partitions if item.partition.source == "help"]
    assert len(cut) > len(desk.world.help_files)
    assert any(item.partition.files[0].start > 0 for item in cut)


def test_the_offset_of_a_decision_is_the_first_byte_of_its_line(desk: Desk) -> None:
    rows = desk.of("help")
    assert len(rows) >= 25
    assert any(row["offset"] > SMALL for row in rows)
    for row in rows:
        line = (desk.world.root / row["path"]).read_bytes()[row["offset"] :].split(b"\n")[0]
        key = RecordKey.own(json.loads(line)["id"])
        assert desk.hasher.document_id("help", key) == row["document_id"]


def test_lines_without_an_id_are_found_by_their_content(desk: Desk) -> None:
    for row in desk.of("rights"):
        line = (desk.world.root / row["path"]).read_bytes()[row["offset"] :].split(b"\n")[0]
        text = json.loads(line)["text"].encode()
        assert desk.hasher.document_id("rights", RecordKey.content(text)) == row["document_id"]
        assert desk.hasher.content_id(text) == row["raw_content_id"]


def test_the_offset_in_a_parquet_file_is_the_row(desk: Desk) -> None:
    rows = desk.of("handbook")
    assert sorted(row["offset"] for row in rows) == list(range(10))
    table = pq.read_table(desk.world.root / "text" / "handbook.parquet")
    for row in rows:
        key = RecordKey.own(table["id"][row["offset"]].as_py())
        assert desk.hasher.document_id("handbook", key) == row["document_id"]


def test_a_text_file_is_a_document_from_its_first_byte(desk: Desk) -> None:
    rows = desk.of("guide")
    assert sorted(row["path"] for row in rows) == [f"text/guide/{n}.txt" for n in range(6)]
    assert {row["offset"] for row in rows} == {0}
    for row in rows:
        data = (desk.world.root / row["path"]).read_bytes()
        assert desk.hasher.document_id("guide", RecordKey.content(data)) == row["document_id"]


def test_a_record_that_lies_in_two_files_has_a_decision_at_each_place(desk: Desk) -> None:
    twice = [row for row in desk.of("help") if row["rule"] == "exact_duplicate"]
    assert len(twice) == 1
    both = [row for row in desk.of("help") if row["document_id"] == twice[0]["document_id"]]
    assert len({row["path"] for row in both}) == 2
    assert twice[0]["survivor_id"] == twice[0]["document_id"]


def test_a_broken_line_is_quarantined_at_its_first_byte(desk: Desk) -> None:
    table = desk.quarantine(desk.resolved.fresh)
    assert table.schema.equals(PLACED_QUARANTINE)
    rows = table.to_pylist()
    broken = next(row for row in rows if row["record"].startswith(b'{"id": "broken/1"'))
    file = desk.world.help_files[0]
    assert broken["path"] == file.relative_to(desk.world.root).as_posix()
    assert broken["offset"] == file.read_bytes().index(BROKEN)
    assert broken["source"] == "help"
    assert broken["reason"]


def test_every_record_has_a_decision_or_a_quarantine_row(desk: Desk) -> None:
    books = Books.total([Books.parse(item.books) for item in desk.prepared])
    quarantine = desk.quarantine(desk.resolved.fresh)
    records_in = books.stage("ingest").in_.records
    assert records_in == 24 + 3 + 6 + 6 + 10
    assert len(desk.decisions) + quarantine.num_rows == records_in


def test_quarantine_of_partitions_that_the_parent_had_is_not_told_again(desk: Desk) -> None:
    assert desk.quarantine(frozenset()).num_rows == 0


def test_a_removed_document_has_a_decision_without_a_place(desk: Desk) -> None:
    gone = {"document_id": b"d" * 32, "raw_content_id": b"r" * 32, "content_id": b"c" * 32}
    where = {"segment": 0, "shard": 0, "span": 0, "num_tokens": 5}
    published = pa.Table.from_pylist([{**gone, **where}], schema=PUBLISHED)
    resolved = resolve(desk.stage, desk.plan, desk.prepared, published, desk.world)
    table = decisions_of(desk.stage, desk.plan, resolved)
    assert table.schema.equals(PLACED_DECISIONS)
    removed = [row for row in table.to_pylist() if row["verdict"] == "removed"]
    assert [row["document_id"] for row in removed] == [b"d" * 32]
    assert (removed[0]["source"], removed[0]["path"], removed[0]["offset"]) == (None, None, None)


def listed(desk: Desk, slice_rows: int) -> list[pa.Table]:
    pairs = placed_records(desk.stage, desk.plan, desk.resolved, slice_rows)
    return [pa.concat_tables(tables) for tables in zip(*pairs, strict=True)]


@pytest.mark.parametrize("slice_rows", [1, 7, 25])
def test_lists_are_the_same_however_little_memory_there_is(desk: Desk, slice_rows: int) -> None:
    here, there = listed(desk, slice_rows), listed(desk, 1_000)
    assert [table.schema for table in here] == [table.schema for table in there]
    assert [table_root(table) for table in here] == [table_root(table) for table in there]
    decisions, signals = here
    assert decisions["document_id"] == signals["document_id"]
    assert list(desk.stage._root.glob("spills/.*")) == []


@pytest.mark.parametrize("slice_rows", [1, 7, 25])
def test_new_documents_are_the_same_however_little_memory_there_is(
    desk: Desk, slice_rows: int
) -> None:
    def new(rows: int) -> tuple[pa.Table, pa.Table, NewDocuments]:
        desk.stage.prune(NEW_KIND, set())
        published = TableRows.of_published(PUBLISHED.empty_table())
        resolving = Resolving(desk.resolved.documents, published)
        resolved = conclude(
            desk.stage, desk.plan, desk.resolved.documents, resolving, frozenset(), rows
        )
        entry = staged(desk.stage, NEW_KIND, resolved.key)
        return staged_table(entry, "new"), staged_table(entry, "places"), resolved.new

    here, there = new(slice_rows), new(1_000)
    assert here[:2] == there[:2]
    assert here[0].num_rows > 25
    assert here[2].first.tolist() == there[2].first.tolist() == sorted(here[2].first.tolist())
    assert here[2].place.tolist() == there[2].place.tolist()


def test_a_partition_of_other_rows_than_were_counted_is_refused(desk: Desk) -> None:
    wrong = [replace(desk.prepared[0], num_documents=1_000), *desk.prepared[1:]]
    rows = InputRows(desk.stage, desk.plan, wrong, (), tuple(range(4)))
    with pytest.raises(IntegrityError, match="partition 0 holds .* and 1000 were counted"):
        list(rows.read(["num_bytes"]))


def test_the_partitions_are_listed_by_key_whatever_their_order(desk: Desk) -> None:
    table = partition_table(desk.plan.partitions)
    assert table.schema.equals(PARTITIONS)
    assert table["key"].to_pylist() == sorted(item.key.raw for item in desk.plan.partitions)
    assert table_root(partition_table(desk.plan.partitions[::-1])) == table_root(table)
    assert sum(table["num_bytes"].to_pylist()) == sum(
        item.partition.num_bytes for item in desk.plan.partitions
    )


def test_partitions_that_were_prepared_are_found_again(desk: Desk) -> None:
    build = os.urandom(16).hex()
    signer = desk.workspace.signer("builder")
    desk.workspace.gate.release(AccessRequest(signer, DATASET, "raw", "build", on_behalf=build))
    assignment = Assignment(str(desk.world.root), DATASET, desk.plan.spec.digest(), build)
    again = prepare_partitions(assignment, desk.plan.partitions)
    assert all(item.reused and not item.seconds for item in again)
    assert [item.books for item in again] == [item.books for item in desk.prepared]


def test_a_worker_whose_build_was_given_no_keys_does_nothing(desk: Desk) -> None:
    assignment = Assignment(str(desk.world.root), DATASET, desk.plan.spec.digest(), "0f" * 16)
    with pytest.raises(AccessDenied, match="was given no keys"):
        prepare_partitions(assignment, desk.plan.partitions)


def test_a_worker_that_finds_another_spec_stops(desk: Desk) -> None:
    assignment = Assignment(str(desk.world.root), DATASET, digest_of(b"another"), "0f" * 16)
    with pytest.raises(Conflict, match="changed meanwhile"):
        prepare_partitions(assignment, desk.plan.partitions)
