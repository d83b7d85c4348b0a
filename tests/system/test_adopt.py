"""A corpus that exists already becomes a version, and nobody claims to know where it came from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage.audit.documents import ask_documents
from lineage.audit.search import Wanted
from tests.system.conftest import Said
from tests.system.world import World

pytestmark = pytest.mark.system

TEXTS = ["plain words", "e\u0301 is not composed, and stays", "three\r\nlines \n here"]


def corpus(folder: Path) -> Path:
    """Six texts in three files of two formats, under fields of their own."""
    (folder / "My Corpus").mkdir(parents=True)
    lines = [json.dumps({"content": text, "key": f"k/{n}"}) for n, text in enumerate(TEXTS)]
    (folder / "My Corpus" / "a.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    rows = {"content": [text.upper() for text in TEXTS], "key": ["u/0", "u/1", "u/2"]}
    pq.write_table(pa.table(rows), folder / "more.parquet")
    return folder


def adopt(world: World, *paths: Path, name: str = "old", more: tuple[str, ...] = ()) -> list[str]:
    files = ("--tokenizer", str(world.root / "tokenizer.json"))
    end = ("--end-of-document", "<|endoftext|>", "--sample-tokens", "32", "--quiet")
    return ["adopt", name, *map(str, paths), *files, *end, "-w", str(world.root), *more]


def test_texts_are_adopted_as_they_are_and_say_that_their_origin_is_unknown(
    fresh: World, tmp_path: Path, cli: Callable[..., Said]
) -> None:
    folder = corpus(tmp_path / "there")
    paths = (folder / "My Corpus", folder / "more.parquet")
    said = cli(*adopt(fresh, *paths, more=("--text", "content", "--id", "key", "--json")))
    assert said.code == 0, said.err
    assert said.json["version"] == "old@v1"
    with fresh.read("old") as book:
        origin = {(source.source_class, source.collected) for source in book.content.sources}
        assert origin == {("unknown_before_import", "unknown")}
        assert [source.name for source in book.content.sources] == ["my-corpus", "more"]
        assert [t["name"] for t in book.content.transforms] == ["rules"]
        for wanted in (Wanted(id="k/1"), Wanted(text=TEXTS[1]), Wanted(id="u/2")):
            assert ask_documents(book.reading, wanted, "old", 1).facts["num_documents"] == 1
    assert len(fresh.samples("old")) > 0
    assert fresh.verify() == []
    again = cli(*adopt(fresh, *paths))
    assert again.code == 6
    assert "specs/old.toml is there already" in again.err


def test_what_cannot_be_adopted_leaves_no_spec(
    fresh: World, tmp_path: Path, cli: Callable[..., Said]
) -> None:
    folder = corpus(tmp_path / "there")
    (folder / "notes").write_text("no ending")
    wrong = {
        (folder / "notes",): (2, "no format is known"),
        (folder,): (2, "files of several formats: jsonl, parquet"),
        (folder / "absent.jsonl",): (3, "no such file"),
        (folder / "*.jsonl",): (3, "nothing matches"),
    }
    for paths, (code, words) in wrong.items():
        said = cli(*adopt(fresh, *paths))
        assert (said.code, words in said.err) == (code, True), said.err
    for more, words in (
        (("--licence", "freely"), "not in the SPDX list"),
        (("--end-of-document", "<|no|>"), "no token"),
        (("--seed", str(2**64)), "seed"),
    ):
        said = cli(*adopt(fresh, folder / "more.parquet", more=more))
        assert (said.code, words in said.err) == (2, True), said.err
    assert cli(*adopt(fresh, folder / "more.parquet", name="No Name")).code == 2
    assert [path.name for path in (fresh.root / "specs").iterdir()] == ["corpus.toml"]
