"""Commitments to documents: frozen, provable one by one, silent about the others."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.commitments import (
    HOLE_LEAF,
    DocumentProof,
    commitment_leaf,
    commitment_leaves,
    commitment_root,
    prove_document,
    salts,
    verify_document,
)
from lineage.digest import Digest, canonical_json, frame
from lineage.errors import IntegrityError, NotFound
from lineage.ledger.merkle import leaf_hash, root_of
from pipelines.schema import SPANS

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "commitments.json").read_text())
KEY = bytes(range(32))
quick = settings(deadline=None, max_examples=40)


def spans_of(documents: Sequence[tuple[bytes | None, bytes | None, int]]) -> pa.Table:
    names = ("document_id", "content_id", "num_tokens")
    lines = [dict(zip(names, item, strict=True), source=0, start=0) for item in documents]
    return pa.Table.from_pylist(lines, SPANS)


ids = st.binary(min_size=32, max_size=32)
lengths = st.integers(0, 2**40)
documents = st.tuples(ids, ids, lengths) | st.tuples(st.none(), st.none(), lengths)
shards = st.lists(st.lists(documents, max_size=5).map(spans_of), min_size=1, max_size=4)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["what"] for vector in VECTORS])
def test_leaves_and_roots_are_frozen(vector: dict[str, Any]) -> None:
    key = bytes.fromhex(vector["salt_key"])
    lines = [
        tuple(bytes.fromhex(v) if isinstance(v, str) else v for v in item)
        for item in vector["documents"]
    ]
    spans = [spans_of(lines)]  # type: ignore[arg-type]
    assert [leaf.hex() for leaf in commitment_leaves(spans, key)] == vector["leaves"]
    assert str(commitment_root(spans, key)) == vector["root"]


def test_a_leaf_is_what_the_format_page_says() -> None:
    document_id, content_id = b"d" * 32, b"c" * 32
    salt = hmac.digest(KEY, frame(b"shardline/salt/v1", document_id), "sha256")
    framed = frame(
        b"shardline/document-commitment/v1", salt, document_id, content_id, struct.pack("<Q", 7)
    )
    leaf = hashlib.sha256(framed).digest()
    assert salts(KEY, [document_id]) == [salt]
    assert commitment_leaf(salt, document_id, content_id, 7) == leaf
    assert commitment_leaves([spans_of([(document_id, content_id, 7)])], KEY) == [leaf]
    assert hashlib.sha256(frame(b"shardline/hole/v1")).digest() == HOLE_LEAF


@quick
@given(shards)
def test_every_document_is_proved_and_every_hole_refused(spans: list[pa.Table]) -> None:
    root = commitment_root(spans, KEY)
    whole = pa.concat_tables(spans)
    for index, document_id in enumerate(whole["document_id"].to_pylist()):
        if document_id is None:
            with pytest.raises(NotFound, match="hole"):
                prove_document(spans, KEY, index)
            continue
        proof = prove_document(spans, KEY, index)
        assert proof.document_id == document_id
        verify_document(proof, root)
        again = DocumentProof.parse(orjson.loads(canonical_json(proof.to_json())))
        assert again == proof == DocumentProof.parse(proof.to_json())
    for index in (-1, whole.num_rows):
        with pytest.raises(NotFound, match="no row"):
            prove_document(spans, KEY, index)


@quick
@given(shards)
def test_the_root_depends_on_the_order_alone_and_not_on_the_cuts(spans: list[pa.Table]) -> None:
    whole = pa.concat_tables(spans)
    root = commitment_root(spans, KEY)
    assert commitment_root([whole], KEY) == root
    assert root == Digest(root_of([leaf_hash(leaf) for leaf in commitment_leaves([whole], KEY)]))


SPANS_OF_FIVE = [spans_of([(bytes([i]) * 32, bytes([i + 9]) * 32, i) for i in range(5)])]


@pytest.mark.parametrize("name", [item.name for item in fields(DocumentProof)])
def test_a_proof_changed_anywhere_is_refused(name: str) -> None:
    root = commitment_root(SPANS_OF_FIVE, KEY)
    proof = prove_document(SPANS_OF_FIVE, KEY, 2)
    verify_document(proof, root)
    value = getattr(proof, name)
    if isinstance(value, int):
        changed: list[Any] = [value + 1, -1, 2**64] if name != "size" else [2, 0, 2**64]
    elif isinstance(value, bytes):
        changed = [value[:-1] + bytes([value[-1] ^ 1]), value[:-1], value + b"\x00"]
    else:
        changed = [value[:-1], (*value, bytes(32)), (bytes(32), *value[1:]), (b"", *value[1:])]
    for other in changed:
        with pytest.raises(IntegrityError):
            verify_document(replace(proof, **{name: other}), root)


def test_another_root_or_another_key_refuses_the_proof() -> None:
    proof = prove_document(SPANS_OF_FIVE, KEY, 2)
    with pytest.raises(IntegrityError, match="row 2 does not lead to the root"):
        verify_document(proof, commitment_root(SPANS_OF_FIVE, b"k" * 32))


def test_neighbours_with_equal_content_have_leaves_that_do_not_show_it() -> None:
    twins = spans_of([(b"1" * 32, b"c" * 32, 5), (b"2" * 32, b"c" * 32, 5)])
    assert len(set(commitment_leaves([twins], KEY))) == 2


def test_holes_are_all_alike_whatever_they_held() -> None:
    assert commitment_leaves([spans_of([(None, None, 3), (None, None, 9)])], KEY) == [
        HOLE_LEAF,
        HOLE_LEAF,
    ]


@pytest.mark.parametrize("value", [{}, {"path": "00"}, {"path": ["zz"]}, {"path": [1]}])
def test_a_proof_of_another_shape_is_refused(value: dict[str, Any]) -> None:
    whole = prove_document(SPANS_OF_FIVE, KEY, 0).to_json()
    with pytest.raises(IntegrityError, match="not a proof"):
        DocumentProof.parse({**whole, **value} if value else {})


def test_a_salt_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        salts(b"short", [])
