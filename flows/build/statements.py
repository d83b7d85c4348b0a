"""What a build says in the ledger: its sources, itself, and the version it made."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib import metadata

from flows.build.parent import Parent
from flows.build.plan import BuildPlan
from lineage.digest import Digest, canonical_json, digest_of
from lineage.keys.keytable import WrappedKey
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from lineage.manifests.content import ContentManifest, SourceInfo
from lineage.manifests.storage import StorageManifest
from lineage.tables import table_root
from lineage.workspace import Workspace

# Libraries that touch the data; recorded, but a new version forces no rebuild by itself.
_LIBRARIES = ("pyarrow", "numpy", "numba", "gigatoken", "tokenizers", "orjson", "zstandard")


def version_drafts(
    workspace: Workspace,
    plan: BuildPlan,
    manifest: ContentManifest,
    storage: StorageManifest,
    sealed: Mapping[str, WrappedKey],
    build_id: str,
    parent: Parent,
) -> list[Draft]:
    """The entries that publish a version, to be appended in one transaction."""
    builder = (workspace.signer("builder"),)
    subject = (Subject(manifest.name, manifest.digest()),)
    known = () if parent.content is None else parent.content.sources
    sources = [
        Draft("source", (_source_subject(source),), _source_body(manifest, source), builder)
        for source in manifest.sources
        if _facts(source) not in [_facts(row) for row in known]
    ]
    build = Draft("build", subject, _build_body(plan, manifest, build_id), builder)
    version = Draft(
        "version",
        subject,
        _version_body(workspace, plan, manifest, storage, sealed, build_id),
        builder,
    )
    return [*sources, build, version]


def _facts(source: SourceInfo) -> dict[str, str]:
    return {
        "name": source.name,
        "licence": source.licence,
        "source_class": source.source_class,
        "collected": source.collected,
    }


def _source_subject(source: SourceInfo) -> Subject:
    return Subject(source.name, digest_of(canonical_json(_facts(source))))


def _source_body(manifest: ContentManifest, source: SourceInfo) -> dict[str, object]:
    return {"dataset": manifest.dataset, **_facts(source)}


def _build_body(plan: BuildPlan, manifest: ContentManifest, build_id: str) -> dict[str, object]:
    return {
        "build": build_id,
        "dataset": manifest.dataset,
        "spec": manifest.spec,
        "inputs": plan.inputs,
        "transforms": manifest.transforms,
        "tokenizer": manifest.tokenizer,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
    }


def _version_body(
    workspace: Workspace,
    plan: BuildPlan,
    manifest: ContentManifest,
    storage: StorageManifest,
    sealed: Mapping[str, WrappedKey],
    build_id: str,
) -> dict[str, object]:
    head = workspace.keys.head()
    return {
        "dataset": manifest.dataset,
        "number": manifest.number,
        "manifest": manifest.digest(),
        "manifest_object": sealed["content"].use.object_id.hex(),
        "storage": table_root(storage.to_table()),
        "storage_object": sealed["storage"].use.object_id.hex(),
        "parent": manifest.parent,
        "inputs": plan.inputs,
        "build": build_id,
        # One digest of all: an entry stays under 64 KiB, however many segments there are.
        "content_roots": _digest_of_roots(segment.content_root for segment in manifest.segments),
        "commitment_roots": _digest_of_roots(
            segment.commitment_root for segment in manifest.segments
        ),
        "num_documents": manifest.num_documents,
        "num_tokens": manifest.num_tokens,
        "key_table": {"size": head.size, "root": head.root},
    }


def _digest_of_roots(roots: Iterable[Digest]) -> Digest:
    return digest_of(canonical_json(list(roots)))
