"""Ids of documents and contents: frozen, keyed, and blind to where a record lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.ids import CONTENT, OWN, IdHasher, RecordKey, shuffle_key

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "ids.json").read_text())
KEY = bytes.fromhex(VECTORS["id_key"])
HASHER = IdHasher(KEY)
quick = settings(deadline=None, max_examples=60)
records = st.builds(RecordKey.own, st.text(max_size=9)) | st.builds(
    RecordKey.content, st.binary(max_size=9)
)


def record_of(vector: dict[str, str]) -> RecordKey:
    if "own" in vector:
        return RecordKey.own(vector["own"])
    return RecordKey.content(bytes.fromhex(vector["content"]))


@pytest.mark.parametrize("vector", VECTORS["documents"], ids=lambda vector: vector["what"])
def test_document_ids_and_shuffle_keys_are_frozen(vector: dict[str, Any]) -> None:
    record = record_of(vector["record"])
    assert HASHER.document_id(vector["source"], record).hex() == vector["document_id"]
    for seed, expected in vector["shuffle_keys"].items():
        assert shuffle_key(int(seed), vector["source"], record).hex() == expected


@pytest.mark.parametrize("vector", VECTORS["texts"])
def test_content_ids_are_frozen(vector: dict[str, str]) -> None:
    assert HASHER.content_id(vector["text"].encode()).hex() == vector["content_id"]


def test_an_own_id_that_spells_a_digest_is_not_that_content() -> None:
    content = RecordKey.content(b"x")
    own = RecordKey.own(content.value.hex())
    assert (own.kind, content.kind) == (OWN, CONTENT)
    assert HASHER.document_id("s", own) != HASHER.document_id("s", content)


@quick
@given(st.text(max_size=6), records, st.text(max_size=6), records)
def test_each_record_of_each_source_has_an_id_of_its_own(
    source: str, record: RecordKey, other_source: str, other: RecordKey
) -> None:
    same = (source, record) == (other_source, other)
    assert (HASHER.document_id(source, record) == HASHER.document_id(other_source, other)) == same
    assert (shuffle_key(7, source, record) == shuffle_key(7, other_source, other)) == same


@quick
@given(st.binary(max_size=40))
def test_another_workspace_gives_other_ids_but_the_same_order(raw: bytes) -> None:
    record, other = RecordKey.content(raw), IdHasher(bytes(32))
    assert HASHER.document_id("s", record) != other.document_id("s", record)
    assert HASHER.content_id(raw) != other.content_id(raw)
    assert shuffle_key(7, "s", record) != shuffle_key(8, "s", record)


def test_a_hasher_can_be_asked_again_in_any_order() -> None:
    first = [HASHER.content_id(text) for text in (b"a", b"b")]
    assert [HASHER.content_id(text) for text in (b"b", b"a")] == first[::-1]


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_an_id_key_has_32_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        IdHasher(bytes(length))
