"""Publishes a version of a few made-up numbers: manifests, keys and a ledger entry, no shards."""

from __future__ import annotations

from lineage.digest import Digest, digest_of
from lineage.keys.gate import AccessRequest, KeyLease
from lineage.keys.keytable import committed_head
from lineage.keys.sealing import seal_bytes
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from lineage.manifests.content import ContentManifest, SegmentInfo, SourceInfo, TableInfo
from lineage.manifests.storage import StorageManifest, StoredObject
from lineage.tables import table_root
from lineage.versions import Version, manifest_paths, published_versions, write_storage
from lineage.workspace import Workspace


def named(text: str) -> Digest:
    return digest_of(text.encode())


def content_of(dataset: str = "corpus", number: int = 1) -> ContentManifest:
    segment = SegmentInfo(
        name="segment-0001",
        order_id=named("order"),
        content_root=named("content"),
        commitment_root=named("commitment"),
        spans_root=named("spans"),
        salt_object="ab" * 16,
        source_documents=(3,),
        source_tokens=(30,),
        num_holes=0,
        num_hole_tokens=0,
        shard_samples=(4, 5),
    )
    return ContentManifest(
        dataset=dataset,
        number=number,
        workspace_id="0f" * 16,
        parent=None,
        spec=named("spec"),
        transforms=({"name": "nfc", "revision": 1, "parameters": {}, "behaviour": named("nfc")},),
        tokenizer={"num_ids": 300, "end_id": 0, "dtype": "uint16", "behaviour": named("words")},
        seed=7,
        sample_tokens=16,
        order={
            "algorithm": "feistel-1",
            "group_shards": 2,
            "block_samples": 4,
            "window_samples": 8,
        },
        sources=(SourceInfo("udhr", "CC0-1.0", "public_dataset", "2026-11"),),
        segments=(segment,),
        tables={"decisions": TableInfo(3, named("decisions"))},
        books=(),
    )


def storage_of(*names: str) -> StorageManifest:
    return StorageManifest(
        [
            StoredObject(name, named(name).raw[:16], "0c" * 16, 10, named(name), "0d" * 16)
            for name in names
        ]
    )


def publish(workspace: Workspace, dataset: str = "corpus", number: int = 1) -> Version:
    """Writes both manifests, adds their keys and appends the version's entry."""
    content, storage = content_of(dataset, number), storage_of("segment-0001/shard-00000.parquet")
    content_seal, content_key = workspace.minter.mint(dataset, "processed")
    storage_seal, storage_key = workspace.minter.mint(dataset, "processed")
    content_path, storage_path = manifest_paths(workspace.root / "manifests", dataset, number)
    content_path.parent.mkdir(parents=True, exist_ok=True)
    content_path.write_bytes(seal_bytes(content.to_bytes(), content_seal, workspace.entropy(12)))
    write_storage(storage_path, storage, storage_seal)
    workspace.keys.cut(committed_head(workspace.ledger.entries()).size)
    workspace.keys.add([content_key, storage_key])
    head = workspace.keys.head()
    body = {
        "dataset": dataset,
        "number": number,
        "manifest": content.digest(),
        "manifest_object": content_seal.object_id.hex(),
        "storage": table_root(storage.to_table()),
        "storage_object": storage_seal.object_id.hex(),
        "inputs": named("inputs"),
        "build": "0e" * 16,
        "key_table": {"size": head.size, "root": head.root},
    }
    subject = Subject(content.name, content.digest())
    entries = workspace.ledger.append(
        [Draft("version", (subject,), body, (workspace.signer("builder"),))]
    )
    return published_versions(entries)[0]


def lease_of(workspace: Workspace, dataset: str = "corpus") -> KeyLease:
    """Keys for an audit of a dataset."""
    request = AccessRequest(workspace.signer("owner"), dataset, "processed", "audit")
    return workspace.gate.release(request)
