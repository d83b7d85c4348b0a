"""Evaluation sets are files of the workspace, and every item has a place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage.errors import ConfigError, NotFound
from pipelines.decontamination.items import EvalItems, load_items
from pipelines.spec.decontamination import decontamination_spec


def write(root: Path, name: str, data: str | bytes) -> None:
    path = root / "evals" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def load(root: Path, *sets: object, **given: object) -> EvalItems:
    return load_items(decontamination_spec({"sets": list(sets), **given}, "a.toml"), root)


def test_fields_are_joined_and_choices_are_lists_or_objects(tmp_path: Path) -> None:
    record = {
        "question": "How many?",
        "choices": {"text": ["one", "two"], "label": ["A", "B"]},
        "answer": 1,
        "hard": True,
        "note": None,
    }
    write(tmp_path, "a.jsonl", lines(record))
    write(tmp_path, "b.jsonl", lines({"source": "a book"}))
    fields = ["question", "choices", "answer", "hard", "note", "source"]
    items = load(tmp_path, "evals/a.jsonl", "evals/b.jsonl", fields=fields)
    assert items.texts.to_pylist() == ["How many?\none\ntwo\nA\nB\n1", "a book"]
    assert items.places == ("evals/a.jsonl:1", "evals/b.jsonl:1")


def test_a_field_that_no_item_of_any_set_has_is_a_slip(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", lines({"question": "q", "choices": {"text": ["x"]}}))
    with pytest.raises(ConfigError, match=r"no item .* has the field 'choices\.texts'"):
        load(tmp_path, "evals/a.jsonl", fields=["question", "choices.texts"])


def test_a_field_may_be_a_path(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", lines({"doc": {"text": "deep"}}))
    assert load(tmp_path, "evals/a.jsonl", fields=["doc.text"]).texts.to_pylist() == ["deep"]


def test_files_of_a_glob_are_read_in_order_and_lines_are_numbered(tmp_path: Path) -> None:
    write(tmp_path, "b.jsonl", "\ufeff" + lines({"text": "first"}) + "\n" + lines({"text": "3rd"}))
    write(tmp_path, "a.jsonl.gz", gzip.compress(lines({"text": "packed"}).encode()))
    write(tmp_path, "c.txt", "a line of text\r\n\nanother")
    items = load(tmp_path, "evals/*.jsonl", {"path": "evals/a.jsonl.gz"}, "evals/c.txt")
    assert items.places == (
        *("evals/b.jsonl:1", "evals/b.jsonl:3"),
        "evals/a.jsonl.gz:1",
        *("evals/c.txt:1", "evals/c.txt:3"),
    )
    assert items.texts.to_pylist()[:3] == ["first", "3rd", "packed"]


def test_rows_of_parquet_are_items(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    table = pa.table({"q": ["one", "two"], "choices": [["a", "b"], []]})
    pq.write_table(table, tmp_path / "evals" / "a.parquet")
    items = load(tmp_path, {"path": "evals/a.parquet", "fields": ["q", "choices"]})
    assert items.texts.to_pylist() == ["one\na\nb", "two"]
    assert items.places == ("evals/a.parquet:1", "evals/a.parquet:2")


def test_the_digest_is_of_places_and_texts(tmp_path: Path) -> None:
    digests = set()
    for name, records in (
        ("a.jsonl", [{"text": "x"}, {"text": "y"}]),
        ("a.jsonl", [{"text": "y"}, {"text": "x"}]),
        ("b.jsonl", [{"text": "x"}, {"text": "y"}]),
        ("a.jsonl", [{"text": "x", "more": 1}, {"text": "y"}]),
    ):
        write(tmp_path, name, lines(*records))
        digests.add(load(tmp_path, f"evals/{name}").digest)
    assert len(digests) == 3


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    with pytest.raises(NotFound, match=r"evals/a\.jsonl"):
        load(tmp_path, "evals/a.jsonl")
    with pytest.raises(NotFound, match=r"'evals/\*\.jsonl' names no file"):
        load(tmp_path, "evals/*.jsonl")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", "", "holds no item"),
        ("a.jsonl", "\n\n", "holds no item"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        ("a.jsonl", '["text"]\n', "item 1 is an array"),
        (
            "a.jsonl",
            lines({"text": "a"}, {"question": "secret"}),
            "item 2 has no text in the fields text",
        ),
        ("a.jsonl", lines({"text": "  "}), "item 1 has no text"),
        ("a.txt", b"good\nb\xffd\n", "line 2 is not UTF-8"),
        ("a.jsonl.gz", b"no gzip at all", "cannot be unpacked"),
        ("a.txt.gz", gzip.compress(bytes(257 << 20), 1), "larger than 256 MiB, unpacked"),
        ("a.parquet", b"PAR1 no more", "no Parquet file"),
    ],
)
def test_a_set_that_cannot_be_read_whole_is_refused(
    tmp_path: Path, name: str, data: str | bytes, message: str
) -> None:
    write(tmp_path, name, data)
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, f"evals/{name}")
    assert "secret" not in str(caught.value)
    assert name in str(caught.value)


def test_a_link_that_leaves_the_workspace_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    write(tmp_path, "outside.jsonl", lines({"text": "a"}))
    (root / "evals").mkdir(parents=True)
    (root / "evals" / "a.jsonl").symlink_to(tmp_path / "evals" / "outside.jsonl")
    with pytest.raises(ConfigError, match="leaves the workspace"):
        load(root, "evals/a.jsonl")
