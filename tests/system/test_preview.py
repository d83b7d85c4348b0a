"""A preview tells in seconds what a build would do, and leaves no trace."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.conftest import Said
from tests.system.test_rules import RULES, longest, shortened
from tests.system.world import DATASET, FOUR_SOURCES, SOURCE, World, add_lines, record

pytestmark = pytest.mark.system


def files(world: World) -> set[Path]:
    return {path for path in world.root.rglob("*") if ".db" not in path.name}


def test_the_whole_of_a_small_dataset_is_told_as_its_build_would(
    fresh: World, cli: Callable[..., Said]
) -> None:
    _, text = longest(fresh)
    add_lines(fresh.help_files[0], [record(shortened(text), "near/1"), b"{broken\n"], at=0)
    fresh.write_spec(FOUR_SOURCES + RULES)
    before = files(fresh)
    said = cli("preview", DATASET, "--sample", "4000", "--json", "--workspace", fresh.root)
    assert said.code == 0
    assert files(fresh) == before
    fresh.build()
    with fresh.read() as book:
        built = {stage: book.stage_of(stage) for stage in ("ingest", "clean", "dedup")}
    for tried in said.json["books"]:
        if tried["stage"] in built:
            assert tried["dropped"] == built[tried["stage"]]["dropped"]
            assert tried["quarantined"] == built[tried["stage"]]["quarantined"]
            assert tried["kept"] == built[tried["stage"]]["kept"]


def test_a_sample_is_about_as_large_as_asked_and_the_same_each_time(
    fresh: World, cli: Callable[..., Said]
) -> None:
    one = cli("preview", DATASET, "--sample", "8", "--json", "--workspace", fresh.root).json
    assert one["source_documents"] == {"help": 2, "rights": 2, "guide": 2, "handbook": 2}
    two = cli("preview", DATASET, "--sample", "8", "--json", "--workspace", fresh.root).json
    assert two["books"] == one["books"]
    said = cli("preview", DATASET, "--sample", "8", "--workspace", fresh.root)
    assert "sample" in said.out
    assert "dedup" in said.out
    assert cli("preview", "nope", "--workspace", fresh.root).code == 3


def test_a_source_that_cannot_be_read_is_told_of_without_reading_all_of_it(
    fresh: World, cli: Callable[..., Said]
) -> None:
    (fresh.root / "text" / "blank.jsonl.gz").write_bytes(gzip.compress(b"\n" * 500_000))
    fresh.write_spec(
        SOURCE.format(name="s", path="text/blank.jsonl.gz", licence="CC0-1.0", more="")
    )
    said = cli("preview", DATASET, "--sample", "100", "--json", "--workspace", fresh.root)
    ingest = said.json["books"][0]
    assert 100 <= int(ingest["quarantined"]["blank_line"]["records"]) < 400_000
    assert int(ingest["kept"]["records"]) == 0
