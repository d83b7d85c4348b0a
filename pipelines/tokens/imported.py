"""Tokens that came with a corpus: a tokenizer is named for them, and was not applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from lineage.errors import ConfigError
from pipelines.tokens.buffers import large_binary
from pipelines.tokens.notation import read_notes
from pipelines.tokens.tokenizer import TokenBatch, Tokenizer, TokenizerIdentity


class ImportedTokens:
    """Stands where a tokenizer does, for sources that hold ids.

    Args:
        identity: of the tokenizer that the ids are said to be of.
    """

    def __init__(self, identity: TokenizerIdentity) -> None:
        self.identity = replace(identity, applied=False)

    @classmethod
    def load(cls, path: Path, end_of_document: str) -> ImportedTokens:
        """As `Tokenizer.load`, and raises as it does."""
        return cls(Tokenizer.load(path, end_of_document).identity)

    def encode(self, texts: pa.LargeStringArray) -> TokenBatch:
        """The ids that the texts note; a document without an end token gets one.

        Raises:
            ConfigError: an id that the tokenizer does not have.
        """
        ids, ends = read_notes(texts)
        largest = int(ids.max(initial=0))
        if largest >= self.identity.num_ids:
            raise ConfigError(
                f"the corpus holds token {largest}, and its tokenizer ends at "
                f"{self.identity.num_ids - 1}",
                "name the tokenizer that made it, and the width of its ids",
            )
        last = ids[np.maximum(ends[1:] - 1, 0)] if len(ids) else np.zeros(len(texts), np.uint32)
        open_ = (np.diff(ends) == 0) | (last != self.identity.end_id)
        new_ends = ends + np.concatenate([[0], np.cumsum(open_)])
        dtype = np.dtype(self.identity.dtype)
        out = np.full(int(new_ends[-1]), self.identity.end_id, dtype)
        given = np.ones(len(out), np.bool_)
        given[new_ends[1:][open_] - 1] = False
        out[given] = ids
        return TokenBatch(large_binary(new_ends * dtype.itemsize, out), len(out))

    def check(
        self, texts: pa.LargeStringArray, tokens: pa.LargeBinaryArray, rows: Sequence[int]
    ) -> None:
        """Nothing: there is no text that a second tokenizer could read."""
