"""Verifying a whole ledger: every leaf, node, payload, signature and tree head.

Nothing that a ledger stores can make this raise: what is wrong becomes a finding that
names the place, and the rest is looked at all the same.

The steps: (1) leaves stand without a gap and are this log's; (2) payloads open to what
the leaves commit to; (3) every signature is by a key that was known at that place, the
first one by the principal's own; (4) each principal's sequence has no gap; (5) the tree
head that a signer had seen is one of this history; (6) stored nodes are those of the
leaves; (7) every tree head is signed and states the root of the leaves; (8) the log
continues the tree head that the caller remembered.
The caller MUST keep such a tree head elsewhere: a log whose tail was cut, or that was
rewritten by whoever holds its keys, is sound in itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage.errors import IntegrityError, ShardlineError
from lineage.finding import Finding
from lineage.ledger import merkle
from lineage.ledger.history import History, Trust, read_history
from lineage.ledger.log import Ledger
from lineage.ledger.treehead import TreeHead, parse_tree_head, verify_tree_head


def verify_ledger(ledger: Ledger, trust: Trust, remembered: str | None = None) -> list[Finding]:
    """Looks at everything that a ledger stores, and compares it with what is known.

    Others may append meanwhile; what they add is not looked at.

    Args:
        remembered: a tree head kept elsewhere, that the log must continue.

    Returns:
        What is wrong, in the order of the steps; nothing if the ledger is sound.
    """
    findings: list[Finding] = []
    try:
        history = read_history(ledger, trust, findings)
        tree = merkle.TreeNodes(history.leaves)
        findings.extend(_seen(history, tree))
        findings.extend(_nodes(ledger, tree))
        findings.extend(_tree_heads(ledger, trust, history, tree))
        findings.extend(_sequences(ledger, history))
        if remembered is not None:
            findings.extend(_remembered(ledger, trust, remembered, tree))
    except ShardlineError as error:  # the store itself could not be read any further
        findings.append(Finding(error.message, "ledger"))
    return findings


def _seen(history: History, tree: merkle.TreeNodes) -> Iterator[Finding]:
    for position, size, root in history.seen:
        if size > position or (
            not history.is_damaged(size) and merkle.root_from(tree, size) != root
        ):
            what = "the tree head that its signer had seen is not one of this history"
            yield Finding(what, f"entry {position}")


def _nodes(ledger: Ledger, tree: merkle.TreeNodes) -> Iterator[Finding]:
    levels = range(tree.size.bit_length())
    expected = ((level, index) for level in levels for index in range(tree.size >> level))
    wanted = next(expected, None)
    for level, index, hashed in ledger.store.nodes():
        while wanted is not None and wanted < (level, index):
            yield Finding("a stored node is missing", f"node {wanted[0]}/{wanted[1]}")
            wanted = next(expected, None)
        if wanted == (level, index):
            if tree.node(level, index) != hashed:
                yield Finding("the stored node is not that of the leaves", f"node {level}/{index}")
            wanted = next(expected, None)
        elif ledger.store.size() == tree.size:
            yield Finding("a stored node belongs to no leaves", f"node {level}/{index}")
    while wanted is not None:
        yield Finding("a stored node is missing", f"node {wanted[0]}/{wanted[1]}")
        wanted = next(expected, None)


def _tree_heads(
    ledger: Ledger, trust: Trust, history: History, tree: merkle.TreeNodes
) -> Iterator[Finding]:
    newest, num_damaged = -1, 0
    for size, note in ledger.store.tree_heads():
        if size > tree.size and ledger.store.size() > tree.size:
            break  # appended while we look
        newest = size
        where = f"tree head {size}"
        try:
            head = _signed_head(ledger, trust, note)
        except IntegrityError as error:
            yield Finding(error.message, where)
            continue
        if head.size != size or size > tree.size:
            yield Finding(f"it signs {head.size} entries of {tree.size}", where)
        elif history.is_damaged(size):
            num_damaged += merkle.root_from(tree, size) != head.root
        elif merkle.root_from(tree, size) != head.root:
            yield Finding("its root is not that of the entries", where)
    if num_damaged:
        what = f"{num_damaged} tree heads sign other leaves than the damaged ones"
        yield Finding(what, f"entry {history.damaged_from}")
    if newest < tree.size:
        yield Finding(f"no tree head signs all {tree.size} entries", "ledger")


def _sequences(ledger: Ledger, history: History) -> Iterator[Finding]:
    stored = ledger.store.sequences()
    if ledger.store.size() != len(history.leaves):
        return  # appended while we look
    for principal in sorted(stored.keys() | history.counts.keys()):
        missing = stored.get(principal, 0) - history.counts.get(principal, 0)
        if not 0 <= missing <= history.num_unsound:
            what = "the stored sequence number is not that of the principal's last entry"
            yield Finding(what, f"principal {principal[:64]}")


def _remembered(
    ledger: Ledger, trust: Trust, remembered: str, tree: merkle.TreeNodes
) -> Iterator[Finding]:
    try:
        head = _signed_head(ledger, trust, remembered)
    except IntegrityError as error:
        yield Finding(f"the remembered tree head: {error.message}", "ledger")
        return
    if head.size > tree.size:
        what = f"the ledger has {tree.size} entries, but had {head.size}: an older copy or a cut"
        yield Finding(what, "ledger")
    elif merkle.root_from(tree, head.size) != head.root:
        what = f"its first {head.size} entries are not those of the remembered tree head"
        yield Finding(what, "ledger")


def _signed_head(ledger: Ledger, trust: Trust, note: str) -> TreeHead:
    """The tree head, if one of the log's keys signed it."""
    head = parse_tree_head(note)
    for number, key in enumerate(trust.log_keys, start=1):
        try:
            return verify_tree_head(note, ledger.origin, ledger.origin, key)
        except IntegrityError:
            if number == len(trust.log_keys):
                raise
    raise IntegrityError(f"no key is known for the tree head of size {head.size}")
