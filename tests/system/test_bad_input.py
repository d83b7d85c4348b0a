"""Bad input through a whole build: a quarantine row with place and reason, or one clear error."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lineage.errors import ConfigError, Unavailable
from tests.system.disks import Disk
from tests.system.world import DATASET, SOURCE, World, record, sample_lines

pytestmark = pytest.mark.system
GOOD = sample_lines("gnome-user-docs", 8)


def source(name: str, path: str, more: str = 'id = "id"') -> str:
    return SOURCE.format(name=name, path=path, licence="CC0-1.0", more=more)


def write(world: World, name: str, data: bytes) -> Path:
    path = world.root / "text" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def places(world: World) -> dict[str, list[tuple[int, str]]]:
    """The quarantine by path: byte offset and reason of each row."""
    found: dict[str, list[tuple[int, str]]] = {}
    with world.read() as book:
        for row in book.table("quarantine").to_pylist():
            found.setdefault(row["path"], []).append((row["offset"], row["reason"]))
    return found


BAD_LINES = [
    (b'{"id": "x", "text": "broken\n', "invalid_json"),
    (b'{"id": "x", "text": "caf\xe9 in Latin-1"}\n', "invalid_utf8"),
    ('{"id": "x", "text": "UTF-16"}'.encode("utf-16-le") + b"\n", "nul_character"),
    (record(None, "x"), "text_null"),
    (b'{"id": "x"}\n', "text_missing"),
    (b'{"id": "x", "text": 7}\n', "text_not_a_string"),
    (b'{"text": "no id"}\n', "id_missing"),
    (b'{"id": 1.5, "text": "id"}\n', "id_not_a_string"),
    (b'{"id": "x", "text": "half \\ud83d of a pair"}\n', "lone_surrogate"),
    (b'{"id": "x", "text": "\x00"}\n', "nul_character"),
    (record("before \x00 after", "x"), "nul_character"),
    (b'["x", "text"]\n', "not_an_object"),
    (b"   \n", "blank_line"),
]


def test_every_bad_line_is_quarantined_with_its_place_and_reason(
    fresh: World, cli: Callable[..., Any]
) -> None:
    lines, expected, offset = [], [], 0
    for number, (line, reason) in enumerate(BAD_LINES):
        for piece in (GOOD[number % 8].replace(b'"id": "', b'"id": "%d-' % number, 1), line):
            lines.append(piece)
            if piece is line:
                expected.append((offset, reason))
            offset += len(piece)
    write(fresh, "mixed.jsonl", b"".join(lines))
    fresh.write_spec(source("mixed", "text/mixed.jsonl"))
    report = fresh.build()
    assert places(fresh) == {"text/mixed.jsonl": expected}
    told = cli("quarantine", DATASET, "--json", "-w", fresh.root).json
    records = told["answer"]["records"]
    assert [(item["offset"], item["reason"]) for item in records] == expected
    assert not any("record" in item for item in records)
    assert not cli("quarantine", DATASET, "--json", "--limit", "1", "-w", fresh.root).json[
        "complete"
    ]
    with fresh.read() as book:
        ingest = book.stage_of("ingest")
        assert ingest["in"]["records"] == len(lines)
        assert ingest["kept"]["records"] == len(BAD_LINES)
        assert ingest["in"]["bytes"] == offset
        rows = book.table("quarantine").to_pylist()
        assert [row["num_bytes"] for row in rows] == [len(line) for line, _ in BAD_LINES]
        assert [row["record"] for row in rows] == [line.rstrip(b"\n") for line, _ in BAD_LINES]
    assert all(reason in report.text() for _, reason in BAD_LINES)
    assert fresh.verify() == []


def test_truncated_streams_give_what_they_hold_and_say_where_they_end(fresh: World) -> None:
    data = b"".join(GOOD)
    packed = gzip.compress(data, mtime=0)
    write(fresh, "cut.jsonl.gz", packed[: len(packed) * 2 // 3])
    zipped = zstandard.ZstdCompressor().compress(data)
    write(fresh, "cut.jsonl.zst", zipped[: len(zipped) // 2])
    write(fresh, "noise.jsonl.gz", os.urandom(2000))
    write(fresh, "whole.jsonl.gz", packed)
    spec = source("gz", "text/cut.jsonl.gz") + source("zst", "text/cut.jsonl.zst")
    fresh.write_spec(
        spec + source("noise", "text/noise.jsonl.gz") + source("whole", "text/whole.jsonl.gz")
    )
    fresh.build()
    found = places(fresh)
    assert {path: [reason for _, reason in rows] for path, rows in found.items()} == {
        "text/cut.jsonl.gz": ["truncated_stream"],
        "text/cut.jsonl.zst": ["truncated_stream"],
        "text/noise.jsonl.gz": ["corrupt_stream"],
    }
    with fresh.read() as book:
        kept = book.stage_of("ingest")["kept"]["records"]
        assert len(GOOD) < kept < 2 * len(GOOD)
        (offset, _), *_ = found["text/cut.jsonl.gz"]
        assert data[:offset].count(b"\n") == kept - len(GOOD)
    assert fresh.verify() == []


def test_empty_files_are_noted_and_empty_sources_are_refused(fresh: World) -> None:
    write(fresh, "mixed/empty.jsonl", b"")
    write(fresh, "mixed/good.jsonl", b"".join(GOOD))
    write(fresh, "broken.parquet", b"PAR1 is not all that it takes PAR1")
    spec = source("mixed", "text/mixed/*.jsonl") + source("broken", "text/broken.parquet")
    fresh.write_spec(spec)
    assert fresh.build().num_new == len(GOOD)
    assert places(fresh) == {
        "text/mixed/empty.jsonl": [(0, "empty_file")],
        "text/broken.parquet": [(0, "corrupt_file")],
    }


def test_nothing_kept_is_one_clear_error_with_the_reasons(fresh: World) -> None:
    write(fresh, "empty.jsonl", b"")
    write(fresh, "broken.jsonl", b"not json\n" * 3)
    fresh.write_spec(source("empty", "text/empty.jsonl") + source("broken", "text/broken.jsonl"))
    with pytest.raises(ConfigError, match="no document was kept") as refused:
        fresh.build()
    assert "3 invalid_json" in refused.value.hint
    assert "1 empty_file" in refused.value.hint
    assert fresh.versions() == []
    assert fresh.verify() == []


def test_a_record_id_that_is_used_twice_keeps_one_content_in_whatever_order(fresh: World) -> None:
    twice = [record("Le chat dort.", "same"), record("Der Hund bellt.", "same")]
    write(fresh, "twice.jsonl", b"".join([*GOOD, *twice, twice[0]]))
    fresh.write_spec(source("twice", "text/twice.jsonl"))
    assert fresh.build().num_new == len(GOOD) + 1
    with fresh.read() as book:
        dedup = book.stage_of("dedup")
        rows = [row for row in book.table("decisions").to_pylist() if row["rule"]]
        assert sum(count["records"] for count in dedup["quarantined"].values()) in (1, 2)
        lost = {row["rule"]: row for row in rows}
        assert lost["record_id_reused"]["path"] == "text/twice.jsonl"
        assert lost["record_id_reused"]["document_id"] in book.kept_ids()
        assert dedup["in"]["records"] == len(GOOD) + 3
    roots = fresh.content_roots()
    write(fresh, "twice.jsonl", b"".join([twice[0], twice[1], *GOOD, twice[0]]))
    assert fresh.build().num_new == 0
    assert fresh.content_roots() == roots


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("good.jsonl", "f*.jsonl", ["text/folder.jsonl", "a folder where a file was meant"]),
        ("good.jsonl", "missing.jsonl", ["text/missing.jsonl", "no such file"]),
        ("good.jsonl", "none-*.jsonl", ["text/none-*.jsonl", "nothing matches"]),
        ("good.jsonl", "good.docx", ["good.docx", "jsonl, json, csv"]),
        ("tokenizer.json", "other.json", ["other.json"]),
        ("tokenizer.json", "text/good.jsonl", ["good.jsonl"]),
        ("tokenizer.json", "text/folder.jsonl", ["folder.jsonl", "not an ordinary file"]),
        ("<|endoftext|>", "<|nothing|>", ["<|nothing|>"]),
        ('id = "id"', 'colour = "red"', ["colour"]),
        ("CC0-1.0", "A licence of my own", ["A licence of my own"]),
        ("[[sources]]", "[[sources", ["not TOML"]),
    ],
)
def test_a_wrong_spec_is_one_clear_error_that_names_the_thing(
    old: str, new: str, words: list[str], fresh: World, cli: Callable[..., Any]
) -> None:
    write(fresh, "good.jsonl", b"".join(GOOD))
    (fresh.root / "text" / "folder.jsonl").mkdir()
    fresh.write_spec(source("good", "text/good.jsonl"))
    spec = fresh.root / "specs" / f"{DATASET}.toml"
    spec.write_text(spec.read_text("utf-8").replace(old, new), encoding="utf-8")
    said = cli("build", DATASET, "-w", fresh.root)
    assert said.code in (2, 3)
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert len(said.err.splitlines()) <= 2
    assert all(word in said.err for word in words), said.err
    assert fresh.versions() == []


@pytest.mark.slow
def test_a_build_that_fails_in_its_flow_shows_one_error_and_no_traceback(
    built: World, fresh: World
) -> None:
    disk = Disk.mount(fresh.root / ".shardline" / "stage", 128)
    try:
        command = [sys.executable, "-m", "shardline", "build", DATASET, "--workers", "2"]
        # Whoever asks Prefect for its log gets it, tracebacks and all.
        environ = {name: os.environ[name] for name in os.environ if "PREFECT" not in name}
        done = subprocess.run(
            command, cwd=fresh.root, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == Unavailable.exit_code
        assert done.stdout == ""
        (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert "the disk is full" in error
        assert "free room there" in done.stderr
        said = done.stderr.replace("starting Prefect", "", 1)
        for word in ("Traceback", 'File "', "prefect", "Prefect"):
            assert word not in said
        assert fresh.versions() == []
        disk.remount("size=8192k")
        fresh.build()
        assert fresh.content_roots() == built.content_roots()
    finally:
        disk.unmount()


def test_a_file_that_changes_while_it_is_read_is_a_conflict_and_builds_next_time(
    fresh: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.build import build, plan
    from lineage.errors import Conflict

    planned = plan.plan_build

    def and_then_somebody_writes(*arguments: Any) -> Any:
        found = planned(*arguments)
        with fresh.help_files[0].open("r+b") as file:
            file.write(b" ")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(build, "plan_build", and_then_somebody_writes)
        with pytest.raises(Conflict, match="changed since it was planned"):
            fresh.build()
    assert fresh.versions() == []
    fresh.build()
    with fresh.read() as book:
        assert json.dumps(book.stage_of("ingest")["quarantined"]).count("invalid_json") == 1
