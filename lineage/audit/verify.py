"""Audit: every check there is, over the ledger, the keys, the manifests and the tiers.

Nothing stored can stop it: what is wrong becomes a finding that names the thing, and
the rest is looked at all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from lineage.audit.answer import Answer
from lineage.audit.reading import Objects, Reading
from lineage.commitments import commitment_root
from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import ShardlineError
from lineage.finding import Finding
from lineage.keys.keytable import committed_head
from lineage.keys.trust import workspace_trust
from lineage.ledger.merkle import root_of
from lineage.ledger.verify import verify_ledger
from lineage.manifests.content import ContentManifest, SegmentInfo
from lineage.manifests.storage import StoredObject
from lineage.side import read_side_object
from lineage.tables import binary_matrix, table_root
from lineage.versions import Version
from lineage.workspace import Workspace

CheckBooks = Callable[[Sequence[Mapping[str, Any]]], None]
CheckLists = Callable[[], Iterable[Finding]]


class VerifiedObjects(Objects, Protocol):
    """Stored bytes that can be verified on each tier; the tiers implement it."""

    def findings(self, obj: StoredObject) -> Sequence[Finding]:
        """What is wrong with an object on any tier: nothing if it is sound."""


@dataclass(slots=True)
class _Count:
    entries: int = 0
    keys: int = 0
    versions: int = 0
    objects: int = 0
    bytes: int = 0


def ask_verify(
    workspace: Workspace,
    objects: VerifiedObjects,
    check_books: CheckBooks,
    check_lists: CheckLists,
) -> Answer:
    """Verifies everything the workspace holds.

    Args:
        check_books: raises IntegrityError when a version's books do not balance.
        check_lists: tells what is wrong with the lists of what lies on the tiers.
    """
    count = _Count()
    findings = list(_ledger(workspace, count))
    tree_size = count.entries
    if not findings:
        findings += _keys(workspace, count)
        findings += _versions(workspace, objects, check_books, count)
        findings += check_lists()
    facts = {
        "sound": not findings,
        "findings": [{"what": item.what, "where": item.where} for item in findings],
        "checked": {name: getattr(count, name) for name in count.__slots__},
    }
    return Answer("verify", facts, tree_size, complete=count.versions > 0 or not findings)


def _ledger(workspace: Workspace, count: _Count) -> Iterator[Finding]:
    remembered = workspace.root / "treehead"
    # Bytes that are no text any more are a finding like any other.
    data = remembered.read_bytes() if remembered.is_file() else None
    if data is None:
        yield Finding("the tree head that was remembered is missing: Git has it", "treehead")
    text = None if data is None else data.decode("utf-8", "surrogateescape")
    try:
        # Opening it the usual way stops at the first wrong node or tree head, unnamed.
        ledger = workspace.unchecked_ledger()
        with closing(ledger.store):
            count.entries = ledger.store.size()
            yield from verify_ledger(ledger, workspace_trust(workspace.config), text)
    except ShardlineError as error:
        yield Finding(error.message, "ledger")


def _keys(workspace: Workspace, count: _Count) -> Iterator[Finding]:
    """Every wrapped key opens, and the table is the one that the ledger commits."""
    committed = committed_head(workspace.ledger.entries())
    for row in workspace.keys.rows(committed.size):
        count.keys += 1
        try:
            workspace.wrapping.unwrap(row.wrapped, row.use)
        except ShardlineError as error:
            yield Finding(error.message, f"key {row.use.key_id}")
    head = workspace.keys.head(committed.size)
    if head != committed:
        what = f"the key table is not the one of {committed.size} rows that the ledger commits"
        yield Finding(what, "key table")


def _versions(
    workspace: Workspace, objects: VerifiedObjects, check_books: CheckBooks, count: _Count
) -> Iterator[Finding]:
    reading = Reading(workspace, objects, "audit")
    seen: set[bytes] = set()
    for version in reading.index.versions:
        count.versions += 1
        try:
            stored = reading.storage(version).objects
            yield from _objects(objects, [o for o in stored if o.object_id not in seen], count)
            seen.update(o.object_id for o in stored)
            yield from _content(reading, version, check_books)
        except ShardlineError as error:
            yield Finding(error.message, f"version {version.name}")
    yield from _side_objects(reading)


def _objects(
    objects: VerifiedObjects, stored: Sequence[StoredObject], count: _Count
) -> Iterator[Finding]:
    for item in stored:
        count.objects += 1
        count.bytes += item.size_bytes
        yield from objects.findings(item)


def _content(reading: Reading, version: Version, check_books: CheckBooks) -> Iterator[Finding]:
    content = reading.content(version)
    check_books(content.books)
    for what in _stated(reading, version, content):
        yield Finding(what, f"version {version.name}")
    for name, info in content.tables.items():
        if table_root(reading.table(version, name)) != info.root:
            yield Finding(f"the table {name} has another root", f"version {version.name}")
    for segment in content.segments:
        for what in _segment(reading, version, segment):
            yield Finding(what, f"version {version.name}, {segment.name}")


def _stated(reading: Reading, version: Version, content: ContentManifest) -> Iterator[str]:
    """What the version's ledger entry states in clear must be what its manifest says."""
    body = reading.workspace.ledger.entry(version.position).body
    for name in ("content_root", "commitment_root"):
        roots = [getattr(segment, name) for segment in content.segments]
        if body[f"{name}s"] != str(digest_of(canonical_json(roots))):
            yield f"the ledger states other {name}s than the manifest"
    for name in ("num_documents", "num_tokens"):
        if int(body[name]) != getattr(content, name):
            yield f"the ledger states another {name} than the manifest"


def _segment(reading: Reading, version: Version, segment: SegmentInfo) -> Iterator[str]:
    storage, dataset = reading.storage(version), version.dataset
    folder = storage.folder(segment.name)
    samples = [item for item in folder if Path(item.name).name.startswith("shard-")]
    spans = [reading.read(dataset, item) for item in folder if item not in samples]
    leaves = b"".join(_leaves(reading, dataset, item) for item in samples)
    hashes = [leaves[start : start + 32] for start in range(0, len(leaves), 32)]
    if Digest(root_of(hashes)) != segment.content_root:
        yield "the samples have another content_root"
    if table_root(pa.concat_tables(spans)) != segment.spans_root:
        yield "the spans have another root"
    salt = reading.lease(dataset).seal(bytes.fromhex(segment.salt_object)).key
    if commitment_root(spans, salt) != segment.commitment_root:
        yield "the documents have another commitment_root"


def _leaves(reading: Reading, dataset: str, stored: StoredObject) -> bytes:
    return binary_matrix(reading.read(dataset, stored, ["leaf"])["leaf"]).tobytes()


def _side_objects(reading: Reading) -> Iterator[Finding]:
    """Every reason and environment that an entry names opens."""
    for entry in reading.workspace.ledger.entries(predicates={"approval", "run"}):
        name = entry.body.get("reason_object") or entry.body.get("environment_object")
        try:
            lease = reading.lease(str(entry.body["dataset"]))
            read_side_object(reading.workspace, bytes.fromhex(str(name)), lease)
        except ShardlineError as error:
            yield Finding(error.message, f"entry {entry.position}")
