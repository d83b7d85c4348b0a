"""Trains the sample's tokenizer from the sample itself.

    python -m shardline.data.train_tokenizer OUT.json

The same sample and the same `tokenizers` release give the same bytes, on any number
of cores; tests/shardline/test_sample.py holds it. Byte-level BPE, so that every text in
every script has ids and comes back unchanged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SAMPLE = Path(__file__).parent / "sample"
NUM_TOKENS = 8_192
END_OF_DOCUMENT = "<|endoftext|>"


def sample_texts(sample: Path = SAMPLE) -> Iterator[str]:
    """Every text of the sample: files by name, rows as they lie."""
    for path in sorted(sample.glob("*.jsonl")):
        with path.open("rb") as lines:
            for line in lines:
                yield json.loads(line)["text"]


def train(texts: Iterator[str]) -> Tokenizer:
    """A byte-level BPE of `NUM_TOKENS` ids, the end token among them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=NUM_TOKENS,
        special_tokens=[END_OF_DOCUMENT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def main(arguments: list[str]) -> int:
    """Writes the tokenizer to the one path given."""
    if len(arguments) != 1:
        print("usage: python -m shardline.data.train_tokenizer OUT.json", file=sys.stderr)
        return 2
    train(sample_texts()).save(arguments[0], pretty=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
