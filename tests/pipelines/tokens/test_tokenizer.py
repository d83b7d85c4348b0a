"""Texts become ids: ended, checked, and never mistaken for special tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest, canonical_json, digest_of, digest_of_file
from lineage.errors import ConfigError, IntegrityError
from pipelines.tokens import engine
from pipelines.tokens.tokenizer import Tokenizer, narrowest_dtype, sampled_rows
from pipelines.tokens.vocabulary import load_vocabulary

END = "<|endoftext|>"
CONTENT = digest_of(b"a partition")

spelled = st.sampled_from([END, "<|pad|>", "<think>", " ", "\n", "\r\n", "the bread", "море", "书"])
texts_of_any_kind = st.lists(
    st.lists(spelled | st.text(st.characters(exclude_categories=["Cs"])), max_size=6).map("".join),
    max_size=8,
)


@pytest.fixture(scope="session")
def tokenizer(tokenizer_file: Path) -> Tokenizer:
    return Tokenizer.load(tokenizer_file, END)


@pytest.fixture
def changed(tokenizer_file: Path, tmp_path: Path) -> Callable[[Callable[[Any], None]], Path]:
    """Makes another tokenizer.json out of the trained one."""

    def change(edit: Callable[[Any], None]) -> Path:
        file = json.loads(tokenizer_file.read_text(encoding="utf-8"))
        edit(file)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        return path

    return change


def strings(*texts: str) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def ids(tokenizer: Tokenizer, *texts: str) -> list[list[int]]:
    tokens = tokenizer.encode(strings(*texts)).tokens
    return [np.frombuffer(row.as_py(), tokenizer.identity.dtype).tolist() for row in tokens]


def test_every_document_ends_with_the_end_token_even_an_empty_one(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode(strings("the bread", "", "море"))
    rows = ids(tokenizer, "the bread", "", "море")
    assert [row[-1] for row in rows] == [tokenizer.identity.end_id] * 3
    assert rows[1] == [tokenizer.identity.end_id]
    assert batch.num_tokens == sum(map(len, rows))
    assert batch.tokens.null_count == 0


def test_no_texts_give_no_tokens(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode(strings())
    assert (len(batch.tokens), batch.num_tokens) == (0, 0)


def test_a_slice_of_a_column_is_encoded_alone(tokenizer: Tokenizer) -> None:
    column = strings("before", "the bread", "море", "after")
    assert tokenizer.encode(column.slice(1, 2)).tokens.equals(
        tokenizer.encode(strings("the bread", "море")).tokens
    )


def test_the_name_of_a_special_token_in_a_text_stays_text(
    tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    whole = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    specials = {whole.token_to_id(END), whole.token_to_id("<|pad|>")}
    (row,) = ids(tokenizer, f"a {END}{END} b <|pad|>")
    assert specials.isdisjoint(row[:-1])
    assert whole.decode(row[:-1], skip_special_tokens=False) == f"a {END}{END} b <|pad|>"


def test_an_added_token_that_is_not_special_keeps_its_id(
    tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    whole = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    (row,) = ids(tokenizer, "<think>")
    assert row == [whole.token_to_id("<think>"), tokenizer.identity.end_id]


@settings(deadline=None, max_examples=80)
@given(texts=texts_of_any_kind)
def test_any_text_comes_back_and_both_engines_agree(
    tokenizer: Tokenizer, tokenizer_file: Path, texts: list[str]
) -> None:
    whole = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    column = strings(*texts)
    tokens = tokenizer.encode(column).tokens
    tokenizer.check(column, tokens, range(len(texts)))
    for text, row in zip(texts, ids(tokenizer, *texts), strict=True):
        assert whole.decode(row[:-1], skip_special_tokens=False) == text


def test_templates_truncation_and_padding_of_the_file_are_not_applied(
    tokenizer: Tokenizer, changed: Callable[..., Path]
) -> None:
    def edit(file: Any) -> None:
        whole = tokenizers.Tokenizer.from_str(json.dumps(file))
        whole.enable_truncation(2)
        whole.enable_padding(length=9)
        whole.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{END} $A {END}", special_tokens=[(END, whole.token_to_id(END))]
        )
        file.update(json.loads(whole.to_str()))

    other = Tokenizer.load(changed(edit), END)
    assert ids(other, "the river carries") == ids(tokenizer, "the river carries")


@pytest.mark.parametrize(
    ("num_ids", "dtype"),
    [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65_536, "uint16"), (65_537, "uint32")],
)
def test_ids_are_as_wide_as_the_largest_needs(num_ids: int, dtype: str) -> None:
    assert narrowest_dtype(num_ids) == dtype


def test_more_ids_than_32_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bits"):
        narrowest_dtype(2**32 + 1)


def test_an_added_token_beyond_16_bits_widens_all_ids(changed: Callable[..., Path]) -> None:
    def edit(file: Any) -> None:
        file["added_tokens"][-1]["id"] = 70_000

    wide = Tokenizer.load(changed(edit), END)
    assert (wide.identity.num_ids, wide.identity.dtype) == (70_001, "uint32")
    assert ids(wide, "<think>") == [[70_000, wide.identity.end_id]]


def test_the_identity_says_what_the_file_is_and_does(
    tokenizer: Tokenizer, tokenizer_file: Path, changed: Callable[..., Path]
) -> None:
    identity = tokenizer.identity
    assert identity.file == digest_of_file(tokenizer_file)
    assert canonical_json(identity.to_json())
    same = Tokenizer.load(changed(lambda file: file.update(version="1.0")), END).identity
    assert same.behaviour == identity.behaviour

    def fewer_merges(file: Any) -> None:
        del file["model"]["merges"][-200:]

    other = Tokenizer.load(changed(fewer_merges), END).identity
    assert other.behaviour != identity.behaviour


def test_what_gigatoken_does_not_know_is_encoded_by_the_other_engine(
    tokenizer: Tokenizer, changed: Callable[..., Path]
) -> None:
    other = Tokenizer.load(changed(lambda file: file.update(normalizer={"type": "NFKC"})), END)
    assert (tokenizer.engine, other.engine) == ("gigatoken", "tokenizers")
    assert ids(other, "the \ufb01rst") == ids(other, "the first")
    column = strings("the bread", "")
    other.check(column, other.encode(column).tokens, [0, 1])
    assert other.encode(strings()).num_tokens == 0


def test_an_engine_made_anew_gives_the_same_ids(
    tokenizer: Tokenizer, tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_GROWTH_BYTES", -1)
    restless = Tokenizer.load(tokenizer_file, END)
    for _ in range(3):
        assert ids(restless, "the bread", "море") == ids(tokenizer, "the bread", "море")


def test_a_null_text_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="null"):
        tokenizer.encode(pa.array(["a", None], pa.large_string()))


def test_a_difference_names_row_and_position_and_no_text(tokenizer: Tokenizer) -> None:
    column = strings("the bread", "the river")
    tokens = tokenizer.encode(column).tokens
    wrong = np.frombuffer(tokens[1].as_py(), tokenizer.identity.dtype).copy()
    wrong[1] += 1
    changed_tokens = pa.array([tokens[0].as_py(), wrong.tobytes()], pa.large_binary())
    with pytest.raises(IntegrityError, match=r"row 1.*token 1") as caught:
        tokenizer.check(column, changed_tokens, [0, 1])
    assert "river" not in str(caught.value)


def test_a_missing_end_token_is_a_difference(tokenizer: Tokenizer) -> None:
    column = strings("")
    with pytest.raises(IntegrityError, match=r"row 0.*token 0"):
        tokenizer.check(column, pa.array([b""], pa.large_binary()), [0])


def test_an_id_beyond_the_vocabulary_stops_everything(tokenizer_file: Path) -> None:
    broken = Tokenizer(replace(load_vocabulary(tokenizer_file, END), num_ids=10), END)
    with pytest.raises(IntegrityError, match="of 10 ids"):
        broken.encode(strings("the bread"))


@pytest.mark.parametrize("name", ["gpt2", "missing.json", "."])
def test_a_name_that_is_no_file_here_is_never_looked_for_elsewhere(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigError, match="on this machine"):
        Tokenizer.load(tmp_path / name, END)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[]", b"{}", b'{"model": {}}', b'{"model": {"vocab": {"a": "b"}}}'],
)
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"not a tokenizer\.json"):
        Tokenizer.load(path, END)


def test_a_model_that_no_engine_reads_is_refused(changed: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Tokenizer.load(changed(lambda file: file["model"].update(type="Unheard")), END)


def test_an_unknown_end_token_is_refused_and_the_known_ones_are_named(tokenizer_file: Path) -> None:
    with pytest.raises(ConfigError, match=r"no token '</s>'.*'<\|endoftext\|>', '<\|pad\|>'"):
        Tokenizer.load(tokenizer_file, "</s>")


def test_an_end_token_that_a_text_can_spell_is_refused(tokenizer_file: Path) -> None:
    with pytest.raises(ConfigError, match="can spell"):
        Tokenizer.load(tokenizer_file, "a")


def test_an_added_token_can_end_documents_and_then_stays_text(tokenizer_file: Path) -> None:
    tokenizer = Tokenizer.load(tokenizer_file, "<think>")
    (row,) = ids(tokenizer, "<think>")
    assert row[-1] == tokenizer.identity.end_id
    assert tokenizer.identity.end_id not in row[:-1]


@given(num_rows=st.integers(0, 20_000), seed=st.binary(min_size=32, max_size=32))
def test_a_sample_is_the_partitions_own_and_neither_small_nor_large(
    num_rows: int, seed: bytes
) -> None:
    rows = sampled_rows(num_rows, Digest(seed))
    assert rows == sampled_rows(num_rows, Digest(seed)) == sorted(set(rows))
    assert len(rows) == min(num_rows, max(8, min(64, num_rows // 200)))
    assert all(0 <= row < num_rows for row in rows)


def test_the_longest_text_under_the_bound_is_always_in_the_sample() -> None:
    sizes = np.full(20_000, 500, np.int64)
    sizes[[17, 4_000]] = 19_999, 20_001
    rows = sampled_rows(len(sizes), CONTENT, sizes)
    assert 17 in rows
    assert 4_000 not in rows
    assert len(rows) <= 64


def test_where_all_texts_are_too_long_the_shortest_stands_for_them() -> None:
    sizes = np.array([300_000, 200_000, 400_000])
    assert sampled_rows(3, CONTENT, sizes) == [1]
    assert sampled_rows(0, CONTENT, sizes[:0]) == []
