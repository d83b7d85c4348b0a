"""A corpus that exists already becomes a version, and nobody claims to know where it came from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardline
from flows.adopt import Corpus
from flows.adopt import adopt as write_spec
from flows.build.announcer import Silence
from flows.build.plain import build_without_prefect
from lineage.audit.documents import ask_documents
from lineage.audit.search import Wanted
from tests.pipelines.ingest.ids.token_files import array, mds, megatron
from tests.system.conftest import Said
from tests.system.world import Book, World

pytestmark = pytest.mark.system

END, END_TOKEN = 0, "<|endoftext|>"
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
    end = ("--end-of-document", END_TOKEN, "--sample-tokens", "32", "--quiet")
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


def tokenized(folder: Path) -> tuple[list[list[int]], dict[str, tuple[Path, str | None]]]:
    """Documents of random ids, and the same ones in each format."""
    chance = np.random.default_rng(7)
    rows = [[*chance.integers(1, 8192, n).tolist(), END] for n in chance.integers(1, 90, 60)]
    folder.mkdir()
    for name, part in (("shard.00000.mds", rows[:35]), ("shard.00001.mds", rows[35:])):
        (folder / "mds").mkdir(exist_ok=True)
        (folder / "mds" / name).write_bytes(mds(part, "int64"))
    index, ids = megatron(rows, "int32")
    (folder / "megatron").mkdir()
    (folder / "megatron" / "all_document.idx").write_bytes(index)
    (folder / "megatron" / "all_document.bin").write_bytes(ids)
    (folder / "train.bin").write_bytes(array(rows, "uint16", header=False))
    (folder / "train.npy").write_bytes(array(rows, "uint32", header=True))
    return rows, {
        "mds": (folder / "mds", "int64"),
        "megatron": (folder / "megatron", None),
        "bin": (folder / "train.bin", "uint16"),
        "npy": (folder / "train.npy", "uint32"),
    }


def given(world: World, name: str) -> Counter[int]:
    """How often a feed gives each id in an epoch."""
    count: Counter[int] = Counter()
    run = shardline.training_run(
        name, model="reader", seed=5, workspace=world.root, allow_unapproved=True
    )
    with run:
        for batch in shardline.ShardFeed(run, batch_size=1):
            count.update(np.asarray(batch.input_ids)[np.asarray(batch.loss_mask)].tolist())
    return count


def stored(book: Book) -> list[list[int]]:
    """Each document of a version, cut out of its shards by its span."""
    found = []
    for _, shard, spans in book.reading.spans(book.version):
        rows = book.open(shard)["input_ids"].to_pylist()
        ids = np.frombuffer(b"".join(rows), book.content.tokenizer["dtype"])
        table = book.reading.read(book.version.dataset, spans).to_pylist()
        found += [ids[row["start"] : row["start"] + row["num_tokens"]].tolist() for row in table]
    return found


def test_tokens_are_adopted_as_they_are_from_every_format(fresh: World, tmp_path: Path) -> None:
    rows, ways = tokenized(tmp_path / "there")
    for name, (path, dtype) in ways.items():
        with fresh.open() as workspace:
            corpus = Corpus(
                (path,), fresh.root / "tokenizer.json", END_TOKEN, None, None, dtype, "MIT", 32, 1
            )
            write_spec(workspace, name, corpus)
            build_without_prefect(workspace, name, 1, Silence())
        with fresh.read(name) as book:
            assert sorted(stored(book)) == sorted(rows)
            assert book.content.tokenizer["applied"] == "before_import"
            assert book.content.num_tokens == sum(map(len, rows))
            assert set(book.table("decisions")["verdict"].to_pylist()) == {"kept"}
        assert given(fresh, name) == Counter(number for row in rows for number in row)
    assert fresh.verify() == []


def test_what_cannot_be_adopted_leaves_no_spec(
    fresh: World, tmp_path: Path, cli: Callable[..., Said]
) -> None:
    folder = corpus(tmp_path / "there")
    (folder / "notes").write_text("no ending")
    wrong = {
        (folder / "notes",): (2, "no format is known"),
        (folder / "gone",): (3, "no such file or folder"),
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
    _, ways = tokenized(tmp_path / "ids")
    (tmp_path / "ids" / "mds" / "shard.00001.mds").unlink()
    shards = [
        {"raw_data": {"basename": path.name, "bytes": path.stat().st_size}}
        for path in (tmp_path / "ids" / "mds").iterdir()
    ]
    shards.append({"raw_data": {"basename": "shard.00001.mds", "bytes": 99}})
    (tmp_path / "ids" / "mds" / "index.json").write_text(json.dumps({"shards": shards}))
    said = cli(*adopt(fresh, ways["mds"][0], more=("--dtype", "int64")))
    assert (said.code, "shard.00001.mds: not there with 99 bytes" in said.err) == (3, True)
    (tmp_path / "ids" / "mds" / "index.json").write_text("[]")
    assert cli(*adopt(fresh, ways["mds"][0], more=("--dtype", "int64"))).code == 2
    for options, words in (([], "add --dtype"), (["--dtype", "float32"], "'float32' is none of")):
        said = cli(*adopt(fresh, ways["bin"][0]), *options)
        assert (said.code, words in said.err) == (2, True), said.err
    assert [path.name for path in (fresh.root / "specs").iterdir()] == ["corpus.toml"]
