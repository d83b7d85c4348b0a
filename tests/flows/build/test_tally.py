"""Tallies of parts: however they are cut and read, the same parts are repeated."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from flows.build import tally
from flows.build.plan import BuildPlan, plan_build
from flows.build.tally import tally_partitions, with_repeated
from flows.build.worker import REPEATED, Assignment, bench, repeated_parts, stage_store
from lineage.errors import IntegrityError
from lineage.keys.gate import AccessRequest
from lineage.workspace import Workspace
from pipelines.dedup import tally as counting
from pipelines.ingest.read import read_partition
from tests.system.world import DATASET, FOUR_SOURCES, World, make_world

BUILD = "0a" * 16


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = make_world(tmp_path / "world")
    found.write_spec(FOUR_SOURCES + "\n[repeated]\nmax_documents = 1\nmin_chars = 5\n")
    return found


def tallied(workspace: Workspace) -> tuple[BuildPlan, list[int]]:
    plan = plan_build(workspace, DATASET)
    signer = workspace.signer("builder")
    workspace.gate.release(AccessRequest(signer, DATASET, "raw", "build", on_behalf=BUILD))
    job = Assignment(str(workspace.root), DATASET, plan.spec.digest(), BUILD, plan.own)
    sizes = sum(item.partition.num_bytes for item in plan.partitions)
    assert tally_partitions(job, plan.partitions) == sizes
    stage = stage_store(workspace, DATASET)
    known = with_repeated(stage, plan)
    # Again, as after a crash: what was counted is found.
    assert with_repeated(stage, plan) == known
    entry = stage.get(REPEATED, plan.inputs)
    assert entry is not None
    return known, repeated_parts(entry).tolist()


def test_small_runs_and_small_reads_find_the_same_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.open() as workspace:
        at_once, repeated = tallied(workspace)
        assert len(repeated) > 3
        shutil.rmtree(world.stage)
        bench.cache_clear()
        monkeypatch.setattr(tally, "read_partition", partial(read_partition, chunk_bytes=4000))
        monkeypatch.setattr(tally, "_RUN_PAIRS", 20)
        monkeypatch.setattr(tally, "_READ_PAIRS", 3)
        monkeypatch.setattr(tally, "bucket_runs", partial(counting.bucket_runs, held=10))
        in_pieces, found = tallied(workspace)
    assert found == repeated
    assert in_pieces.partitions == at_once.partitions


def test_a_plan_that_tallies_nothing_is_refused(world: World) -> None:
    world.write_spec()
    with world.open() as workspace:
        plan = plan_build(workspace, DATASET)
        with pytest.raises(IntegrityError, match="nothing of this spec is to be tallied"):
            with_repeated(stage_store(workspace, DATASET), plan)
    world.write_spec(FOUR_SOURCES + "\n[repeated]\nwithin = true\n")
    with world.open() as workspace:
        plan = plan_build(workspace, DATASET)
        with pytest.raises(IntegrityError, match="no key for its tally"):
            with_repeated(stage_store(workspace, DATASET), plan)
