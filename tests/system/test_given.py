"""What the order says of the past is what a watched feed really gave."""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

import shardline
from flows.storage import workspace_tiers
from lineage.audit.documents import ask_documents
from lineage.audit.reading import Reading
from lineage.audit.runs import ask_run
from lineage.audit.search import Wanted
from lineage.ids import IdHasher, RecordKey
from shardline.feed.samples import Batch
from tests.system.world import DATASET, SAMPLE_TOKENS, Book, World, shard_samples

pytestmark = pytest.mark.system
BATCH, EPOCHS, SAVED_AT, LOST_AT = 8, 2, (5, 30), 37


@dataclass
class Watch:
    """Writes down the content of every sample that two ranks are given, step by step."""

    steps: list[set[bytes]] = field(default_factory=list)
    tokens: dict[bytes, np.ndarray] = field(default_factory=dict)

    def see(self, *batches: Batch) -> None:
        given = set()
        for batch in batches:
            for ids, mask in zip(batch.input_ids, batch.loss_mask, strict=True):
                sample = ids.tobytes() + mask.tobytes()
                self.tokens[sample] = ids
                given.add(sample)
        assert len(given) == BATCH
        self.steps.append(given)


@pytest.fixture
def watch(built: World, tmp_path: Path) -> tuple[World, str, Watch]:
    """Two ranks train; at step 37 all is lost and goes on from the checkpoint of step 30."""
    watch = Watch()
    model = tmp_path / "model.bin"
    with shardline.training_run(
        DATASET, model="watched", seed=11, workspace=built.root, allow_unapproved=True
    ) as run:
        other = shardline.training_run(
            DATASET, model="watched", seed=11, workspace=built.root, join=run.id
        )
        feeds = [
            shardline.ShardFeed(source, batch_size=BATCH, rank=rank, ranks=2, epochs=EPOCHS)
            for rank, source in enumerate((run, other))
        ]
        state = {}
        for batches in zip(*feeds, strict=True):
            watch.see(*batches)
            if feeds[0].step in SAVED_AT:
                model.write_bytes(b"weights of step %d" % feeds[0].step)
                run.checkpoint(model)
                state = feeds[0].state_dict()
            if feeds[0].step == LOST_AT:
                break
        for feed in feeds:
            feed.load_state_dict(state)
        for batches in zip(*feeds, strict=True):
            watch.see(*batches)
        model.write_bytes(b"weights of the end")
        run.checkpoint(model)
    return built, run.id, watch


def test_the_first_step_of_every_document_is_what_was_seen(
    watch: tuple[World, str, Watch],
) -> None:
    world, run_id, seen = watch
    with world.read() as book:
        rows = rows_of_documents(book)
        answer = ask_documents(book.reading, Wanted(where="verdict = 'kept'"), None, 1000)
    assert answer.complete
    documents = {bytes.fromhex(item["document_id"]): item for item in answer.facts["documents"]}
    assert documents.keys() == rows.keys()
    for document, samples in rows.items():
        (run,) = documents[document]["runs"]
        assert run["run"] == run_id
        assert given(run) == brute_force(seen, samples), document.hex()


def test_the_sums_are_what_was_seen(watch: tuple[World, str, Watch]) -> None:
    world, run_id, seen = watch
    with world.open() as workspace:
        facts = ask_run(Reading(workspace, workspace_tiers(workspace), "audit"), run_id).facts
    assert facts["given"]["steps"] == len(seen.steps)
    assert facts["given"]["samples"] == len(seen.steps) * BATCH
    assert facts["given"]["tokens"] == len(seen.steps) * BATCH * SAMPLE_TOKENS
    assert facts["given"]["epochs_begun"] == EPOCHS
    assert [item["step"] for item in facts["checkpoints"]][:2] == list(SAVED_AT)


def test_what_was_given_reads_as_the_documents_themselves(
    watch: tuple[World, str, Watch],
) -> None:
    world, _, seen = watch
    tokenizer = Tokenizer.from_file(str(world.root / "tokenizer.json"))
    with world.read() as book, world.open() as workspace:
        texts = texts_by_id(world, workspace.id_hasher())
        assert texts.keys() == book.kept_ids()
        for document, pieces in pieces_of_documents(book).items():
            ids = [seen.tokens[sample][first:last] for sample, first, last in pieces]
            assert all(len(part) for part in ids)
            tokens = np.concatenate(ids).tolist()
            assert tokenizer.id_to_token(tokens[-1]) == "<|endoftext|>"
            assert tokenizer.decode(tokens[:-1], skip_special_tokens=False) == texts[document]


def given(run: dict[str, Any]) -> dict[str, Any]:
    saved = run["first_checkpoint"]
    return {
        "first_step": run["first_step"],
        "times": run["times"],
        "tokens": run["tokens"],
        "first_checkpoint": None if saved is None else saved["step"],
    }


def brute_force(seen: Watch, samples: dict[bytes, int]) -> dict[str, Any]:
    """The same facts by looking at every step; samples with the document's tokens in each."""
    # The run's own numbers: after the loss it counts on from the checkpoint.
    back = SAVED_AT[-1]
    numbers = [*range(LOST_AT), *range(back, back + len(seen.steps) - LOST_AT)]
    end, epoch = numbers[-1] + 1, (numbers[-1] + 1) // EPOCHS
    assert epoch > LOST_AT
    hits = [(number, samples.keys() & seen.steps[at]) for at, number in enumerate(numbers)]
    held = [number for number, found in hits if found]
    before, after = ([n for n, found in part if found] for part in (hits[:LOST_AT], hits[LOST_AT:]))
    # Once for each epoch, and once more for what the loss gave again.
    times = [before, [n for n in after if n < epoch], [n for n in after if n >= epoch]]
    surviving = [number for number in before if number < back] + after
    saved = [step for step in (*SAVED_AT, end) if surviving and step > min(surviving)]
    return {
        "first_step": min(held, default=None),
        "times": sum(map(bool, times)),
        "tokens": sum(samples[sample] for _, found in hits for sample in found),
        "first_checkpoint": min(saved, default=None),
    }


def rows_of_documents(book: Book) -> dict[bytes, dict[bytes, int]]:
    """For each document the samples that hold it, with its tokens in each, token by token."""
    found: dict[bytes, dict[bytes, int]] = defaultdict(lambda: defaultdict(int))
    for document, pieces in pieces_of_documents(book).items():
        for sample, first, last in pieces:
            found[document][sample] += last - first
    return found


def pieces_of_documents(book: Book) -> dict[bytes, list[tuple[bytes, int, int]]]:
    """For each document its pieces in order: sample, first and last place in it (exclusive)."""
    found: dict[bytes, list[tuple[bytes, int, int]]] = {}
    everything: set[bytes] = set()
    for shard in book.shard_names():
        samples = shard_samples(book, shard)
        assert not everything & set(samples)
        everything |= set(samples)
        for span in book.open(shard.replace("shard-", "spans-")).to_pylist():
            places = np.arange(span["start"], span["start"] + span["num_tokens"])
            pieces = found.setdefault(span["document_id"], [])
            for row in np.unique(places // SAMPLE_TOKENS):
                inside = places[places // SAMPLE_TOKENS == row] % SAMPLE_TOKENS
                pieces.append((samples[row], int(inside[0]), int(inside[-1]) + 1))
    return found


def texts_by_id(world: World, hasher: IdHasher) -> dict[bytes, str]:
    """Every document of the sources, read here with nothing of the product but the ids."""
    found: dict[bytes, str] = {}

    def note(source: str, key: RecordKey, text: str) -> None:
        found[hasher.document_id(source, key)] = unicodedata.normalize("NFC", text)

    for path in world.help_files:
        for line in path.read_bytes().splitlines():
            row = json.loads(line)
            note("help", RecordKey.own(row["id"]), row["text"])
    for line in (world.root / "text/rights.jsonl").read_bytes().splitlines():
        text = json.loads(line)["text"]
        note("rights", RecordKey.content(text.encode()), text)
    for path in (world.root / "text/guide").iterdir():
        note("guide", RecordKey.content(path.read_bytes()), path.read_text("utf-8"))
    for row in pq.read_table(world.root / "text/handbook.parquet").to_pylist():
        note("handbook", RecordKey.own(row["id"]), row["text"])
    return found
