"""A training run: what it may read, what it was given and what it saved stand in the ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardline
from flows.storage import workspace_tiers
from lineage.approvals import approve
from lineage.audit.index import LedgerIndex
from lineage.audit.reading import Reading
from lineage.audit.runs import ask_run
from lineage.consumption import Consumption
from lineage.digest import canonical_json, digest_of
from lineage.errors import AccessDenied, ConfigError, NotFound
from lineage.keys.keytable import committed_head
from lineage.keys.trust import workspace_trust
from lineage.ledger.entry import Entry
from lineage.ledger.verify import verify_ledger
from lineage.versions import find_version
from shardline.run import TrainingRun, checkpoint_digest
from tests.system.world import SAMPLE_TOKENS, World

SECRET = "s3cret-value-of-a-variable"
REASON = "because two of us read the licences"
JOINS = """
import hashlib, json, sys
import shardline
root, joined = sys.argv[1:]
with shardline.training_run("corpus", model="small", seed=7, workspace=root, join=joined) as run:
    feed = shardline.ShardFeed(run, batch_size=4, rank=1, ranks=2)
    print(json.dumps([hashlib.sha256(batch.input_ids.tobytes()).hexdigest() for batch in feed]))
"""


@pytest.fixture
def approved(built: World) -> World:
    with built.open() as workspace:
        approve(workspace, find_version(workspace.ledger.entries(), "corpus"), REASON)
    return built


def begin(world: World, **changes: Any) -> TrainingRun:
    arguments: dict[str, Any] = {"model": "small", "seed": 7, "workspace": world.root}
    return shardline.training_run("corpus", **{**arguments, **changes})


def entries(world: World, *predicates: str) -> list[Entry]:
    with world.open() as workspace:
        return list(workspace.ledger.entries(predicates=set(predicates) or None))


def given(world: World, run: str) -> list[tuple[int, int, int, int]]:
    """Epoch, position, first step and number of steps of each consumption of a run."""
    found = []
    for entry in entries(world, "consumption"):
        if entry.body["run"] == run:
            body = {name: value for name, value in entry.body.items() if name != "run"}
            part = Consumption.from_json(body)
            found.append((part.epoch, part.position, part.first_step, part.num_steps))
    return found


def take(feed: shardline.ShardFeed, steps: int) -> Iterator[Any]:
    return islice(iter(feed), steps)


def exhaust(feed: shardline.ShardFeed, steps: int) -> None:
    assert len(list(take(feed, steps))) == steps


def facts_of(world: World, name: str) -> dict[str, Any]:
    with world.open() as workspace:
        reading = Reading(workspace, workspace_tiers(workspace), "audit")
        return dict(ask_run(reading, name).facts)


def test_an_approved_version_is_read_as_approved(approved: World) -> None:
    with begin(approved) as run:
        assert run.version_name == "corpus@v1"
    (entry,) = entries(approved, "run")
    (access,) = (e for e in entries(approved, "access") if e.body["on_behalf"] == run.id)
    assert entry.body["approved"] is True
    assert (access.body["zone"], access.body["purpose"]) == ("approved", "train")
    assert access.body["version"] == entry.body["version"] == str(run.version)
    assert int(entry.body["access"]) == access.position < entry.position


def test_a_version_that_nobody_approved_is_refused_and_no_run_begins(built: World) -> None:
    with pytest.raises(AccessDenied, match=r"nobody approved corpus@v1") as caught:
        begin(built)
    assert caught.value.exit_code == 4
    assert caught.value.hint.startswith("shardline approve corpus@v1 --reason")
    assert entries(built)[-1].predicate == "refusal"
    assert entries(built)[-1].body["reason"] == "not-approved"
    assert entries(built, "run") == []


def test_who_insists_reads_it_and_the_run_says_so_for_good(built: World) -> None:
    with begin(built, allow_unapproved=True) as run:
        exhaust(shardline.ShardFeed(run, batch_size=2), 1)
    (entry,) = entries(built, "run")
    assert entry.body["approved"] is False
    (access,) = (e for e in entries(built, "access") if e.body["on_behalf"] == run.id)
    assert access.body["zone"] == "processed"
    assert facts_of(built, run.id)["approved_when_read"] is False


def test_a_later_approval_does_not_change_what_the_run_said(built: World) -> None:
    with begin(built, allow_unapproved=True) as run:
        pass
    with built.open() as workspace:
        approve(workspace, find_version(workspace.ledger.entries(), "corpus"), REASON)
    facts = facts_of(built, run.id)
    assert facts["approved_when_read"] is False
    assert len(facts["approvals"]) == 1


def test_what_was_given_is_recorded_at_each_checkpoint_and_at_the_end(
    approved: World, tmp_path: Path
) -> None:
    (tmp_path / "weights").write_bytes(b"weights")
    with begin(approved) as run:
        batches = take(shardline.ShardFeed(run, batch_size=2), 5)
        list(islice(batches, 3))
        run.checkpoint(tmp_path / "weights")
        assert given(approved, run.id) == [(0, 0, 0, 3)]
        list(batches)
    assert given(approved, run.id) == [(0, 0, 0, 3), (0, 6, 3, 2)]
    run.finish()
    assert given(approved, run.id) == [(0, 0, 0, 3), (0, 6, 3, 2)]
    facts = facts_of(approved, run.id)["given"]
    assert (facts["steps"], facts["samples"]) == (5, 10)
    assert facts["tokens"] == 10 * SAMPLE_TOKENS


def test_a_run_without_a_batch_records_no_consumption(approved: World) -> None:
    with begin(approved) as run:
        pass
    assert given(approved, run.id) == []
    assert facts_of(approved, run.id)["given"]["steps"] == 0


def test_a_training_that_fails_still_records_what_it_was_given(approved: World) -> None:
    run = begin(approved)
    with pytest.raises(ZeroDivisionError), run:
        exhaust(shardline.ShardFeed(run, batch_size=2), 4)
        raise ZeroDivisionError
    assert given(approved, run.id) == [(0, 0, 0, 4)]


def test_a_run_through_several_epochs_says_where_each_stretch_began(approved: World) -> None:
    with begin(approved) as run:
        feed = shardline.ShardFeed(run, batch_size=8, epochs=3)
        steps = feed.steps_per_epoch
        batches = iter(feed)
        list(islice(batches, steps + 1))
        run.finish()
        list(batches)
    assert given(approved, run.id) == [(0, 0, 0, steps + 1), (1, 8, steps + 1, 2 * steps - 1)]
    assert facts_of(approved, run.id)["given"]["epochs_begun"] == 3


def test_a_resumed_run_goes_on_where_the_first_one_stopped(approved: World, tmp_path: Path) -> None:
    with begin(approved) as first:
        feed = shardline.ShardFeed(first, batch_size=2)
        exhaust(feed, 3)
        state = json.loads(json.dumps(feed.state_dict()))
        (expected,) = take(feed, 1)
        (tmp_path / "weights").write_bytes(b"weights")
        first.checkpoint(tmp_path / "weights", step=3)
    with begin(approved, base_checkpoint=tmp_path / "weights") as second:
        feed = shardline.ShardFeed(second, batch_size=2)
        feed.load_state_dict(state)
        (resumed,) = take(feed, 1)
    assert given(approved, second.id) == [(0, 6, 3, 1)]
    assert (resumed.step, resumed.position) == (3, 6)
    assert np.array_equal(resumed.input_ids, expected.input_ids)


def test_a_feed_that_goes_back_begins_a_new_stretch(approved: World) -> None:
    with begin(approved) as run:
        feed = shardline.ShardFeed(run, batch_size=2)
        exhaust(feed, 2)
        state = feed.state_dict()
        exhaust(feed, 3)
        feed.load_state_dict(state)
        exhaust(feed, 1)
    assert given(approved, run.id) == [(0, 0, 0, 5), (0, 4, 2, 1)]


def test_a_checkpoint_of_a_file_is_its_digest_and_step(approved: World, tmp_path: Path) -> None:
    (tmp_path / "weights.npz").write_bytes(b"the weights")
    with begin(approved) as run:
        exhaust(shardline.ShardFeed(run, batch_size=2), 2)
        digest = run.checkpoint(tmp_path / "weights.npz")
    (entry,) = entries(approved, "checkpoint")
    assert digest == digest_of(b"the weights")
    assert (entry.body["step"], entry.body["model_bytes"]) == ("2", "11")
    assert entry.body["checkpoint"] == str(digest)
    assert entry.position > entries(approved, "consumption")[-1].position


def test_a_checkpoint_of_a_folder_is_the_digest_of_its_list(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    (folder / "deep").mkdir(parents=True)
    (folder / "b").write_bytes(b"one")
    (folder / "deep" / "a").write_bytes(b"two")
    files = {"b": digest_of(b"one"), "deep/a": digest_of(b"two")}
    listed = {"format": "shardline/checkpoint/v1", "files": files}
    assert checkpoint_digest(folder) == digest_of(canonical_json(listed))
    before = checkpoint_digest(str(folder))
    folder.rename(tmp_path / "moved")
    assert checkpoint_digest(tmp_path / "moved") == before
    (tmp_path / "moved" / "b").rename(tmp_path / "moved" / "c")
    assert checkpoint_digest(tmp_path / "moved") != before


def test_a_folder_checkpoint_counts_the_bytes_of_its_files(approved: World, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(bytes(100))
    with begin(approved) as run:
        run.checkpoint(folder, step=0)
    (entry,) = entries(approved, "checkpoint")
    assert (entry.body["step"], entry.body["model_bytes"]) == ("0", "200")


def test_a_checkpoint_that_is_not_there_or_has_no_step_records_nothing(
    approved: World, tmp_path: Path
) -> None:
    (tmp_path / "weights").write_bytes(b"weights")
    with begin(approved) as run:
        with pytest.raises(ConfigError, match="before the first batch") as caught:
            run.checkpoint(tmp_path / "weights")
        assert caught.value.hint == "name its step: step=0"
        with pytest.raises(NotFound, match="no such checkpoint"):
            run.checkpoint(tmp_path / "missing")
    assert entries(approved, "checkpoint") == []


def test_the_chain_of_base_checkpoints_is_told(approved: World, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    saved = []
    for number in range(3):
        base = weights if number else None
        with begin(approved, model=f"model-{number}", base_checkpoint=base) as run:
            weights.write_bytes(b"weights %d" % number)
            run.checkpoint(weights, step=number)
        saved.append(run.id)
    facts = facts_of(approved, "model-2")
    assert facts["base_checkpoint"]["recorded_here"]
    assert (facts["base_checkpoint"]["run"], facts["base_checkpoint"]["step"]) == (saved[1], 1)
    upstream = facts["base_checkpoint"]["upstream"]
    assert upstream["model"] == "model-1"
    assert upstream["base_checkpoint"]["upstream"]["run"] == saved[0]
    assert upstream["base_checkpoint"]["upstream"]["base_checkpoint"] is None


def test_a_base_checkpoint_from_elsewhere_is_named_by_its_digest(approved: World) -> None:
    digest = str(digest_of(b"weights of somebody else"))
    with begin(approved, base_checkpoint=digest) as run:
        pass
    base = facts_of(approved, run.id)["base_checkpoint"]
    assert base == {"checkpoint": digest, "recorded_here": False}


def test_a_run_whose_base_is_its_own_checkpoint_is_told_once(
    approved: World, tmp_path: Path
) -> None:
    (tmp_path / "weights").write_bytes(b"weights")
    with begin(approved, base_checkpoint=tmp_path / "weights") as run:
        run.checkpoint(tmp_path / "weights", step=0)
    base = facts_of(approved, run.id)["base_checkpoint"]
    assert (base["run"], "upstream" in base) == (run.id, False)


def test_a_base_checkpoint_that_is_missing_stops_before_anything_is_recorded(
    approved: World, tmp_path: Path
) -> None:
    before = len(entries(approved))
    with pytest.raises(NotFound, match="no such checkpoint"):
        begin(approved, base_checkpoint=tmp_path / "missing")
    assert len(entries(approved)) == before


def test_a_second_rank_joins_from_another_process_and_records_nothing(approved: World) -> None:
    with begin(approved) as run:
        before = len(entries(approved))
        command = [sys.executable, "-c", JOINS, str(approved.root), run.id]
        done = subprocess.run(
            command, capture_output=True, check=True, cwd=Path(__file__).parents[2]
        )
        assert len(entries(approved)) == before
        theirs = json.loads(done.stdout)
        ours = shardline.ShardFeed(run, batch_size=4, rank=1, ranks=2)
        assert len(theirs) == ours.steps_per_epoch
        assert theirs == [digest_of(batch.input_ids.tobytes()).hex for batch in ours]


def test_a_rank_that_would_read_something_else_cannot_join(approved: World) -> None:
    with begin(approved) as run:
        with pytest.raises(ConfigError, match=r"reads corpus@v1 with seed 7, this rank corpus@v1"):
            begin(approved, join=run.id, seed=8)
        with pytest.raises(AccessDenied, match="was given no keys"):
            begin(approved, join="0f" * 16)


def test_an_unknown_version_is_not_found_and_a_wrong_name_refused(built: World) -> None:
    with pytest.raises(NotFound, match="no version of other was published"):
        shardline.training_run("other", model="m", seed=1, workspace=built.root)
    with pytest.raises(NotFound, match="has versions v1 to v1"):
        shardline.training_run("corpus@v2", model="m", seed=1, workspace=built.root)
    with pytest.raises(ConfigError, match="names no version"):
        shardline.training_run("corpus@", model="m", seed=1, workspace=built.root)


def test_the_workspace_is_found_from_the_folder_of_the_training_code(
    approved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = approved.root / "training" / "code"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    with begin(approved, workspace=None) as run:
        assert run.version_name == "corpus@v1"
    monkeypatch.chdir("/")
    with pytest.raises(NotFound, match="no workspace here or above"):
        begin(approved, workspace=None)


def test_a_run_leaves_the_ledger_sound_and_the_key_table_committed(approved: World) -> None:
    with begin(approved) as run:
        exhaust(shardline.ShardFeed(run, batch_size=2), 1)
    with approved.open() as workspace:
        assert not verify_ledger(workspace.ledger, workspace_trust(workspace.config))
        assert committed_head(workspace.ledger.entries()) == workspace.keys.head()
        assert LedgerIndex(workspace.ledger.entries()).run(run.id).model == "small"


def test_no_entry_names_a_path_a_text_or_a_secret(
    approved: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    (tmp_path / "weights-of-mine.npz").write_bytes(b"weights")
    with begin(approved) as run:
        exhaust(shardline.ShardFeed(run, batch_size=2), 1)
        run.checkpoint(tmp_path / "weights-of-mine.npz")
    texts = [json.loads(line)["text"] for line in approved.help_files[0].read_bytes().splitlines()]
    words = [text[start : start + 16] for text in texts for start in range(0, 200, 16)]
    never = [SECRET, REASON, str(approved.root), str(tmp_path), "text/help", ".jsonl", ".parquet"]
    never += ["weights-of-mine", "libreoffice", os.uname().nodename, *filter(None, words)]
    for entry in entries(approved):
        said = json.dumps(dict(entry.body), ensure_ascii=False)
        said += json.dumps([subject.name for subject in entry.subjects], ensure_ascii=False)
        for word in never:
            assert len(word) < 6 or word not in said, (entry.predicate, entry.position)


def test_a_secret_variable_is_nowhere_in_the_workspace(
    approved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with begin(approved) as run:
        pass
    environment = facts_of(approved, run.id)["environment"]
    assert environment["variables"]["WORLD_SIZE"] == "2"
    assert SECRET not in json.dumps(environment)
    for path in approved.root.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
