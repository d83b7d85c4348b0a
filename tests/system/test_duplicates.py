"""Duplicates in a build: how right they are, how many are one, and what others have published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from flows.build.announcer import Silence
from flows.build.plain import build_without_prefect
from lineage.errors import ConfigError, ShardlineError
from lineage.ids import RecordKey
from lineage.versions import find_version
from tests.system.conftest import Said
from tests.system.world import (
    DATASET,
    FOUR_SOURCES,
    SOURCE,
    World,
    add_lines,
    make_world,
    record,
)

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


def base(world: World) -> tuple[str, ...]:
    """A second dataset of the workspace: two texts of the first, cleaned in the same way."""
    found = tuple(texts(world, 2))
    path = world.root / "text" / "base.jsonl"
    path.write_bytes(b"".join(record(text, f"base/{n}") for n, text in enumerate(found)))
    source = SOURCE.format(name="base", path="text/base.jsonl", licence="MPL-2.0", more='id = "id"')
    spec = (world.root / "specs" / f"{DATASET}.toml").read_text("utf-8")
    head = spec.split("[[sources]]")[0]
    (world.root / "specs" / "base.toml").write_text(head + source, encoding="utf-8")
    build_other(world, "base")
    return found


def build_other(world: World, name: str) -> None:
    with world.open() as workspace:
        assert build_without_prefect(workspace, name, 1, Silence()).published


def against(names: str) -> str:
    return FOUR_SOURCES + f"\n[duplicates]\nagainst = [{names}]\n"


def test_what_another_dataset_published_makes_way(
    fresh: World, cli: Callable[..., Said], tmp_path: Path
) -> None:
    base(fresh)
    fresh.build()
    fresh.write_spec(against('"base"'))
    report = fresh.build(workers=2)
    assert report.num_removed == 2
    assert "2 by published.base@v1 (clean)" in report.text()
    with fresh.read() as book:
        rows = book.table("decisions").filter(pc.field("rule") == "published.base@v1").to_pylist()
        hasher = book.reading.workspace.id_hasher()
        survivors = {hasher.document_id("base", RecordKey.own(f"base/{n}")) for n in range(2)}
        assert {row["survivor_id"] for row in rows} == survivors
        assert {row["verdict"] for row in rows} == {"dropped", "removed"}
        assert not {row["document_id"] for row in rows} & book.kept_ids()
        entries = book.reading.workspace.ledger.entries(predicates={"access"})
        asked = [e.body for e in entries if e.body["dataset"] == "base"]
        version = find_version(book.reading.workspace.ledger.entries(), "base@v1")
    (body,) = [item for item in asked if item["version"] == str(version.manifest)]
    assert (body["zone"], body["purpose"]) == ("processed", "build")
    told = cli("why", DATASET, rows[0]["document_id"].hex(), "--workspace", fresh.root)
    assert "published.base@v1" in told.out
    assert rows[0]["survivor_id"].hex() in told.out
    page = tmp_path / "report.html"
    assert cli("report", DATASET, "--output", page, "--workspace", fresh.root).code == 0
    assert "made way, 2 for documents of other datasets." in page.read_text("utf-8")
    assert fresh.verify() == []
    assert not fresh.build().published


def test_a_text_that_is_cleaned_otherwise_there_makes_way_too(fresh: World) -> None:
    base(fresh)
    code = "def shout(documents):\n    import pyarrow as pa\n"
    code += (
        "    return pa.table({'text': [text + '!' for text in documents['text'].to_pylist()]})\n"
    )
    (fresh.root / "transforms").mkdir()
    (fresh.root / "transforms" / "mine.py").write_text(code)
    fresh.write_spec(against('"base"') + '[[transforms]]\nfunction = "mine:shout"\n')
    fresh.build()
    with fresh.read() as book:
        rows = book.table("decisions").filter(pc.field("rule") == "published.base@v1").to_pylist()
    assert len(rows) == 2
    assert all(row["survivor_id"] for row in rows)


def test_a_bare_name_is_the_newest_version_and_a_pinned_one_stays(fresh: World) -> None:
    base(fresh)
    third = texts(fresh, 3)[2]
    fresh.write_spec(against('"base@v1"'))
    fresh.build()
    add_lines(fresh.root / "text" / "base.jsonl", [record(third, "base/2")])
    build_other(fresh, "base")
    assert not fresh.build().published
    fresh.write_spec(against('"base@v1", "base"'))
    report = fresh.build()
    assert report.num_removed == 1
    with fresh.read() as book:
        dropped = book.stage_of("clean")["dropped"]
    counts = {rule: count["records"] for rule, count in dropped.items()}
    assert counts == {"published.base@v1": 2, "published.base@v2": 1}
    fresh.write_spec()
    assert fresh.build().num_new == 3


def test_a_dataset_against_itself_or_against_none_is_an_error(fresh: World) -> None:
    fresh.build()
    for name, complaint in (
        (DATASET, "which is this dataset itself"),
        ("nobody", "no version of nobody was published"),
        ("no/name", "names no version"),
    ):
        fresh.write_spec(against(f'"{name}"'))
        with pytest.raises(ShardlineError, match=complaint):
            fresh.build()
