"""The tree against published vectors and against the RFC's own recursive words."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.ledger import merkle

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "merkle.json").read_text()
)
LEAVES = [merkle.leaf_hash(bytes.fromhex(leaf)) for leaf in VECTORS["leaves"]]
ROOTS = [bytes.fromhex(root) for root in VECTORS["roots"]]

sizes = st.integers(0, 70)


def leaves_of(size: int) -> list[bytes]:
    return [merkle.leaf_hash(bytes([number])) for number in range(size)]


def split(size: int) -> int:
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def recursive_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return merkle.node_hash(recursive_root(leaves[:k]), recursive_root(leaves[k:]))


def recursive_path(index: int, leaves: list[bytes]) -> list[bytes]:
    """RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*recursive_path(index, leaves[:k]), recursive_root(leaves[k:])]
    return [*recursive_path(index - k, leaves[k:]), recursive_root(leaves[:k])]


def recursive_subproof(old: int, leaves: list[bytes], whole: bool) -> list[bytes]:
    """RFC 6962, section 2.1.2."""
    if old == len(leaves):
        return [] if whole else [recursive_root(leaves)]
    k = split(len(leaves))
    if old <= k:
        return [*recursive_subproof(old, leaves[:k], whole), recursive_root(leaves[k:])]
    return [*recursive_subproof(old - k, leaves[k:], False), recursive_root(leaves[:k])]


def flipped(data: bytes, bit: int) -> bytes:
    position = bit % (len(data) * 8)
    changed = bytearray(data)
    changed[position // 8] ^= 1 << (position % 8)
    return bytes(changed)


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_published(size: int) -> None:
    assert merkle.root_of(LEAVES[:size]) == ROOTS[size]
    assert merkle.root_from(merkle.TreeNodes(LEAVES), size) == ROOTS[size]


@pytest.mark.parametrize("case", VECTORS["inclusion"])
def test_inclusion_proofs_are_those_published(case: dict[str, Any]) -> None:
    path = [bytes.fromhex(node) for node in case["path"]]
    index, size = case["index"], case["size"]
    assert merkle.inclusion_proof(LEAVES[:size], index) == path
    assert merkle.verify_inclusion(LEAVES[index], index, size, path, ROOTS[size])


@pytest.mark.parametrize("case", VECTORS["consistency"])
def test_consistency_proofs_are_those_published(case: dict[str, Any]) -> None:
    path = [bytes.fromhex(node) for node in case["path"]]
    old, new = case["old"], case["new"]
    assert merkle.consistency_proof(LEAVES[:new], old) == path
    assert merkle.verify_consistency(old, new, ROOTS[old], ROOTS[new], path)


@given(sizes)
def test_roots_follow_the_recursive_definition(size: int) -> None:
    leaves = leaves_of(size)
    array = np.frombuffer(b"".join(leaves), np.uint8).reshape(-1, 32)
    assert merkle.root_of(leaves) == merkle.root_of(array) == recursive_root(leaves)
    assert merkle.root_from(merkle.TreeNodes(leaves), size) == recursive_root(leaves)


@given(sizes, sizes)
def test_inclusion_proofs_follow_the_definition_and_verify(index: int, more: int) -> None:
    leaves = leaves_of(index + 1 + more)
    proof = merkle.inclusion_proof(leaves, index)
    assert proof == recursive_path(index, leaves)
    root = merkle.root_of(leaves)
    assert merkle.verify_inclusion(leaves[index], index, len(leaves), proof, root)


@given(sizes, sizes)
def test_consistency_proofs_follow_the_definition_and_verify(old: int, more: int) -> None:
    leaves = leaves_of(old + more)
    proof = merkle.consistency_proof(leaves, old)
    assert proof == (recursive_subproof(old, leaves, True) if old else [])
    old_root, root = merkle.root_of(leaves[:old]), merkle.root_of(leaves)
    assert merkle.verify_consistency(old, len(leaves), old_root, root, proof)


@given(st.integers(2, 40), st.data())
def test_a_changed_inclusion_proof_is_refused(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    index = data.draw(st.integers(0, size - 1))
    root, proof = merkle.root_of(leaves), merkle.inclusion_proof(leaves, index)
    step, bit = data.draw(st.integers(0, len(proof) - 1)), data.draw(st.integers(0, 255))
    changed = [*proof[:step], flipped(proof[step], bit), *proof[step + 1 :]]
    leaf = leaves[index]
    assert not merkle.verify_inclusion(leaf, index, size, changed, root)
    assert not merkle.verify_inclusion(leaf, index, size, proof[:-1], root)
    assert not merkle.verify_inclusion(leaf, index, size, [*proof, root], root)
    assert not merkle.verify_inclusion(flipped(leaf, bit), index, size, proof, root)
    assert not merkle.verify_inclusion(leaf, index, size, proof, flipped(root, bit))
    assert not merkle.verify_inclusion(leaf, (index + 1) % size, size, proof, root)
    assert not merkle.verify_inclusion(leaf, size, size, proof, root)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_a_changed_consistency_proof_is_refused(old: int, more: int, data: st.DataObject) -> None:
    leaves, new = leaves_of(old + more), old + more
    old_root, root = merkle.root_of(leaves[:old]), merkle.root_of(leaves)
    proof = merkle.consistency_proof(leaves, old)
    step, bit = data.draw(st.integers(0, len(proof) - 1)), data.draw(st.integers(0, 255))
    changed = [*proof[:step], flipped(proof[step], bit), *proof[step + 1 :]]
    assert not merkle.verify_consistency(old, new, old_root, root, changed)
    assert not merkle.verify_consistency(old, new, old_root, root, proof[:-1])
    assert not merkle.verify_consistency(old, new, old_root, root, [*proof, root])
    assert not merkle.verify_consistency(old, new, flipped(old_root, bit), root, proof)
    assert not merkle.verify_consistency(old, new, old_root, flipped(root, bit), proof)
    assert not merkle.verify_consistency(new, old, root, old_root, proof)


def test_another_prefix_is_not_consistent() -> None:
    forked = [*leaves_of(4), merkle.leaf_hash(b"forked"), *leaves_of(9)[5:]]
    proof = merkle.consistency_proof(forked, 5)
    old_root, root = merkle.root_of(leaves_of(5)), merkle.root_of(forked)
    assert not merkle.verify_consistency(5, 9, old_root, root, proof)


@given(sizes, st.integers(0, 20))
def test_stored_nodes_grow_as_a_tree_built_at_once(size: int, more: int) -> None:
    leaves = leaves_of(size + more)
    grown = merkle.grown_nodes(merkle.TreeNodes(leaves[:size]), size, leaves[size:])
    whole = merkle.TreeNodes(leaves)
    complete = {
        (level, index)
        for level in range(8)
        for index in range(len(leaves) >> level)
        if (index + 1) << level > size
    }
    assert set(grown) == complete
    assert all(whole.node(*place) == hashed for place, hashed in grown.items())


def test_sizes_and_shapes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        merkle.root_of([b"short"])
    with pytest.raises(ValueError, match="shape"):
        merkle.root_of(np.zeros((3, 31), np.uint8))
    with pytest.raises(ValueError, match="no leaf 3"):
        merkle.inclusion_proof(leaves_of(3), 3)
    with pytest.raises(ValueError, match="no consistency"):
        merkle.consistency_proof(leaves_of(3), 4)
