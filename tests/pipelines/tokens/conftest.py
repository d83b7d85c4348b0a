"""A small byte-level tokenizer, trained here on text written for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers

TEXTS = (
    "The baker sells bread, and the bread is warm; the river carries the boats to the sea.",
    "Der Bäcker verkauft Brot, und das Brot ist warm. Straßen, Flüsse und Bücher.",
    "Хлеб тёплый, а река несёт лодки к морю. Книги стоят на полке.",
    "面包是热的。河流把船带到大海。书在架子上。",
    "الخبز دافئ والنهر يحمل القوارب إلى البحر",
    "for i in range(10):\n    print(i, 2 ** i)\n",
)


@pytest.fixture(scope="session")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json with two special tokens and one added token that is not special."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        show_progress=False,
        special_tokens=["<|endoftext|>", "<|pad|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(TEXTS * 4, trainer)
    tokenizer.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path
