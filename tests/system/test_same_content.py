"""The same text gives the same content: whoever builds it, in whatever order, however often."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage.ids import RecordKey
from tests.system.world import (
    DATASET,
    FOUR_SOURCES,
    HELP,
    SAMPLE_TOKENS,
    Book,
    World,
    add_lines,
    record,
    sample_lines,
)

pytestmark = pytest.mark.system


def test_a_fresh_workspace_with_four_workers_gives_the_same_content(
    built: World, fresh: World
) -> None:
    report = fresh.build(workers=4)
    assert report.num_shards > 4
    assert fresh.content_roots() == built.content_roots()
    assert fresh.samples() == built.samples()
    with fresh.read() as here, built.read() as there:
        assert here.content.spec == there.content.spec
        # Other keys: nobody who holds one workspace finds a document of it in the other.
        assert not here.kept_ids() & there.kept_ids()
        assert here.version.manifest != there.version.manifest


def test_the_order_of_the_files_changes_nothing(built: World, fresh: World) -> None:
    names = [path.name for path in fresh.help_files]
    for path in fresh.help_files:
        path.rename(path.with_name(f"moving-{path.name}"))
    for path, name in zip(fresh.help_files, reversed(names), strict=True):
        path.rename(path.with_name(name))
    fresh.build()
    assert fresh.content_roots() == built.content_roots()


def test_a_line_at_the_top_of_a_file_adds_that_document_and_disturbs_none(built: World) -> None:
    with built.read() as book:
        ids, roots = book.kept_ids(), [row.content_root for row in book.content.segments]
    add_lines(built.help_files[1], sample_lines("gnome-user-docs", 1), at=0)
    report = built.build()
    assert (report.num_new, report.num_removed) == (1, 0)
    assert built.content_roots()[:-1] == roots
    with built.read() as book:
        assert ids < book.kept_ids()
        assert len(book.kept_ids()) == len(ids) + 1
        tile_the_files(book, built, only=built.help_files[1])


def test_a_line_at_the_top_is_other_content_for_a_fresh_workspace(
    built: World, fresh: World
) -> None:
    add_lines(fresh.help_files[1], sample_lines("gnome-user-docs", 1), at=0)
    fresh.build()
    assert fresh.content_roots() != built.content_roots()


def test_a_renamed_file_is_nothing_new(built: World) -> None:
    first = built.help_files[0]
    first.rename(first.with_name("renamed.jsonl"))
    report = built.build()
    assert not report.published
    assert built.versions() == [f"{DATASET}@v1"]


def test_a_renamed_file_that_the_spec_names_changes_no_id_and_no_sample(built: World) -> None:
    with built.read() as book:
        ids = book.kept_ids()
    path = built.root / "text" / "rights.jsonl"
    path.rename(path.with_name("declaration.jsonl"))
    built.write_spec(FOUR_SOURCES.replace(path.name, "declaration.jsonl"))
    report = built.build()
    assert (report.num_new, report.num_removed) == (0, 0)
    assert built.content_roots(f"{DATASET}@v2") == built.content_roots(f"{DATASET}@v1")
    with built.read() as book:
        assert book.kept_ids() == ids


def test_an_id_is_made_of_source_and_record_alone(built: World) -> None:
    with built.read() as book, built.open() as workspace:
        hasher = workspace.id_hasher()
        own = json.loads(built.help_files[0].read_bytes().splitlines()[0])["id"]
        bare = json.loads((built.root / "text/rights.jsonl").read_bytes().splitlines()[2])["text"]
        page = (built.root / "text/guide/3.txt").read_bytes()
        assert book.kept_ids() >= {
            hasher.document_id("help", RecordKey.own(own)),
            hasher.document_id("rights", RecordKey.content(bare.encode())),
            hasher.document_id("guide", RecordKey.content(page)),
        }


def test_every_record_is_accounted_for(fresh: World) -> None:
    twice = record(json.loads(sample_lines("udhr", 6)[0])["text"][:3000])
    add_lines(fresh.root / "text" / "rights.jsonl", [twice, b"not json\n", b"\n"], at=1)
    report = fresh.build()
    assert report.num_new == 46
    with fresh.read() as book:
        ingest = book.stage_of("ingest")
        decisions, quarantine = book.table("decisions"), book.table("quarantine")
        assert ingest["in"]["records"] == decisions.num_rows + quarantine.num_rows == 49
        sizes = [*decisions["num_bytes"].to_pylist(), *quarantine["num_bytes"].to_pylist()]
        assert ingest["in"]["bytes"] == sum(sizes)
        assert set(quarantine["reason"].to_pylist()) == {"invalid_json", "blank_line"}
        assert book.stage_of("dedup")["dropped"]["exact_duplicate"]["records"] == 1
        tile_the_files(book, fresh)
        every_token_is_somewhere(book)


def tile_the_files(book: Book, world: World, only: Path | None = None) -> None:
    """The rows of each file of lines follow one another from its first byte to its last."""
    places: dict[str, list[tuple[int, int]]] = {}
    for name in ("decisions", "quarantine"):
        for row in book.table(name).to_pylist():
            if row["path"] is not None and row["path"].endswith(".jsonl"):
                place = (row["offset"], row["num_bytes"])
                places.setdefault(row["path"], []).append(place)
    files = [*world.root.glob(HELP), world.root / "text" / "rights.jsonl"]
    for path in files if only is None else [only]:
        end = 0
        for offset, num_bytes in sorted(places[path.relative_to(world.root).as_posix()]):
            assert offset == end
            end += num_bytes
        assert end == path.stat().st_size


def every_token_is_somewhere(book: Book) -> None:
    shard = book.stage_of("shard")
    samples = sum(sum(segment.shard_samples) for segment in book.content.segments)
    assert samples * SAMPLE_TOKENS == shard["kept"]["tokens"] + shard["fill_tokens"]
    kept = [row["num_tokens"] for row in book.table("decisions").to_pylist()]
    assert sum(tokens for tokens in kept if tokens) == shard["kept"]["tokens"]
