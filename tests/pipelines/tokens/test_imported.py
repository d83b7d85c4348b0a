"""Ids that came with a corpus stay what they are, and each document ends as all others do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError
from pipelines.tokens.imported import ImportedTokens
from pipelines.tokens.notation import noted
from pipelines.tokens.tokenizer import Tokenizer

END = "<|endoftext|>"


@pytest.fixture(scope="session")
def imported(tokenizer_file: Path) -> ImportedTokens:
    return ImportedTokens.load(tokenizer_file, END)


def encoded(imported: ImportedTokens, rows: list[list[int]]) -> list[list[int]]:
    texts = [noted(np.array(row, np.uint32)).decode() for row in rows]
    batch = imported.encode(pa.array(texts, pa.large_string()))
    dtype = imported.identity.dtype
    found = [np.frombuffer(value.as_buffer(), dtype).tolist() for value in batch.tokens]
    assert batch.num_tokens == sum(map(len, found))
    return found


@settings(deadline=None)
@given(rows=st.lists(st.lists(st.integers(0, 200), max_size=5), max_size=5))
def test_an_end_token_is_added_where_none_is(
    imported: ImportedTokens, rows: list[list[int]]
) -> None:
    end = imported.identity.end_id
    expected = [row if row and row[-1] == end else [*row, end] for row in rows]
    assert encoded(imported, rows) == expected


def test_the_identity_says_that_nobody_here_applied_the_tokenizer(
    imported: ImportedTokens, tokenizer_file: Path
) -> None:
    ours = Tokenizer.load(tokenizer_file, END).identity
    assert imported.identity.to_json() == ours.to_json() | {"applied": "before_import"}
    assert "applied" not in ours.to_json()


def test_an_id_beyond_the_tokenizer_names_the_wrong_one(imported: ImportedTokens) -> None:
    num_ids = imported.identity.num_ids
    with pytest.raises(ConfigError, match=f"holds token {num_ids}, and its tokenizer ends at"):
        encoded(imported, [[1], [num_ids]])
