"""Lines that stand elsewhere too leave the texts, within a document and across all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage.errors import ConfigError
from tests.system.killing import die_after
from tests.system.test_rules import decided
from tests.system.world import DATASET, FOUR_SOURCES, World, add_lines, make_world, record

pytestmark = pytest.mark.system
FOOTER = "All rights reserved by everybody who wrote this."
MENU = "Home | About us | Contact us | Help"
ACROSS = "\n[repeated]\nmax_documents = 2\n"
OWN = (
    "The fox met the hedgehog early on Monday, beside the mill.",
    "Nobody has counted the geese since the bridge was mended.",
    "Rain fell on the harbour until the lamps were lit at six.",
)


def page(number: int) -> str:
    return f"{MENU}\n\n{OWN[number]}\n\n{FOOTER}"


def add_pages(world: World, *numbers: int) -> None:
    """Each page into another file, so that they come in several partitions."""
    for number in numbers:
        add_lines(world.help_files[number], [record(page(number), f"page/{number}")])


def content_ids(world: World, *texts: str) -> set[bytes]:
    with world.open() as workspace:
        hasher = workspace.id_hasher()
        return {hasher.content_id(text.encode()) for text in texts}


def kept_contents(world: World) -> set[bytes]:
    with world.read() as book:
        found = set()
        for _, _, spans in book.reading.spans(book.version):
            column = book.reading.read(DATASET, spans)["content_id"]
            found |= {value for value in column.to_pylist() if value is not None}
        return found


def test_what_stood_before_in_a_document_leaves_it(fresh: World) -> None:
    text = f"{MENU}\n\n{OWN[0]}\n\n{MENU}\n\n{OWN[1]}"
    add_lines(fresh.help_files[0], [record(text, "twice")], at=0)
    fresh.write_spec(FOUR_SOURCES + "\n[repeated]\nwithin = true\n")
    fresh.build()
    assert content_ids(fresh, f"{MENU}\n\n{OWN[0]}\n\n{OWN[1]}") <= kept_contents(fresh)
    assert not (fresh.stage / "tallies").exists()
    with fresh.read() as book:
        edits = book.table("decisions")["edits"].to_pylist()
        removed = book.table("signals")["repeated_parts_removed"].to_pylist()
        assert [bool(number) for number in removed] == ["repeated" in edit for edit in edits]
        assert sum(removed) > 0
        assert "repeated" in [transform["name"] for transform in book.content.transforms]


@pytest.fixture
def three_pages(fresh: World) -> World:
    add_pages(fresh, 0, 1, 2)
    fresh.write_spec(FOUR_SOURCES + ACROSS)
    fresh.build(workers=2)
    return fresh


def test_what_stands_in_too_many_documents_leaves_all_of_them(three_pages: World) -> None:
    assert content_ids(three_pages, *OWN) <= kept_contents(three_pages)
    assert not three_pages.build().published
    assert three_pages.verify() == []


def test_copies_of_a_document_repeat_nothing(fresh: World) -> None:
    add_pages(fresh, 0, 1)
    lines = [record(page(0), f"copy/{number}") for number in range(5)]
    add_lines(fresh.help_files[3], lines)
    fresh.write_spec(FOUR_SOURCES + ACROSS)
    fresh.build()
    assert content_ids(fresh, page(0), page(1)) <= kept_contents(fresh)


def test_new_data_changes_the_texts_that_hold_what_is_repeated_now_and_no_others(
    fresh: World,
) -> None:
    add_pages(fresh, 0, 1)
    fresh.write_spec(FOUR_SOURCES + ACROSS)
    fresh.build()
    assert content_ids(fresh, page(0), page(1)) <= kept_contents(fresh)
    before = {path.name: path.stat().st_mtime_ns for path in (fresh.stage / "partitions").glob("*")}
    add_pages(fresh, 2)
    report = fresh.build(workers=2)
    # Two published texts lost their menu and footer: they leave, and come as new ones.
    assert (report.num_new, report.num_removed) == (3, 2)
    assert content_ids(fresh, *OWN) <= kept_contents(fresh)
    after = {path.name: path.stat().st_mtime_ns for path in (fresh.stage / "partitions").glob("*")}
    reused = before.items() & after.items()
    # The small files of a source are one partition.
    assert len(reused) == len(before) - 1
    with fresh.read() as book:
        rows = book.table("decisions").to_pylist()
    gone = [row["rule"] for row in rows if row["verdict"] == "removed"]
    assert gone == ["changed", "changed"]
    # And back: without the third page nothing is repeated, and they are as they were.
    lines = fresh.help_files[2].read_bytes().splitlines(keepends=True)
    fresh.help_files[2].write_bytes(b"".join(lines[:-1]))
    fresh.build()
    assert content_ids(fresh, page(0), page(1)) <= kept_contents(fresh)


def test_workers_and_partitions_change_no_text(three_pages: World, tmp_path: Path) -> None:
    other = make_world(tmp_path / "other")
    for number in (2, 0, 1):
        add_lines(other.help_files[0], [record(page(number), f"page/{number}")], at=0)
    other.write_spec(FOUR_SOURCES + ACROSS)
    other.build(workers=4)
    assert other.content_roots() == three_pages.content_roots()


def test_another_number_of_documents_tallies_nothing_anew(three_pages: World) -> None:
    def tallies() -> dict[Path, int]:
        found = (three_pages.stage / "tallies").glob("*/pairs.parquet")
        return {path: path.stat().st_mtime_ns for path in found}

    tallied = tallies()
    three_pages.write_spec(FOUR_SOURCES + ACROSS.replace("2", "3"))
    three_pages.build()
    assert tallies() == tallied
    assert content_ids(three_pages, page(0), page(1), page(2)) <= kept_contents(three_pages)


@pytest.mark.parametrize("kind", ["tallies", "repeated"])
def test_a_build_that_dies_while_counting_ends_as_an_undisturbed_one(
    kind: str, three_pages: World, tmp_path: Path
) -> None:
    other = make_world(tmp_path / "other")
    add_pages(other, 0, 1, 2)
    other.write_spec(FOUR_SOURCES + ACROSS)
    tallies = len(list((three_pages.stage / "tallies").glob("*/receipt.json")))
    die_after(
        other, "storage_tiers.stage:StageStore._finish", {"tallies": 2}.get(kind, tallies + 1)
    )
    assert list((other.stage / kind).glob("[!.]*/receipt.json"))
    other.build()
    assert other.content_roots() == three_pages.content_roots()
    assert decided(other) == decided(three_pages)
    assert not list((other.stage / "repeated").glob("*"))


def test_a_section_that_takes_nothing_out_is_an_error(fresh: World) -> None:
    fresh.write_spec(FOUR_SOURCES + "\n[repeated]\nmin_chars = 30\n")
    with pytest.raises(ConfigError, match="max_documents: it is missing"):
        fresh.build()
