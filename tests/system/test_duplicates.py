"""Duplicates in a build: how right they are, how many are one, and what others have published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from lineage.errors import ConfigError
from tests.system.conftest import Said
from tests.system.world import DATASET, FOUR_SOURCES, World, add_lines, make_world, record

pytestmark = pytest.mark.system
NEAR = "\n[duplicates]\nnear = true\n"


def texts(world: World, num: int) -> list[str]:
    lines = [json.loads(line)["text"] for file in world.help_files for line in file.open("rb")]
    return sorted(lines, key=len, reverse=True)[:num]


def with_copies(world: World) -> None:
    """Three long texts, each again without its last words, and one of them a second time."""
    for number, text in enumerate(texts(world, 3)):
        lines = [record(text[: int(len(text) * 0.95)], f"near/{number}")]
        lines += [record(text, f"same/{number}")] if number == 0 else []
        add_lines(world.help_files[1], lines, at=0)


def test_a_sample_of_near_duplicates_is_judged_by_characters(
    fresh: World, cli: Callable[..., Said], tmp_path: Path
) -> None:
    with_copies(fresh)
    fresh.write_spec(FOUR_SOURCES + NEAR)
    report = fresh.build(workers=2)
    assert report.near is not None
    assert (report.near.sampled, report.near.alike) == (3, 3)
    assert "3 of 3 near duplicates are alike by characters too" in report.text()
    with fresh.read() as book:
        sample = book.table("near_sample").to_pylist()
        near = book.table("decisions").filter(pc.field("rule") == "near_duplicate").to_pylist()
    told = {(row["document_id"], row["survivor_id"], row["value"]) for row in near}
    assert {(r["document_id"], r["survivor_id"], r["similarity"]) for r in sample} == told
    assert all(900_000 < row["char_similarity"] < 1_000_000 for row in sample)
    page = tmp_path / "report.html"
    assert cli("report", DATASET, "--output", page, "--workspace", fresh.root).code == 0
    html = page.read_text("utf-8")
    assert "Of a sample of 3 near duplicates, 3 are alike by runs of five characters too" in html
    assert "<b>similarity</b> of near duplicates" in html
    assert fresh.verify() == []


def test_no_number_of_workers_changes_the_sample(fresh: World, tmp_path: Path) -> None:
    other = make_world(tmp_path / "other")
    found = []
    for world, workers in ((fresh, 1), (other, 3)):
        with_copies(world)
        world.write_spec(FOUR_SOURCES + NEAR)
        world.build(workers=workers)
        with world.read() as book:
            rows = book.table("near_sample").select(["similarity", "char_similarity"])
            found.append(sorted(map(tuple, map(dict.values, rows.to_pylist()))))
    assert found[0] == found[1]


def test_too_many_documents_that_are_one_stop_the_build(fresh: World) -> None:
    with_copies(fresh)
    fresh.write_spec(FOUR_SOURCES + NEAR + "largest_cluster = 2\n")
    with pytest.raises(ConfigError, match="3 documents are one, .* allows 2") as stopped:
        fresh.build()
    assert "source help in text/help/" in stopped.value.message
    assert texts(fresh, 1)[0][:20] not in stopped.value.message
    assert "largest_cluster" in stopped.value.hint
    assert fresh.versions() == []
    fresh.write_spec(FOUR_SOURCES + NEAR + "largest_cluster = 3\n")
    assert fresh.build().published


def test_exact_duplicates_alone_are_a_cluster_too(fresh: World) -> None:
    with_copies(fresh)
    fresh.write_spec(FOUR_SOURCES + "\n[duplicates]\nlargest_cluster = 1\n")
    with pytest.raises(ConfigError, match="2 documents are one"):
        fresh.build()
