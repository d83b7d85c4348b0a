"""Decontamination in a build: items are found however they are written, and it is told how well."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from flows.build.report import BuildReport
from lineage.errors import ConfigError, NotFound, ShardlineError
from lineage.ids import RecordKey
from pipelines.decontamination.mutations import MUTATIONS
from tests.system.conftest import Said
from tests.system.world import DATASET, FOUR_SOURCES, World, add_lines, make_world, record

pytestmark = pytest.mark.system
EGGS = (
    "A farmer sells forty-two eggs on Monday, half as many on Tuesday, and keeps the rest for "
    "her three neighbours' children. How many eggs does each child get if she began with ninety?"
)
CLIPS = (
    "Natalia sold clips to forty-eight of her friends in April, and then she sold half as many "
    "clips in May. How many clips did Natalia sell altogether?"
)
LETTER = (
    "Whoever finds the lighthouse keeper's diary should write to keeper@lighthouse.example before "
    "the end of the winter, since the last page is missing and nobody knows how it ended."
)
SETS = """
[decontamination]
sets = [
  { path = "evals/*.jsonl", fields = ["question", "answer"] },
  { path = "evals/choices.parquet", fields = ["question", "choices"] },
  "evals/prompts.txt",
]
"""
RULE = "decontamination.max_coverage"


def otherwise(item: str) -> str:
    """Three words a line, in capitals, with other punctuation."""
    words = item.upper().replace(",", " ;").replace("?", " ...").replace(".", " -").split()
    return "\n".join(" ".join(words[at : at + 3]) for at in range(0, len(words), 3))


TEXTS = {
    "evil/eggs": f"Homework for the weekend\n\n{otherwise(EGGS)}\n\nHand it in on Monday.",
    "evil/letter": f"From the archive: {otherwise(LETTER)} And so on.",
    "part/clips": "Natalia sold clips to forty-eight of her friends in April, and then she sold "
    "her bicycle, which was another story.",
    "good/page": "A page about farmers, eggs and children that asks no question at all.",
}


def write_sets(root: Path) -> None:
    (root / "evals").mkdir()
    questions = [{"question": CLIPS, "answer": "72"}, {"question": EGGS, "answer": "9"}]
    lines = "".join(json.dumps(item) + "\n" for item in questions)
    (root / "evals" / "maths.jsonl").write_text(lines, encoding="utf-8")
    asked = "Which statement about the tides of the northern harbour does the passage not support?"
    choices = [["They are high", "They are low", "They turn twice a day", "Nobody measures them"]]
    table = pa.table({"question": [asked], "choices": choices, "answer": [2]})
    pq.write_table(table, root / "evals" / "choices.parquet")
    (root / "evals" / "prompts.txt").write_text(f"{LETTER}\n\nToo short.\n", encoding="utf-8")


def contaminated(world: World, more: str = "") -> World:
    """Its sources hold items of evaluation sets, written otherwise."""
    write_sets(world.root)
    add_lines(world.help_files[1], [record(text, name) for name, text in TEXTS.items()], at=2)
    world.write_spec(FOUR_SOURCES + SETS + more)
    return world


@dataclass(frozen=True)
class Contaminated:
    """A world that was built, and what the build told."""

    world: World
    report: BuildReport


@pytest.fixture
def dirty(fresh: World) -> Contaminated:
    world = contaminated(fresh)
    return Contaminated(world, world.build(workers=2))


def rows_of(world: World) -> dict[str, dict[str, Any]]:
    """Decision and signals of each of `TEXTS`."""
    with world.read() as book:
        hasher = book.reading.workspace.id_hasher()
        names = {hasher.document_id("help", RecordKey.own(name)): name for name in TEXTS}
        decisions, signals = book.table("decisions"), book.table("signals")
        mine = pc.is_in(decisions["document_id"], pa.array(list(names), pa.binary(32)))
        tables = (decisions.filter(mine).to_pylist(), signals.filter(mine).to_pylist())
    return {names[one["document_id"]]: one | other for one, other in zip(*tables, strict=True)}


def evaluation(world: World) -> dict[tuple[str, str], tuple[int, int]]:
    with world.read() as book:
        rows = book.table("evaluation").to_pylist()
    return {(row["kind"], row["name"]): (row["count"], row["of"]) for row in rows}


def measured(world: World) -> dict[Path, int]:
    paths = (world.stage / "partitions").glob("*/*.parquet")
    return {path: path.stat().st_mtime_ns for path in paths}


def test_an_item_in_other_lines_case_and_punctuation_is_dropped_and_named(
    dirty: Contaminated,
) -> None:
    rows = rows_of(dirty.world)
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "evil/eggs": "dropped",
        "evil/letter": "dropped",
        "part/clips": "kept",
        "good/page": "kept",
    }
    eggs, letter, clips = rows["evil/eggs"], rows["evil/letter"], rows["part/clips"]
    assert (eggs["rule"], eggs["threshold"], eggs["stage"]) == (RULE, 200_000, "clean")
    assert eggs["value"] == eggs["eval_coverage"] > 900_000
    assert eggs["eval_item"] == "evals/maths.jsonl:2"
    assert (letter["value"], letter["eval_item"]) == (1_000_000, "evals/prompts.txt:1")
    assert 0 < clips["eval_coverage"] <= 200_000
    assert clips["eval_item"] == "evals/maths.jsonl:1"
    assert (rows["good/page"]["eval_coverage"], rows["good/page"]["eval_item"]) == (0, None)
    with dirty.world.read() as book:
        assert book.stage_of("clean")["dropped"][RULE]["records"] == 2
    assert dirty.world.verify() == []


def test_the_build_tells_its_recall_and_the_version_keeps_it(dirty: Contaminated) -> None:
    told = dirty.report.to_json()["evaluation"]
    assert (told["items"]["items"], told["items"]["indexed"]) == (5, 4)
    assert told["items"]["too_short"] == 1
    assert list(told["recall"]) == list(MUTATIONS)
    for way in ("embedded", "rewrapped", "upper_case", "lower_case", "punctuation"):
        assert told["recall"][way]["found"] == told["recall"][way]["injected"] > 40
    kept = evaluation(dirty.world)
    assert kept["items", "indexed"] == (4, 5)
    assert {name: found for (kind, name), found in kept.items() if kind == "recall"} == {
        name: (found["found"], found["injected"]) for name, found in told["recall"].items()
    }
    assert "4 of 5 items looked for, 1 too short" in dirty.report.text()


def test_why_report_and_preview_show_it(
    dirty: Contaminated, cli: Callable[..., Said], tmp_path: Path
) -> None:
    root = dirty.world.root
    why = cli("why", DATASET, "evil/eggs", "--workspace", root)
    assert f"FAILS {RULE}: " in why.out
    assert "eval_item evals/maths.jsonl:2" in why.out
    page = tmp_path / "report.html"
    assert cli("report", DATASET, "--output", page, "--workspace", root).code == 0
    html = page.read_text("utf-8")
    assert "Evaluation items" in html
    for item in ("evals/maths.jsonl:1", "evals/maths.jsonl:2", "evals/prompts.txt:1"):
        assert html.count(item) == 1
    tried = cli("preview", DATASET, "--sample", "4000", "--json", "--workspace", root).json
    assert tried["evaluation"] == dirty.report.to_json()["evaluation"]
    told = cli("preview", DATASET, "--sample", "4000", "--workspace", root).out
    assert "items put into documents" in told


def test_another_share_decides_anew_and_measures_nothing(dirty: Contaminated) -> None:
    world, before = dirty.world, measured(dirty.world)
    world.write_spec(FOUR_SOURCES + SETS + "max_coverage = 0\n")
    report = world.build()
    assert (report.num_new, report.num_removed) == (0, 1)
    assert rows_of(world)["part/clips"]["verdict"] in ("dropped", "removed")
    world.write_spec(FOUR_SOURCES + SETS + "max_coverage = 1\n")
    report = world.build()
    assert report.num_new == 3
    assert report.evaluation is not None
    assert report.evaluation.recall["embedded"].found == 0
    assert measured(world) == before


def test_another_evaluation_file_measures_anew(dirty: Contaminated) -> None:
    world, before = dirty.world, measured(dirty.world)
    assert not world.build().published
    file = world.root / "evals" / "maths.jsonl"
    file.write_text(file.read_text("utf-8").replace(EGGS, EGGS[::-1]), encoding="utf-8")
    report = world.build()
    assert report.num_new == 1
    assert not before.keys() & measured(world).keys()
    row = rows_of(world)["evil/eggs"]
    assert (row["verdict"], row["eval_coverage"]) == ("kept", 0)


def test_an_item_with_an_address_is_found_although_the_address_is_redacted(fresh: World) -> None:
    world = contaminated(fresh, '[personal]\nemail = "redact"\n')
    plain = record(f"From the archive: {LETTER} And so on.", "evil/letter2")
    add_lines(world.help_files[2], [plain])
    world.build()
    with world.read() as book:
        found = book.table("decisions").filter(pc.field("rule") == RULE).to_pylist()
    whole = [row for row in found if row["edits"] == "personal"]
    assert [row["value"] for row in whole] == [1_000_000]


def test_workers_files_and_partitions_change_neither_verdict_nor_recall(
    dirty: Contaminated, tmp_path: Path
) -> None:
    other = contaminated(make_world(tmp_path / "other"))
    files = other.help_files
    lines = [line for file in reversed(files) for line in file.open("rb")]
    for file in files[1:]:
        file.unlink()
    files[0].write_bytes(b"".join(reversed(lines)))
    report = other.build(workers=1)
    assert report.evaluation == dirty.report.evaluation
    assert evaluation(other) == evaluation(dirty.world)
    assert other.content_roots() == dirty.world.content_roots()


@pytest.mark.parametrize(
    ("name", "content", "section", "error", "message"),
    [
        ("a.jsonl", None, '"evals/a.jsonl"', NotFound, "evals/a.jsonl"),
        ("a.jsonl", '{"text": "b"\n', '"evals/a.jsonl"', ConfigError, "line 1 is not JSON"),
        ("a.jsonl", '{"text": "b"}\n', '"evals/a.jsonl"', ConfigError, "is long enough"),
        (
            "a.jsonl",
            '{"q": "b"}\n',
            '"evals/a.jsonl"',
            ConfigError,
            "no text in the fields text",
        ),
        ("a.jsonl", "\n", '"evals/a.jsonl"', ConfigError, "holds no item"),
        ("a.parquet", "no", '"evals/a.parquet"', ConfigError, "is no Parquet file"),
        ("a.csv", "a,b\n", '"evals/a.csv"', ConfigError, "tells no format"),
        ("a.jsonl", "", '"../a.jsonl"', ConfigError, "leaves the workspace"),
        ("a.jsonl", "", "", ConfigError, "a list of paths was expected"),
    ],
)
def test_a_set_that_cannot_be_used_stops_the_build_with_one_error(
    fresh: World,
    name: str,
    content: str | None,
    section: str,
    error: type[ShardlineError],
    message: str,
) -> None:
    (fresh.root / "evals").mkdir()
    if content is not None:
        (fresh.root / "evals" / name).write_text(content, encoding="utf-8")
    fresh.write_spec(FOUR_SOURCES + f"[decontamination]\nsets = [{section}]\n")
    with pytest.raises(error, match=message) as stopped:
        fresh.build()
    assert stopped.value.hint
    assert fresh.versions() == []
