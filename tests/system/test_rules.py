"""Rules and near duplicates in a build: measured once, decided by the spec, and told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from lineage.errors import ConfigError
from tests.pipelines.signals.tiny_model import tiny_model
from tests.system.conftest import Said
from tests.system.killing import die_after
from tests.system.world import DATASET, FOUR_SOURCES, World, add_lines, make_world, record

pytestmark = pytest.mark.system
V1, V2 = f"{DATASET}@v1", f"{DATASET}@v2"
RULES = """
[rules.gopher_quality]
min_words = 120
min_stop_words = false

[rules.gopher_repetition]

[duplicates]
near = true
"""


def longest(world: World) -> tuple[str, str]:
    lines = [json.loads(line) for file in world.help_files for line in file.open("rb")]
    best = max(lines, key=lambda line: len(line["text"]))
    return best["id"], best["text"]


def shortened(text: str) -> str:
    """The same text without its last words: alike, and shorter."""
    return text[: int(len(text) * 0.93)]


@pytest.fixture
def ruled(fresh: World) -> World:
    """Built with rules; one document is a near duplicate of a longer one."""
    _, text = longest(fresh)
    add_lines(fresh.help_files[0], [record(shortened(text), "near/1")], at=0)
    fresh.write_spec(FOUR_SOURCES + RULES)
    fresh.build(workers=2)
    return fresh


def test_the_books_tell_each_rule_and_the_signals_stand_beside_the_decisions(ruled: World) -> None:
    with ruled.read() as book:
        dropped = book.stage_of("clean")["dropped"]
        assert "gopher_quality.min_words" in dropped
        assert book.stage_of("dedup")["dropped"]["near_duplicate"]["records"] == 1
        decisions, signals = book.table("decisions"), book.table("signals")
        assert decisions["document_id"].equals(signals["document_id"])
        few = pc.equal(decisions["rule"], "gopher_quality.min_words")
        rows = decisions.filter(few).to_pylist()
        assert [row["value"] for row in rows] == signals.filter(few)["num_words"].to_pylist()
        assert {row["threshold"] for row in rows} == {120}
        assert all(row["value"] < 120 for row in rows)
        others = signals.filter(pc.invert(few))["num_words"].to_pylist()
        assert min(others) >= 120
    assert ruled.verify() == []


def test_the_longer_of_two_stays_and_stands_for_the_other(ruled: World) -> None:
    record_id, _ = longest(ruled)
    with ruled.read() as book:
        near = book.table("decisions").filter(pc.field("rule") == "near_duplicate").to_pylist()
        (row,) = near
        hasher = book.reading.workspace.id_hasher()
        assert row["document_id"] == document_id(hasher, "near/1")
        assert row["survivor_id"] == document_id(hasher, record_id)
        assert 800_000 == row["threshold"] <= row["value"] < 1_000_000
        assert row["survivor_id"] in book.kept_ids()


def test_another_threshold_decides_anew_and_measures_nothing(ruled: World) -> None:
    measured = {path: path.stat().st_mtime_ns for path in parts(ruled)}
    with ruled.read() as book:
        kept = book.kept_ids()
    ruled.write_spec(FOUR_SOURCES + RULES.replace("min_words = 120", "min_words = 300"))
    report = ruled.build()
    assert report.num_removed > 0
    assert {path: path.stat().st_mtime_ns for path in parts(ruled)} == measured
    assert "ingest" not in {name for name, spent in report.stage_seconds.items() if spent}
    with ruled.read(V2) as book:
        assert book.kept_ids() < kept
        gone = book.table("decisions").filter(pc.field("verdict") == "removed")
        assert set(gone["rule"].to_pylist()) == {"gopher_quality.min_words"}
        roots = [segment.order_id for segment in book.content.segments]
    # Back again: what was removed comes back as new, from the same measured documents.
    ruled.write_spec(FOUR_SOURCES + RULES)
    assert ruled.build().num_new == report.num_removed
    with ruled.read() as book:
        assert [segment.order_id for segment in book.content.segments][:1] == roots
    assert {path: path.stat().st_mtime_ns for path in parts(ruled)} == measured


def test_a_published_document_stays_when_a_longer_copy_comes(ruled: World) -> None:
    record_id, text = longest(ruled)
    add_lines(ruled.help_files[2], [record(text + " and a few words more", "near/2")])
    report = ruled.build()
    assert (report.num_new, report.num_removed) == (0, 0)
    assert report.near is not None and report.near.compared > 0
    assert (report.near.cut_off, report.near.largest) == (0, 3)
    with ruled.read() as book:
        hasher = book.reading.workspace.id_hasher()
        row = one(
            book.table("decisions").filter(pc.field("document_id") == document_id(hasher, "near/2"))
        )
        assert (row["rule"], row["survivor_id"]) == (
            "near_duplicate",
            document_id(hasher, record_id),
        )


def test_a_source_that_would_lose_too_much_stops_the_build(ruled: World) -> None:
    ruled.write_spec(FOUR_SOURCES + RULES + "max_removed = 0.001\n")
    with pytest.raises(ConfigError, match="1 of .* documents of source help") as stopped:
        ruled.build()
    assert "max_removed" in stopped.value.hint
    assert ruled.versions() == [V1]


def test_too_many_unreadable_records_stop_the_build(fresh: World) -> None:
    add_lines(fresh.help_files[0], [b"{broken\n", b"[]\n"], at=1)
    for limit, told in (("1", "allows 1"), ("0.001", r"allows 0.1 %"), ("0", "allows 0")):
        fresh.write_spec(f"\nmax_quarantined = {limit}\n" + FOUR_SOURCES)
        fresh.write_spec(FOUR_SOURCES)
        path = fresh.root / "specs" / f"{DATASET}.toml"
        path.write_text(f"max_quarantined = {limit}\n" + path.read_text())
        with pytest.raises(ConfigError, match=f"1 by invalid_json, 1 by not_an_object.*{told}"):
            fresh.build()
    assert fresh.versions() == []
    path.write_text(path.read_text().replace("max_quarantined = 0", "max_quarantined = 2"))
    assert fresh.build().version.name == V1


def test_a_limit_on_a_signal_that_nothing_measures_is_an_error(fresh: World) -> None:
    fresh.write_spec(FOUR_SOURCES + '[[limits]]\nsignal = "num_wards"\nmax = 3\n')
    with pytest.raises(ConfigError, match="'num_wards', which nothing measures") as wrong:
        fresh.build()
    assert "'num_words'" in wrong.value.hint
    fresh.write_spec(FOUR_SOURCES + '[language]\n[[limits]]\nsignal = "language"\nmax = 3\n')
    with pytest.raises(ConfigError, match="compares 'language', a word"):
        fresh.build()
    fresh.write_spec(FOUR_SOURCES + "[rules.c4.languages.zh]\nmin_sentences = 3\n")
    with pytest.raises(ConfigError, match="thresholds by language, and none is detected"):
        fresh.build()


def test_why_and_report_show_rules_values_and_thresholds(
    ruled: World, cli: Callable[..., Said], tmp_path: Path
) -> None:
    told = cli("why", DATASET, "near/1", "--workspace", ruled.root)
    assert told.code == 0
    assert "near_duplicate" in told.out
    assert "passes gopher_quality.min_words" in told.out
    assert "survivor" in told.out
    page = tmp_path / "report.html"
    said = cli("report", DATASET, "--output", page, "--workspace", ruled.root)
    assert (said.code, str(page) in said.out) == (0, True)
    html = page.read_text("utf-8")
    assert "gopher_quality.min_words: keeps &gt;= 120" in html
    assert 'class="threshold"' in html
    assert html.count("<blockquote>") > 10
    assert "http" not in html.split("</style>")[0]
    bare = cli("report", DATASET, "--no-texts", "--output", page, "--workspace", ruled.root)
    assert bare.code == 0
    assert "<blockquote>" not in page.read_text("utf-8")


def document_id(hasher: object, record_id: str) -> bytes:
    from lineage.ids import IdHasher, RecordKey

    assert isinstance(hasher, IdHasher)
    return hasher.document_id("help", RecordKey.own(record_id))


def parts(world: World) -> list[Path]:
    return sorted((world.stage / "partitions").glob("*/*.parquet"))


def one(table: object) -> dict[str, object]:
    (row,) = table.to_pylist()  # type: ignore[attr-defined]
    found: dict[str, object] = row
    return found


def test_personal_data_is_redacted_counted_or_drops_and_a_masked_sample_is_told(
    fresh: World, cli: Callable[..., Said], tmp_path: Path
) -> None:
    texts = {
        "p/1": "write to jane.doe@example.com or to joe@example.org about it",
        "p/2": "pay with 4111 1111 1111 1111 today",
        "p/3": "nobody is named here",
    }
    add_lines(fresh.help_files[0], [record(text, name) for name, text in texts.items()], at=0)
    section = '[personal]\nemail = "redact"\ncard = "drop"\nphone = "count"\n'
    fresh.write_spec(FOUR_SOURCES + section)
    fresh.build(workers=2)
    with fresh.read() as book:
        decisions, signals = book.table("decisions"), book.table("signals")
        hasher = book.reading.workspace.id_hasher()
        rows = {
            name: one(decisions.filter(pc.field("document_id") == document_id(hasher, name)))
            for name in texts
        }
        findings = book.table("findings").to_pylist()
        found = signals.filter(pc.field("document_id") == document_id(hasher, "p/1"))
    assert (rows["p/1"]["verdict"], rows["p/1"]["edits"]) == ("kept", "personal")
    redacted = b"write to <EMAIL> or to <EMAIL> about it"
    assert rows["p/1"]["content_id"] == hasher.content_id(redacted)
    assert (rows["p/2"]["rule"], rows["p/2"]["value"]) == ("personal.card", 1)
    assert (rows["p/3"]["verdict"], rows["p/3"]["edits"]) == ("kept", "")
    assert found["personal_email"].to_pylist() == [2]
    assert {"kind": "email", "masked": "j***@e***.com"}.items() <= {
        key: value
        for row in findings
        if row["document_id"] == document_id(hasher, "p/1")
        for key, value in row.items()
    }.items()
    page = tmp_path / "report.html"
    assert cli("report", DATASET, "--output", page, "--workspace", fresh.root).code == 0
    assert "j***@e***.com" in page.read_text("utf-8")
    assert "jane.doe" not in page.read_text("utf-8")


def test_an_own_transform_edits_measures_and_is_known_by_its_file(fresh: World) -> None:
    code = (
        "import pyarrow as pa\n"
        "def shout(documents, mark):\n"
        "    texts = [text + mark for text in documents['text'].to_pylist()]\n"
        "    return pa.table({'text': texts, 'length': [len(text) for text in texts]})\n"
    )
    (fresh.root / "transforms").mkdir()
    path = fresh.root / "transforms" / "mine.py"
    path.write_text(code)
    section = '[[transforms]]\nfunction = "mine:shout"\nparameters = { mark = "!" }\n'
    section += '[[limits]]\nsignal = "own_shout_length"\nmax = 3000\n'
    fresh.write_spec(FOUR_SOURCES + section)
    fresh.build(workers=2)
    with fresh.read() as book:
        rows = book.table("decisions").to_pylist()
        assert {row["edits"] for row in rows} == {"shout"}
        assert "limits.own_shout_length.max" in book.stage_of("clean")["dropped"]
        lengths = book.table("signals")["own_shout_length"].to_pylist()
        assert lengths == book.table("signals")["num_chars"].to_pylist()
        names = [transform["name"] for transform in book.content.transforms]
        assert "own.shout" in names
    assert not fresh.build().published
    path.write_text(code + "# the same, otherwise\n")
    assert fresh.build().published


def test_lists_of_words_and_classifiers_are_signals_with_limits(fresh: World) -> None:
    (fresh.root / "bad.txt").write_text("# of 2026\ndocument\nsem dúvida\n", encoding="utf-8")
    labels = {"__label__hq": (2.0, -2.0), "__label__lq": (-2.0, 2.0)}
    model = tiny_model({"the": (1.0, 0.0), "a": (0.0, 1.0)}, labels)
    (fresh.root / "edu.bin").write_bytes(model)
    tables = """
[[words]]
name = "bad"
file = "bad.txt"
max = 2

[[scores]]
name = "edu"
model = "edu.bin"
label = "__label__hq"
max = 0.9
"""
    fresh.write_spec(FOUR_SOURCES + tables)
    fresh.build(workers=2)
    with fresh.read() as book:
        dropped = book.stage_of("clean")["dropped"]
        rows = book.table("signals").to_pylist()
    assert set(dropped) == {"words.bad.max", "scores.edu.max"}
    many = [row for row in rows if row["words_bad"] > 2]
    high = [row for row in rows if row["words_bad"] <= 2 and row["score_edu"] > 900_000]
    assert dropped["words.bad.max"]["records"] == len(many) > 0
    assert dropped["scores.edu.max"]["records"] == len(high) > 0


def decided(world: World) -> set[tuple[object, ...]]:
    """Every decision by place, without the ids, which differ by workspace."""
    names = ("path", "offset", "verdict", "rule", "value", "threshold", "num_tokens", "edits")
    with world.read() as book:
        rows = book.table("decisions").select(names).to_pylist()
    return {tuple(row.values()) for row in rows}


def test_workers_and_the_order_of_files_change_no_verdict(ruled: World, tmp_path: Path) -> None:
    other = make_world(tmp_path / "other")
    _, text = longest(other)
    add_lines(other.help_files[0], [record(shortened(text), "near/1")], at=0)
    other.write_spec(FOUR_SOURCES + RULES)
    other.build(workers=4)
    assert other.content_roots() == ruled.content_roots()
    assert decided(other) == decided(ruled)


@pytest.mark.parametrize("kind", ["contests", "choices", "resolutions", "tokens"])
def test_a_build_that_dies_between_its_steps_ends_as_an_undisturbed_one(
    kind: str, ruled: World, tmp_path: Path
) -> None:
    other = make_world(tmp_path / "other")
    _, text = longest(other)
    add_lines(other.help_files[0], [record(shortened(text), "near/1")], at=0)
    other.write_spec(FOUR_SOURCES + RULES)
    partitions = len({path.parent for path in parts(ruled)})
    calls = partitions + 1 + ("contests", "choices", "resolutions", "tokens").index(kind)
    die_after(other, "storage_tiers.stage:StageStore._finish", calls)
    assert list((other.stage / kind).glob("[!.]*/receipt.json"))
    assert other.versions() == []
    other.build()
    assert other.content_roots() == ruled.content_roots()
    assert decided(other) == decided(ruled)
    assert other.verify() == []
    for left in ("contests", "choices", "resolutions", "tokens", "shards", "records"):
        assert not list((other.stage / left).glob("*"))


def test_decisions_that_were_tampered_with_are_found(ruled: World) -> None:
    with ruled.read() as book:
        stored = book.object("records/decisions-00000.parquet")
    path = ruled.path_of(stored, "hot")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    assert any("decisions-00000" in finding for finding in ruled.verify())
