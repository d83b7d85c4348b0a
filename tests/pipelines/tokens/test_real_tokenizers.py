"""The same promises on tokenizers that people train with, where they lie on this machine."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tokenizers

from pipelines.probe import PROBE_TEXTS
from pipelines.tokens.tokenizer import Tokenizer

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
# A folder of NAME/tokenizer.json, such as gpt2/tokenizer.json; without it those skip.
_PLACE = Path(os.environ.get("SHARDLINE_TOKENIZERS", SAMPLE))
FILES = [*sorted(SAMPLE.glob("tokenizer.json")), *sorted(_PLACE.glob("*/tokenizer.json"))]
LARGE = ("gpt2", "cl100k_base", "o200k_base", "qwen3", "mistral-tekken")


def _texts() -> list[str]:
    """Probe texts and a few real documents of each source of the bundled sample, in NFC."""
    texts = list(PROBE_TEXTS)
    for file in sorted(SAMPLE.glob("*.jsonl")):
        lines = file.read_text(encoding="utf-8").splitlines()
        texts += [json.loads(line)["text"][:4_000] for line in lines[:4]]
    return [unicodedata.normalize("NFC", text) for text in texts]


@pytest.mark.parametrize(
    "name", ["sample", *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]
)
def test_a_real_tokenizer_keeps_every_promise(name: str) -> None:
    paths = [path for path in FILES if path.parent.name == name]
    if not paths:
        pytest.skip(f"no {name}/tokenizer.json here")
    whole = tokenizers.Tokenizer.from_file(str(paths[0]))
    end = next(t for t in ("<|endoftext|>", "</s>") if whole.token_to_id(t) is not None)
    ours = Tokenizer.load(paths[0], end)
    added = whole.get_added_tokens_decoder().values()
    spelled = " x".join(token.content for token in added) + end
    column = pa.array([*_texts(), spelled], pa.large_string())
    tokens = ours.encode(column).tokens
    assert ours.engine == "gigatoken"
    assert ours.identity.end_id == whole.token_to_id(end)
    ours.check(column, tokens, range(len(column)))
    # The library's own way to read special tokens as text, on the file as it is.
    whole.encode_special_tokens = True
    for text, row in zip(column.to_pylist(), tokens.to_pylist(), strict=True):
        ids = np.frombuffer(row, ours.identity.dtype)[:-1].tolist()
        assert ids == whole.encode(text, add_special_tokens=False).ids
        assert whole.decode(ids, skip_special_tokens=False) == text
