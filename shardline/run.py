"""A training run: which version it reads, with which keys, how far, and what it saved.

In a training script:

    with shardline.training_run("corpus@v3", model="small", seed=7) as run:
        for batch in shardline.ShardFeed(run, batch_size=64):
            ...
        run.checkpoint("model.pt")
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow.parquet as pq

from lineage.batches import Batches
from lineage.clock import system_clock
from lineage.consumption import Consumption
from lineage.digest import Digest, canonical_json, digest_of, digest_of_file
from lineage.errors import ConfigError, NotFound
from lineage.keys.approvals import is_approved
from lineage.keys.gate import AccessRequest, KeyLease
from lineage.keys.sealing import open_parquet
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from lineage.manifests.content import ContentManifest
from lineage.manifests.storage import StorageManifest, StoredObject
from lineage.order import OrderParameters, OrderSegment
from lineage.side import write_side_object
from lineage.versions import Version, find_version, read_content, read_storage
from lineage.workspace import (
    PUBLISH_LOCK,
    PUBLISH_WAIT_S,
    Workspace,
    find_workspace,
)
from shardline.environment import capture_environment
from shardline.feed.state import FeedState
from storage_tiers.local import LocalStore
from storage_tiers.stored import store_name
from storage_tiers.tiers import Tiers

_log = logging.getLogger(__name__)


def training_run(
    version: str,
    *,
    model: str,
    seed: int,
    workspace: str | Path | None = None,
    base_checkpoint: str | Path | None = None,
    allow_unapproved: bool = False,
    join: str | None = None,
    entropy: Callable[[int], bytes] = os.urandom,
    now: Callable[[], datetime] = system_clock,
) -> TrainingRun:
    """Begins a run on a version: asks the gate for keys and records the run.

    Args:
        version: ``name@vN``, or ``name`` for its newest.
        model: what the model is called, for people.
        seed: of the running order, 0 to 2**64 - 1; the same on every rank.
        workspace: its folder; the nearest one from here upwards when left out.
        base_checkpoint: the checkpoint it starts from: a file or folder, or its digest.
        allow_unapproved: read a version that nobody approved; the run says so for good.
        join: id of a run that rank 0 began; other ranks join it and record nothing.

    Raises:
        NotFound: no workspace, no such version, or no such base checkpoint.
        AccessDenied: no grant, or nobody approved the version; the refusal is recorded.
        ConfigError: a rank joins with another version or seed than the run's.
        IntegrityError: a manifest is not what the ledger names.
    """
    opened = Workspace(Path(workspace or find_workspace(Path.cwd())), entropy, now)
    found = find_version(opened.ledger.entries(predicates={"version"}), version)
    if join is not None:
        lease = opened.gate.rejoin(join, found.dataset)
        _require_same(opened, join, found, seed)
        return TrainingRun(opened, found, lease, join, seed, records=False)
    base = None if base_checkpoint is None else checkpoint_digest(base_checkpoint)
    run_id = entropy(16).hex()
    approved = is_approved(opened.ledger.entries(predicates={"approval"}), found.manifest)
    request = AccessRequest(
        opened.signer("owner"),
        found.dataset,
        "approved" if approved or not allow_unapproved else "processed",
        "train",
        on_behalf=run_id,
        version=found.manifest,
    )
    lease = opened.gate.release(request)
    run = TrainingRun(opened, found, lease, run_id, seed, records=True)
    run.begin(model, base, approved)
    return run


class TrainingRun:
    """A run on one version: what a `ShardFeed` reads from. Made by `training_run`."""

    def __init__(
        self,
        workspace: Workspace,
        version: Version,
        lease: KeyLease,
        run_id: str,
        seed: int,
        *,
        records: bool,
    ) -> None:
        self.id = run_id
        self.seed = seed
        self._workspace = workspace
        self._version = version
        self._lease = lease
        self._records = records
        manifests = workspace.root / "manifests"
        self._content: ContentManifest = read_content(manifests, version, lease)
        self._storage: StorageManifest = read_storage(manifests, version, lease)
        self._shards = _shards(self._content)
        # Taken once: a run may be longer than its lease, and a gate may go away meanwhile.
        self._seals = lease.seals(self._storage.object(name).object_id for name in self._shards)
        entropy = workspace.entropy
        hot, cold = LocalStore(workspace.hot, entropy), LocalStore(workspace.cold, entropy)
        self._tiers = Tiers(hot, cold, entropy)
        # Steps from `_first` to the state are given and not recorded yet.
        self._first = 0
        self._state: FeedState | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.finish()

    @property
    def version_name(self) -> str:
        """``name@vN``."""
        return self._version.name

    @property
    def version(self) -> Digest:
        """Digest of the version's content manifest."""
        return self._version.manifest

    @property
    def segments(self) -> tuple[OrderSegment, ...]:
        """The version's segments."""
        return self._content.order_segments

    @property
    def order_parameters(self) -> OrderParameters:
        """Those of the content manifest."""
        return OrderParameters.from_json(self._content.order)

    @property
    def sample_tokens(self) -> int:
        """Tokens in a sample."""
        return self._content.sample_tokens

    @property
    def dtype(self) -> str:
        """Storage dtype of token ids."""
        return self._content.dtype

    @property
    def num_ids(self) -> int:
        """Largest token id + 1: the rows that an embedding needs."""
        return int(self._content.tokenizer["num_ids"])

    def shard_name(self, shard: int) -> str:
        """What to call a shard in messages."""
        return f"{self.version_name}/{self._shards[shard]}"

    def open_shard(self, shard: int) -> pq.ParquetFile:
        """Opens a shard with its key; fetches it from cold where it must, verified."""
        stored = self._object(shard)
        return open_parquet(self._tiers.path_on_hot(stored), self._seals[stored.object_id])

    def restore_shard(self, shard: int) -> bool:
        """Fetches a shard again from cold when the copy on hot is bad."""
        stored = self._object(shard)
        if self._tiers.verify(stored, "hot") is None or self._tiers.verify(stored, "cold"):
            return False
        self._tiers.hot.delete(store_name(stored))
        self._tiers.path_on_hot(stored)
        _log.warning("shard=%s restored from cold", self._shards[shard])
        return True

    def consumed(self, state: FeedState) -> None:
        """Told by the feed before each batch is handed out."""
        if self._state is None or state.step != self._state.step + 1:
            # The feed was resumed, or went back: a new stretch of steps begins.
            self.finish()
            self._first = state.step - 1
        self._state = state

    def begin(self, model: str, base_checkpoint: Digest | None, approved: bool) -> None:
        """Records the run; `training_run` does it."""
        workspace, version = self._workspace, self._version
        environment = capture_environment(workspace.config.run_environment, Path.cwd())
        data = canonical_json(environment)
        with workspace.locked(PUBLISH_LOCK, "a build is publishing", PUBLISH_WAIT_S):
            side, head = write_side_object(workspace, version.dataset, data)
            body = {
                "run": self.id,
                "model": model,
                "dataset": version.dataset,
                "number": version.number,
                "version": version.manifest,
                "seed": self.seed,
                "approved": approved,
                "base_checkpoint": base_checkpoint,
                "access": self._lease.position,
                "environment_object": side.hex(),
                "key_table": {"size": head.size, "root": head.root},
            }
            self._append([self._draft("run", Subject(version.name, version.manifest), body)])

    def checkpoint(self, path: str | Path, step: int | None = None) -> Digest:
        """Records saved weights, and how far the run was given data up to them.

        Args:
            path: the file, or the folder of files, that holds the weights.
            step: the run's step; what the feed has given when left out.

        Raises:
            NotFound: there is no such file.
            ConfigError: no batch was given yet and no step is named.
        """
        digest = checkpoint_digest(path)
        if step is None and self._state is None:
            raise ConfigError("a checkpoint before the first batch", "name its step: step=0")
        at = self._state.step if step is None and self._state is not None else step
        body = {"run": self.id, "step": at, "checkpoint": digest, "model_bytes": _size(Path(path))}
        subject = Subject(f"{self.id}@{at}", digest)
        self._append([*self._consumption(), self._draft("checkpoint", subject, body)])
        return digest

    def finish(self) -> None:
        """Records what was given since the last checkpoint; safe to call again."""
        self._append(self._consumption())

    def _append(self, drafts: list[Draft]) -> None:
        if self._records and drafts:
            self._workspace.ledger.append(drafts)
            self._first = self._first if self._state is None else self._state.step

    def _consumption(self) -> list[Draft]:
        """What was given since it was last recorded: nothing, or one draft."""
        if self._state is None or self._state.step == self._first:
            return []
        body = {"run": self.id, **self._given(self._state).to_json()}
        return [self._draft("consumption", Subject(self.version_name, self.version), body)]

    def _given(self, state: FeedState) -> Consumption:
        samples = sum(sum(segment.shard_samples) for segment in self.segments)
        steps = Batches(samples, state.batch_size, state.drop_last).num_steps
        return Consumption(
            version=self.version,
            seed=self.seed,
            num_samples=samples,
            global_batch=state.batch_size,
            drop_last=state.drop_last,
            epoch=self._first // steps,
            position=self._first % steps * state.batch_size,
            first_step=self._first,
            num_steps=state.step - self._first,
        )

    def _draft(self, predicate: str, subject: Subject, body: Mapping[str, object]) -> Draft:
        return Draft(predicate, (subject,), body, (self._workspace.signer("owner"),))

    def _object(self, shard: int) -> StoredObject:
        return self._storage.object(self._shards[shard])


def checkpoint_digest(checkpoint: str | Path) -> Digest:
    """The digest of a checkpoint: of a file's bytes, or of the list of a folder's files.

    Raises:
        NotFound: there is neither, and it is no digest.
    """
    if isinstance(checkpoint, str) and checkpoint.startswith("sha256:"):
        return Digest.parse(checkpoint)
    path = Path(checkpoint)
    if path.is_dir():
        files = sorted(item for item in path.rglob("*") if item.is_file())
        listed = {item.relative_to(path).as_posix(): digest_of_file(item) for item in files}
        return digest_of(canonical_json({"format": "shardline/checkpoint/v1", "files": listed}))
    if not path.is_file():
        raise NotFound(f"{path}: no such checkpoint", "save it first, then record it")
    return digest_of_file(path)


def _require_same(workspace: Workspace, run: str, version: Version, seed: int) -> None:
    """Ranks that read another version or order would make the run's record untrue."""
    for entry in workspace.ledger.entries(predicates={"run"}):
        if entry.body["run"] == run:
            wanted = f"{entry.body['dataset']}@v{entry.body['number']}", int(entry.body["seed"])
            if wanted != (version.name, seed):
                raise ConfigError(
                    f"run {run} reads {wanted[0]} with seed {wanted[1]}, this rank "
                    f"{version.name} with seed {seed}",
                    "pass what rank 0 passed",
                )
            return
    raise NotFound(f"no run {run} is recorded", "let rank 0 begin it first")


def _shards(content: ContentManifest) -> tuple[str, ...]:
    return tuple(
        f"{segment.name}/shard-{shard:05d}.parquet"
        for segment in content.segments
        for shard in range(len(segment.shard_samples))
    )


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
    return path.stat().st_size
