"""A second build: what is new comes as a segment, what went becomes a hole, the rest stays."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from flows.storage import workspace_tiers
from lineage.audit.diff import ask_diff
from lineage.audit.reading import Reading
from lineage.consumption import DocumentSpan
from lineage.errors import Conflict, NotFound
from lineage.ids import RecordKey
from tests.system.world import (
    DATASET,
    SAMPLE_TOKENS,
    Book,
    World,
    add_lines,
    record,
    sample_lines,
    shard_samples,
)

pytestmark = pytest.mark.system
V1, V2 = f"{DATASET}@v1", f"{DATASET}@v2"
SEGMENT = "segment-0001"


def test_new_changed_and_removed_documents(built: World) -> None:
    gone = take_out(built, 0)
    changed = json.loads(take_out(built, 1))
    add_lines(built.help_files[1], [record(changed["text"] + "\n2026", changed["id"])])
    add_lines(built.help_files[2], sample_lines("linux-doc", 1))
    before = built.samples(V1)
    report = built.build()
    assert (report.num_new, report.num_removed) == (2, 2)
    left = [document_id(built, json.loads(gone)["id"]), document_id(built, changed["id"])]
    with built.read(V1) as old, built.read(V2) as new:
        (first,), (again, added) = old.content.segments, new.content.segments
        assert (again.order_id, again.shard_samples) == (first.order_id, first.shard_samples)
        assert (again.num_holes, added.num_documents) == (2, 2)
        assert again.num_documents == first.num_documents - 2
        assert sum(require_only_holes(old, new, shard, left) for shard in old.shard_names()) > 2
        assert reasons(new) == {left[0]: "removed", left[1]: "changed"}
        assert left[1] in new.kept_ids()
        assert left[0] not in new.kept_ids()
    assert built.samples(V1) == before
    assert built.verify() == []


def test_shards_without_a_hole_are_the_very_same_objects(built: World) -> None:
    take_out(built, 0)
    built.build()
    with built.read(V1) as old, built.read(V2) as new:
        of_segment = {item for item in old.objects if item.name.startswith(SEGMENT)}
        again = {item for item in new.objects if item.name.startswith(SEGMENT)}
        assert len(of_segment & again) == len(of_segment) - 2
        assert {item.name for item in of_segment} == {item.name for item in again}


def test_holes_alone_leave_the_running_order_as_it_was(built: World) -> None:
    (gone,) = [document_id(built, json.loads(take_out(built, 3))["id"])]
    built.build()
    before, after = built.samples(V1), built.samples(V2)
    with built.read(V1) as old:
        held = {sample for shard in old.shard_names() for sample in held_by(old, shard, [gone])}
    assert len(before) == len(after)
    differing = [one for one, two in zip(before, after, strict=True) if one != two]
    assert set(differing) == held
    assert 0 < len(differing) < len(before) / 2


def test_a_document_that_comes_back_is_new_again(built: World) -> None:
    line = take_out(built, 0)
    built.build()
    add_lines(built.help_files[0], [line])
    report = built.build()
    assert (report.num_new, report.num_removed) == (1, 0)
    with built.read(V1) as old, built.read() as new:
        assert old.kept_ids() == new.kept_ids()
        assert new.content.segments[0].num_holes == 1
        assert new.content.segments[1].name == "segment-0002"


def test_nothing_new_publishes_nothing(built: World) -> None:
    with built.open() as workspace:
        size = workspace.ledger.size
    report = built.build()
    assert not report.published
    assert report.version.name == V1
    with built.open() as workspace:
        assert workspace.ledger.size == size


def test_another_seed_packs_everything_anew_and_keeps_every_id(built: World) -> None:
    spec = built.root / "specs" / f"{DATASET}.toml"
    spec.write_text(spec.read_text("utf-8").replace("seed = 2", "seed = 3"), encoding="utf-8")
    built.build()
    with built.read(V1) as old, built.read(V2) as new:
        assert old.kept_ids() == new.kept_ids()
        (segment,) = new.content.segments
        assert segment.name == "segment-0002"
        assert segment.content_root != old.content.segments[0].content_root
    assert built.verify() == []


def test_the_stage_store_may_be_deleted_at_any_time(built: World) -> None:
    roots = built.content_roots()
    shutil.rmtree(built.stage)
    add_lines(built.help_files[0], sample_lines("linux-doc", 1))
    report = built.build()
    assert (report.num_new, report.num_removed) == (1, 0)
    assert built.content_roots()[:-1] == roots
    assert built.verify() == []


def test_one_dataset_has_one_build_at_a_time(built: World) -> None:
    add_lines(built.help_files[0], sample_lines("linux-doc", 1))
    with (
        built.open() as workspace,
        workspace.locked(f"build-{DATASET}", "busy"),
        pytest.raises(Conflict, match="running already"),
    ):
        built.build()
    assert built.build().version.name == V2


def take_out(world: World, file: int) -> bytes:
    """Removes the second line of a file, and gives it."""
    path = world.help_files[file]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    return lines[1]


def document_id(world: World, own_id: str) -> bytes:
    with world.open() as workspace:
        return workspace.id_hasher().document_id("help", RecordKey.own(own_id))


def reasons(book: Book) -> dict[bytes, str]:
    rows = book.table("decisions").to_pylist()
    return {row["document_id"]: row["rule"] for row in rows if row["verdict"] == "removed"}


def spans_of(book: Book, shard: str, documents: list[bytes]) -> list[DocumentSpan]:
    spans = book.open(shard.replace("shard-", "spans-")).to_pylist()
    return [
        DocumentSpan(0, row["start"], row["num_tokens"])
        for row in spans
        if row["document_id"] in documents
    ]


def held_by(book: Book, shard: str, documents: list[bytes]) -> list[bytes]:
    """The samples of a shard that hold a token of these documents."""
    samples = shard_samples(book, shard)
    return [
        samples[row]
        for span in spans_of(book, shard, documents)
        for row in span.tokens_of_rows(SAMPLE_TOKENS)[0]
    ]


def require_only_holes(old: Book, new: Book, shard: str, documents: list[bytes]) -> int:
    """Every token but those of the documents is the same; gives the number of those."""
    width = np.dtype(old.content.dtype).itemsize * SAMPLE_TOKENS
    before, after = (
        np.frombuffer(b"".join(shard_samples(book, shard)), np.uint8).reshape(
            -1, width + SAMPLE_TOKENS
        )
        for book in (old, new)
    )
    hole = np.zeros(len(before) * SAMPLE_TOKENS, np.bool_)
    for span in spans_of(old, shard, documents):
        hole[span.start : span.start + span.num_tokens] = True
    ids, ids_now = (part[:, :width].reshape(hole.size, -1) for part in (before, after))
    counts, counts_now = (part[:, width:].reshape(-1) for part in (before, after))
    assert np.array_equal(ids[~hole], ids_now[~hole])
    assert np.array_equal(counts[~hole], counts_now[~hole])
    assert not counts_now[hole].any()
    assert len({value.tobytes() for value in ids_now[hole]}) <= 1
    return int(hole.sum())


def test_diff_tells_what_came_what_left_and_why(built: World) -> None:
    gone = take_out(built, 0)
    changed = json.loads(take_out(built, 1))
    add_lines(built.help_files[1], [record(changed["text"] + "\n2026", changed["id"])])
    add_lines(built.help_files[2], sample_lines("linux-doc", 1))
    built.build()
    with built.open() as workspace:
        reading = Reading(workspace, workspace_tiers(workspace), "audit")
        facts = ask_diff(reading, V1, V2, 50).facts
        back = ask_diff(reading, V2, V1, 0)
        with pytest.raises(NotFound):
            ask_diff(reading, V1, f"{DATASET}@v3", 50)
    assert [facts[kind]["documents"] for kind in ("added", "removed", "changed")] == [1, 1, 1]
    assert facts["removed"]["by_reason"] == {"removed": 1}
    assert facts["removed"]["by_source"] == {"help": 1}
    (left,) = facts["removed"]["listed"]
    assert left["document_id"] == document_id(built, json.loads(gone)["id"]).hex()
    assert facts["changed"]["by_reason"] == {"kept": 1}
    assert [back.facts[kind]["documents"] for kind in ("added", "removed")] == [1, 1]
    assert not back.complete
