"""From raw text to the answer: what was this model trained on, and where did it come from?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

import shardline
from lineage.errors import AccessDenied
from tests.system.world import DATASET, SAMPLE, World, add_lines, record, sample_lines, write_text

pytestmark = pytest.mark.system
V1 = f"{DATASET}@v1"


class Bigrams:
    """A model of counts: how often a token follows another."""

    def __init__(self, num_ids: int) -> None:
        self.counts = np.zeros((64, 64), np.int64)
        self.num_ids = num_ids

    def learn(self, batch: Any) -> None:
        assert int(batch.input_ids.max()) < self.num_ids
        ids = batch.input_ids[:, :-1] % 64, batch.input_ids[:, 1:] % 64
        np.add.at(self.counts, ids, batch.loss_mask[:, 1:].astype(np.int64))


def train(world: World, path: Path, **more: Any) -> str:
    """The five lines of a user's training code."""
    with shardline.training_run(
        DATASET, model="bigrams", seed=7, workspace=world.root, **more
    ) as run:
        model = Bigrams(run.num_ids)
        for batch in shardline.ShardFeed(run, batch_size=16):
            model.learn(batch)
        np.save(path, model.counts)
        run.checkpoint(path)
        return str(run.id)


@pytest.fixture
def trained(built: World, cli: Callable[..., Any], tmp_path: Path) -> tuple[World, str]:
    said = cli("approve", V1, "--reason", "licences were looked at", "-w", built.root)
    assert said.code == 0
    return built, train(built, tmp_path / "model.npy")


def shell(*arguments: str | Path, at: Path) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own."""
    command = [sys.executable, "-m", "shardline", *map(str, arguments)]
    return subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_new_user_goes_the_whole_way_on_the_command_line(
    built: World, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    world = World(tmp_path / "mine")
    made = shell("init", world.root, at=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    write_text(world.root / "text")
    (world.root / "tokenizer.json").write_bytes((SAMPLE / "tokenizer.json").read_bytes())
    world.write_spec()

    done = shell("build", DATASET, "--json", "--workers", "2", at=world.root / "text")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    assert (report["version"], report["documents_added"]) == (V1, 46)
    assert world.content_roots() == built.content_roots()

    again = cli("build", DATASET, "-w", world.root)
    assert (again.code, again.out.split()[:3]) == (0, ["nothing", "new", V1])
    assert cli("approve", V1, "--reason", "a test", "-w", world.root).code == 0
    run = train(world, tmp_path / "model.npy")
    facts = cli("audit", "run", run, "--json", "-w", world.root).json["answer"]
    assert facts["version"]["manifest"] == report["manifest"]
    assert {item["licence"] for item in facts["sources"]} >= {"MPL-2.0", "GPL-2.0-only"}
    sound = cli("audit", "verify", "-w", world.root)
    assert (sound.code, "sound" in sound.out) == (0, True)


def test_audit_run_tells_everything_upstream(
    trained: tuple[World, str], cli: Callable[..., Any]
) -> None:
    world, run = trained
    answer = cli("audit", "run", "bigrams", "--json", "-w", world.root).json
    facts = answer["answer"]
    assert facts["run"] == run
    assert facts["version"]["name"] == V1
    assert facts["approved_when_read"] is True
    assert len(facts["approvals"]) == 1
    documents = {item["source"]: item["documents"] for item in facts["sources"]}
    assert documents == {"help": 24, "rights": 6, "guide": 6, "handbook": 10}
    assert {item["name"] for item in facts["transforms"]} >= {"nfc"}
    assert facts["tokenizer"]["num_ids"]
    assert facts["environment"]["packages"]["pyarrow"]
    assert [item["step"] for item in facts["checkpoints"]] == [facts["given"]["steps"]]
    assert facts["base_checkpoint"] is None
    assert answer["complete"] is True
    assert answer["mode"] == "self-attested"
    assert answer["tree_size"] > max(facts["keys_released"])
    said = cli("audit", "run", run[:8], "-w", world.root)
    for words in (V1, "MPL-2.0", "approved", "checkpoint", "complete up to ledger entry"):
        assert words in said.out
    listed = cli("audit", "runs", "--json", "-w", world.root).json["answer"]["runs"]
    assert [item["run"] for item in listed] == [run]


def test_a_document_is_found_by_its_id_its_text_and_a_condition(
    trained: tuple[World, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    world, run = trained
    row = json.loads(world.help_files[1].read_bytes().splitlines()[0])
    exact = tmp_path / "exact.txt"
    exact.write_text(row["text"], encoding="utf-8")

    def ask(*how: str | Path) -> list[dict[str, Any]]:
        said = cli("audit", "document", *how, "--json", "-w", world.root)
        assert said.code == 0
        return list(said.json["answer"]["documents"])

    (by_id,) = ask("--id", row["id"])
    assert by_id["versions"][0]["version"] == V1
    assert by_id["versions"][0]["shards"]
    (given,) = by_id["runs"]
    assert (given["run"], given["times"], given["keys_released"]) == (run, 1, True)
    assert given["first_checkpoint"]["step"] > given["first_step"]
    place = by_id["last_decision"]
    assert (place["path"], place["offset"], place["verdict"]) == ("text/help/b.jsonl", 0, "kept")
    (by_text,) = ask("--text-file", exact)
    (by_place,) = ask("--where", "path LIKE '%b.jsonl' AND \"offset\" = 0")
    (by_document_id,) = ask("--id", by_id["document_id"])
    assert by_id == by_text == by_place == by_document_id
    assert len(ask("--where", "source = 'help'", "--limit", "100")) == 24
    said = cli("audit", "document", "--id", row["id"], "-w", world.root)
    assert "given once, first at step" in said.out


def test_a_look_up_by_text_is_recorded_as_one(
    trained: tuple[World, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    world, _ = trained
    nowhere = tmp_path / "nowhere.txt"
    nowhere.write_text("This sentence is in no document.", encoding="utf-8")
    assert cli("audit", "document", "--text-file", nowhere, "-w", world.root).code == 3
    with world.open() as workspace:
        last = list(workspace.ledger.entries(predicates={"access"}))[-1]
        assert last.body["purpose"] == "lookup"
        assert "sentence" not in json.dumps(dict(last.body))


def test_why_tells_each_decision_on_a_document(built: World, cli: Callable[..., Any]) -> None:
    text = json.loads(sample_lines("udhr", 6)[0])["text"][:3000]
    add_lines(built.help_files[3], [record(text, "twin/1")])
    built.build()
    said = cli("why", DATASET, "twin/1", "--json", "-w", built.root)
    (document,) = said.json["answer"]["documents"]
    (decision,) = document["decisions"]
    assert (decision["version"], decision["rule"]) == ("corpus@v2", "exact_duplicate")
    survivor = cli("why", DATASET, decision["survivor_id"], "--json", "-w", built.root)
    assert survivor.json["answer"]["documents"][0]["lies_in"][V1]["shards"]
    spoken = cli("why", DATASET, "twin/1", "-w", built.root)
    assert "dropped by exact_duplicate" in spoken.out
    assert decision["survivor_id"] in spoken.out


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (2, "audit document"),
        (2, "audit document --id a --where b"),
        (2, "audit document --where nonsense("),
        (2, "audit document --where \"document_id IN (SELECT * FROM '/etc/passwd')\""),
        (2, "approve CORPUS@one --reason because"),
        (3, "audit document --id nobody"),
        (3, f"audit document --id {64 * chr(48)}"),
        (3, f"why corpus {64 * chr(48)}"),
        (3, "audit document --id nobody --dataset other"),
        (3, "audit run nobody"),
        (3, "why corpus nobody"),
        (3, "why other nobody"),
        (3, "approve corpus@v9 --reason because"),
        (3, "build other"),
        (3, "versions other"),
        (3, "tier status corpus@v2"),
    ],
)
def test_a_question_that_has_no_answer_says_so_in_one_line(
    code: int, command: str, built: World, cli: Callable[..., Any]
) -> None:
    words = [part.strip('"') for part in re.findall(r'"[^"]*"|\S+', command)]
    said = cli(*words, "-w", built.root)
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("error: ")
    assert len(said.err.splitlines()) <= 2


def test_a_version_that_nobody_approved_is_refused_and_the_refusal_recorded(
    built: World, tmp_path: Path
) -> None:
    with pytest.raises(AccessDenied, match="approve"):
        train(built, tmp_path / "model.npy")
    with built.open() as workspace:
        (refusal,) = workspace.ledger.entries(predicates={"refusal"})
        assert refusal.body["purpose"] == "train"
        assert not list(workspace.ledger.entries(predicates={"run"}))
    run = train(built, tmp_path / "model.npy", allow_unapproved=True)
    with built.open() as workspace:
        (entry,) = workspace.ledger.entries(predicates={"run"})
        assert (entry.body["run"], entry.body["approved"]) == (run, False)


def test_a_run_names_the_checkpoint_that_it_started_from(
    trained: tuple[World, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    world, first = trained
    second = train(world, tmp_path / "tuned.npy", base_checkpoint=tmp_path / "model.npy")
    base = cli("audit", "run", second, "--json", "-w", world.root).json["answer"]["base_checkpoint"]
    assert (base["recorded_here"], base["run"]) == (True, first)
    assert base["upstream"]["version"]["name"] == V1


def test_an_end_token_that_is_written_in_a_text_stays_text(fresh: World) -> None:
    add_lines(fresh.help_files[0], [record("before <|endoftext|> after", "literal/1")], at=0)
    fresh.build()
    end = Tokenizer.from_file(str(fresh.root / "tokenizer.json")).token_to_id("<|endoftext|>")
    assert end is not None
    with fresh.read() as book:
        spans = [book.open(name.replace("shard-", "spans-")) for name in book.shard_names()]
        documents = sum(part.num_rows for part in spans)
        ends = [count_counted(book, name, end) for name in book.shard_names()]
    assert documents == sum(ends) == 47


def count_counted(book: Any, shard: str, token: int) -> int:
    """How often a token stands in a shard where it counts for the loss."""
    found = 0
    for row in book.open(shard).to_pylist():
        ids = np.frombuffer(row["input_ids"], "<u2")
        counts = np.ones(len(ids), np.bool_)
        if row["loss_mask"] is not None:
            packed = np.frombuffer(row["loss_mask"], np.uint8)
            counts = np.unpackbits(packed, count=len(ids), bitorder="little").astype(np.bool_)
        found += int(((ids == token) & counts).sum())
    return found
