"""The Merkle tree of RFC 6962 (RFC 9162, section 2.1): hashes, roots and proofs.

A tree of n leaves splits at the largest power of two below n, so every complete
subtree starts at a multiple of its size and never changes once it is full. Node
(level, index) is the root of leaves ``index << level`` to ``(index + 1) << level``,
end exclusive. Proofs need only such nodes, so a store of them proves in O(log n).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Place = tuple[int, int]  # (level, index)

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()
_NODE = hashlib.sha256(b"\x01")
_SUBTREE_BYTES = 8_192 * HASH_BYTES

LeafHashes = Sequence[bytes] | npt.NDArray[np.uint8]


class NodeSource(Protocol):
    """Gives the roots of complete subtrees. Reads only; no promise about threads."""

    def node(self, level: int, index: int) -> bytes:
        """32 bytes: the root of leaves ``index << level`` to ``(index + 1) << level``.

        Called only for subtrees that are complete in the tree in question.
        """


def leaf_hash(data: bytes) -> bytes:
    """32 bytes: SHA-256 of 0x00 and the leaf's data."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """32 bytes: SHA-256 of 0x01 and two hashes of 32 bytes."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaf_hashes: LeafHashes) -> bytes:
    """The root over leaf hashes; SHA-256 of nothing for an empty tree.

    Args:
        leaf_hashes: a sequence of 32-byte hashes, or uint8 of shape (n, 32).

    Raises:
        ValueError: a hash is not 32 bytes long, or the array has another shape or dtype.
    """
    level = _joined(leaf_hashes)
    return _folded(level) if level else EMPTY_ROOT


class RunningRoot:
    """The root over leaf hashes that come part by part. Memory: 32 bytes for each 8,192.

    Attributes:
        size: number of leaves so far.
    """

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[bytes] = []
        self._rest = b""

    def add(self, leaf_hashes: LeafHashes) -> None:
        """Takes the next leaf hashes, as `root_of` does."""
        self._rest += _joined(leaf_hashes)
        self.size += len(leaf_hashes)
        full = len(self._rest) // _SUBTREE_BYTES * _SUBTREE_BYTES
        for start in range(0, full, _SUBTREE_BYTES):
            # A complete subtree never changes: its root stands for its leaves.
            self._subtrees.append(_folded(self._rest[start : start + _SUBTREE_BYTES]))
        self._rest = self._rest[full:]

    def root(self) -> bytes:
        """The root over the leaves so far."""
        rest = _folded(self._rest) if self._rest else b""
        return _folded(b"".join(self._subtrees) + rest) if self.size else EMPTY_ROOT


class TreeNodes:
    """Every complete node over leaf hashes held in memory; a `NodeSource`.

    Args:
        leaf_hashes: as for `root_of`. Costs about 64 bytes a leaf.
    """

    def __init__(self, leaf_hashes: LeafHashes) -> None:
        level = _joined(leaf_hashes)
        self.size = len(level) // HASH_BYTES
        self._levels = [level]
        while len(level) >= 2 * HASH_BYTES:
            level = _parents(level)
            self._levels.append(level)

    def node(self, level: int, index: int) -> bytes:
        """The root of one complete subtree, 32 bytes."""
        start = index * HASH_BYTES
        return self._levels[level][start : start + HASH_BYTES]


class NodeMap:
    """Nodes held in a mapping of (level, index) to hash; a `NodeSource`."""

    def __init__(self, *maps: Mapping[Place, bytes]) -> None:
        self._maps = maps

    def node(self, level: int, index: int) -> bytes:
        """The first that a mapping holds; KeyError if none does."""
        for nodes in self._maps:
            if (level, index) in nodes:
                return nodes[level, index]
        raise KeyError((level, index))


class PlaceList:
    """A `NodeSource` that only notes which nodes a proof asks for.

    Attributes:
        places: (level, index), in the order asked.
    """

    def __init__(self) -> None:
        self.places: list[Place] = []

    def node(self, level: int, index: int) -> bytes:
        """Notes the place; the hash it gives means nothing."""
        self.places.append((level, index))
        return EMPTY_ROOT


def peaks_of(size: int) -> list[Place]:
    """The complete subtrees that a tree of `size` leaves is made of, left to right."""
    return list(_subtrees(0, size))


def root_from(nodes: NodeSource, size: int) -> bytes:
    """The root of the first `size` leaves of stored nodes."""
    return _range_root(nodes, 0, size) if size else EMPTY_ROOT


def grown_nodes(nodes: NodeSource, size: int, leaf_hashes: Sequence[bytes]) -> dict[Place, bytes]:
    """The complete nodes that appear when leaves follow the first `size` leaves.

    Args:
        nodes: holds the peaks of the first `size` leaves.
        leaf_hashes: the new leaves, in order.

    Returns:
        (level, index) to hash, the new leaves included as level 0.
    """
    grown: dict[Place, bytes] = {}
    for position, leaf in enumerate(leaf_hashes, start=size):
        level, index, current = 0, position, leaf
        grown[level, index] = current
        while index & 1:
            left = grown.get((level, index - 1)) or nodes.node(level, index - 1)
            current = node_hash(left, current)
            level, index = level + 1, index >> 1
            grown[level, index] = current
    return grown


def inclusion_proof(leaf_hashes: LeafHashes, index: int) -> list[bytes]:
    """The audit path of one leaf, from its sibling up to below the root.

    Args:
        index: 0-based position of the leaf.

    Raises:
        ValueError: the tree has no such leaf.
    """
    tree = TreeNodes(leaf_hashes)
    return inclusion_from(tree, index, tree.size)


def inclusion_from(nodes: NodeSource, index: int, size: int) -> list[bytes]:
    """The same path, from stored nodes, in O(log n).

    Raises:
        ValueError: `index` is not in 0 to `size`, end exclusive.
    """
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size} leaves")
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(_range_root(nodes, middle, end))
            end = middle
        else:
            path.append(_range_root(nodes, start, middle))
            start = middle
    return path[::-1]


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """True if `leaf` (a leaf hash) stands at `index` in the tree of `size` with `root`.

    The caller MUST have the size and the root from a tree head that it trusts.
    """
    if not 0 <= index < size or not _are_hashes([leaf, root, *proof]):
        return False
    node, last, current = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if node & 1 or node == last:
            current = node_hash(sibling, current)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            current = node_hash(current, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and current == root


def consistency_proof(leaf_hashes: LeafHashes, old_size: int) -> list[bytes]:
    """Proof that the first `old_size` leaves are a prefix of this tree.

    Raises:
        ValueError: the tree is smaller than `old_size`.
    """
    tree = TreeNodes(leaf_hashes)
    return consistency_from(tree, old_size, tree.size)


def consistency_from(nodes: NodeSource, old_size: int, new_size: int) -> list[bytes]:
    """The same proof, from stored nodes, in O(log n).

    An empty old tree, or one of the same size, needs no hashes: the proof is empty.

    Raises:
        ValueError: not 0 <= old_size <= new_size.
    """
    if not 0 <= old_size <= new_size:
        raise ValueError(f"no consistency from {old_size} to {new_size} leaves")
    if old_size == 0:
        return []
    proof: list[bytes] = []
    start, end = 0, new_size
    while end != old_size:
        middle = start + _split(end - start)
        if old_size <= middle:
            proof.append(_range_root(nodes, middle, end))
            end = middle
        else:
            proof.append(_range_root(nodes, start, middle))
            start = middle
    if start:  # the verifier knows the old root itself, but not a part of it
        proof.append(_range_root(nodes, start, end))
    return proof[::-1]


def verify_consistency(
    old_size: int, new_size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """True if the tree of `new_size` continues the tree of `old_size`.

    The caller MUST have both sizes and roots from tree heads that it trusts.
    """
    if not 0 <= old_size <= new_size or not _are_hashes([old_root, new_root, *proof]):
        return False
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT
    if old_size == new_size:
        return not proof and old_root == new_root
    # RFC 9162, section 2.1.4.2: a complete old tree stands for its own first hash.
    complete = old_size & (old_size - 1) == 0
    path = iter([old_root, *proof] if complete else proof)
    return _folds_to(old_size - 1, new_size - 1, path, old_root, new_root)


def _folds_to(
    node: int, last: int, path: Iterator[bytes], old_root: bytes, new_root: bytes
) -> bool:
    while node & 1:
        node, last = node >> 1, last >> 1
    first = next(path, None)
    if first is None:
        return False
    old, new = first, first
    for sibling in path:
        if last == 0:
            return False
        if node & 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root


def _are_hashes(hashes: Sequence[bytes]) -> bool:
    return all(len(item) == HASH_BYTES for item in hashes)


def _split(num_leaves: int) -> int:
    """The largest power of two below `num_leaves` (2 or more)."""
    return 1 << ((num_leaves - 1).bit_length() - 1)


def _range_root(nodes: NodeSource, start: int, end: int) -> bytes:
    """The root of leaves `start` to `end`, a range that the splitting rule makes."""
    peaks = [nodes.node(level, index) for level, index in _subtrees(start, end)]
    root = peaks.pop()
    while peaks:
        root = node_hash(peaks.pop(), root)
    return root


def _subtrees(start: int, end: int) -> Iterator[Place]:
    while start < end:
        level = (end - start).bit_length() - 1
        yield level, start >> level
        start += 1 << level


def _folded(level: bytes) -> bytes:
    while len(level) > HASH_BYTES:
        # An odd last node has no sibling yet; it stands for itself one level up.
        odd = level[-HASH_BYTES:] if len(level) % (2 * HASH_BYTES) else b""
        level = _parents(level) + odd
    return level


def _parents(level: bytes) -> bytes:
    """The nodes above complete pairs; an odd last hash is left out."""
    # Copying a hasher that holds the prefix is the fastest way through hashlib.
    prefixed, width = _NODE.copy, 2 * HASH_BYTES
    parents: list[bytes] = []
    for start in range(0, len(level) - width + 1, width):
        hasher = prefixed()
        hasher.update(level[start : start + width])
        parents.append(hasher.digest())
    return b"".join(parents)


def _joined(leaf_hashes: LeafHashes) -> bytes:
    if isinstance(leaf_hashes, np.ndarray):
        if leaf_hashes.dtype != np.uint8 or leaf_hashes.shape[1:] != (HASH_BYTES,):
            raise ValueError(f"leaf hashes are uint8 of shape (n, {HASH_BYTES})")
        return leaf_hashes.tobytes()
    if not _are_hashes(leaf_hashes):
        raise ValueError(f"a leaf hash has {HASH_BYTES} bytes")
    return b"".join(leaf_hashes)
