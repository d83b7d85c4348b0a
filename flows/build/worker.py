"""What each worker process opens once and keeps: workspace, spec, tokenizer, lease."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from flows.build.staged import staged, staged_table
from flows.engine import LocalEngine
from lineage.digest import Digest
from lineage.errors import Conflict
from lineage.keys.gate import KeyLease
from lineage.workspace import Workspace
from pipelines.clean.cleaning import Cleaning
from pipelines.dedup.repeated import Repeated
from pipelines.dedup.shingles import Hashes
from pipelines.spec.dataset import DatasetSpec, check_dataset_name, load_spec
from pipelines.tokens.imported import ImportedTokens
from pipelines.tokens.tokenizer import Tokenizer
from storage_tiers.stage import StageEntry, StageStore

# What the corpus repeats, in the stage store.
REPEATED = "repeated"
REPEATED_PARTS = pa.schema([pa.field("part", pa.uint64(), nullable=False)])


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which build a worker works for: ids and paths, never keys.

    Attributes:
        workspace: its folder.
        dataset: name.
        spec: digest of the spec that the build started with.
        build_id: 32 hex digits; the worker asks the gate by it.
        own: digests of the user's files, as `Cleaning.own`.
        repeated: key of the stage entry of what the corpus repeats, or None.
    """

    workspace: str
    dataset: str
    spec: Digest
    build_id: str
    own: tuple[Digest, ...] = ()
    repeated: Digest | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """What a worker has at hand for one build."""

    workspace: Workspace
    spec: DatasetSpec
    cleaning: Cleaning
    tokenizer: Tokenizer | ImportedTokens
    stage: StageStore
    lease: KeyLease


@lru_cache(maxsize=1)
def bench(assignment: Assignment) -> Bench:
    """Opens everything a worker needs; keys come from the gate, by build id.

    Raises:
        AccessDenied: the build was given no keys, or its lease is over.
        Conflict: the spec or a file that it names was edited while the build ran.
    """
    workspace = Workspace(Path(assignment.workspace))
    spec = load_spec(spec_path(workspace, assignment.dataset))
    if spec.digest() != assignment.spec:
        raise Conflict(f"the spec of {assignment.dataset} changed meanwhile", "build again")
    lease = workspace.gate.rejoin(assignment.build_id, assignment.dataset)
    tokenizer = tokenizer_of(spec, workspace.root)
    cleaning = Cleaning.of(spec, workspace.root)
    if cleaning.own != assignment.own:
        raise Conflict(
            f"a file that the spec of {assignment.dataset} names changed meanwhile", "build again"
        )
    stage = stage_store(workspace, spec.name)
    if assignment.repeated is not None and spec.repeated is not None:
        repeated = repeated_parts(staged(stage, REPEATED, assignment.repeated))
        cleaning = cleaning.taking_out(Repeated(spec.repeated, repeated))
    return Bench(workspace, spec, cleaning, tokenizer, stage, lease)


def repeated_parts(entry: StageEntry) -> Hashes:
    """The parts of texts that the corpus repeats, ascending."""
    return np.asarray(staged_table(entry, "parts")["part"].to_numpy())


def tokenizer_of(spec: DatasetSpec, root: Path) -> Tokenizer | ImportedTokens:
    """The tokenizer of a spec, or what stands in its place where sources hold ids.

    Args:
        root: the workspace's root.

    Raises:
        ConfigError: the file is none that can be used, or has no such token.
    """
    kind = ImportedTokens if spec.tokenized else Tokenizer
    return kind.load(root / spec.tokenizer.file, spec.tokenizer.end_of_document)


def worker_engine(workspace: Workspace, wanted: int = 0) -> LocalEngine:
    """The workers of a build: as many as wanted, else as configured, else one a core."""
    count = wanted or workspace.config.num_workers or len(os.sched_getaffinity(0))
    return LocalEngine(count, preload=("flows.build.kernels",))


def stage_store(workspace: Workspace, dataset: str) -> StageStore:
    """The stage store of one dataset."""
    return StageStore(
        workspace.stage / dataset, workspace.id_bytes, workspace.stage_key, workspace.entropy
    )


def spec_path(workspace: Workspace, dataset: str) -> Path:
    """Where the spec of a dataset lies.

    Raises:
        ConfigError: that is no name of a dataset.
    """
    check_dataset_name(dataset)
    return workspace.root / "specs" / f"{dataset}.toml"
