"""The bundled sample: real, named, licensed, and its tokenizer can be made again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from gigatoken import Tokenizer as Gigatoken
from tokenizers import Tokenizer

from pipelines.spec.dataset import load_spec
from shardline.data.train_tokenizer import END_OF_DOCUMENT, NUM_TOKENS, SAMPLE, sample_texts, train


def test_the_spec_names_every_file_and_nothing_else() -> None:
    spec = load_spec(SAMPLE / "sample.toml")
    assert {Path(source.path).name for source in spec.sources} == {
        path.name for path in SAMPLE.glob("*.jsonl")
    }
    assert Path(spec.tokenizer.file).name == "tokenizer.json"
    assert spec.tokenizer.end_of_document == END_OF_DOCUMENT


def test_every_row_is_whole_and_says_whose_it_is() -> None:
    ids = set()
    for path in SAMPLE.glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            row = json.loads(line)
            assert row["source"] == path.stem
            assert row["text"] and row["licence"]
            ids.add(row["id"])
    assert len(ids) == 512


def test_every_source_stands_in_the_notice() -> None:
    notice = (SAMPLE / "NOTICE.md").read_text("utf-8")
    for source in load_spec(SAMPLE / "sample.toml").sources:
        assert f"| {source.name} |" in notice


def test_the_tokenizer_is_trained_again_byte_for_byte(tmp_path: Path) -> None:
    train(sample_texts()).save(str(tmp_path / "again.json"), pretty=False)
    assert (tmp_path / "again.json").read_bytes() == (SAMPLE / "tokenizer.json").read_bytes()


def test_both_engines_give_the_same_ids_and_the_text_comes_back() -> None:
    file = SAMPLE / "tokenizer.json"
    reference, quick = Tokenizer.from_file(str(file)), Gigatoken(str(file))
    texts = list(sample_texts())
    assert reference.get_vocab_size() == NUM_TOKENS
    assert reference.token_to_id(END_OF_DOCUMENT) is not None
    for text, ids in zip(texts, quick.encode_batch(texts), strict=True):
        expected = reference.encode(text, add_special_tokens=False).ids
        assert np.asarray(ids).tolist() == expected
        assert reference.decode(expected, skip_special_tokens=False) == text
