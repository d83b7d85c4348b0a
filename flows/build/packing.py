"""Plans the packing of a new segment, and the holes in older ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flows.build.pack import PunchJob, shard_names
from flows.build.parent import Parent
from flows.build.plan import BuildPlan
from flows.build.resolve import ResolvedBuild
from flows.build.worker import Assignment
from lineage.errors import ConfigError
from pipelines.shards.buckets import bucket_starts, num_buckets
from storage_tiers.dvc import MAX_FILES

# A bucket's number, and its first and last row (exclusive) among the new documents.
Bucket = tuple[int, int, int]

# Tokens of one packing job rest in memory twice.
_JOB_BYTES = 256 << 20


def buckets_of(plan: BuildPlan, segment: str, resolved: ResolvedBuild) -> list[Bucket]:
    """The buckets of a new segment, each of which becomes a shard.

    Raises:
        ConfigError: more shards than one folder of DVC holds.
    """
    token_bytes = np.dtype(plan.tokenizer.dtype).itemsize
    shard_tokens = max(1, plan.spec.shards.shard_bytes // token_bytes)
    count = num_buckets(resolved.num_tokens(), shard_tokens)
    require_room(segment, count)
    bounds = np.searchsorted(resolved.new.first, bucket_starts(count)).tolist()
    return [*zip(range(count), bounds, [*bounds[1:], len(resolved.new)], strict=True)]


def require_room(segment: str, num_shards: int) -> None:
    """Refuses a segment of more objects than one folder of DVC holds, before it is packed.

    Raises:
        ConfigError: more than 2,500 shards, each of two objects.
    """
    if 2 * num_shards > MAX_FILES:
        raise ConfigError(
            f"{segment} would have {num_shards} shards, and DVC tracks {MAX_FILES // 2} at most",
            "raise shard_mib in the spec, or build the sources in several steps",
        )


def runs_of(
    buckets: Sequence[Bucket], shard_bytes: int, num_workers: int
) -> list[tuple[Bucket, ...]]:
    """Buckets in runs, each of which one job packs: bounded in memory, enough for all."""
    per_job = max(1, min(_JOB_BYTES // shard_bytes, -(-len(buckets) // num_workers)))
    return [tuple(buckets[at : at + per_job]) for at in range(0, len(buckets), per_job)]


def punch_jobs(assignment: Assignment, parent: Parent, resolved: ResolvedBuild) -> list[PunchJob]:
    """A job for each published shard that gets holes."""
    removed = resolved.resolution.removed
    rows: dict[tuple[int, int], list[int]] = {}
    for segment, shard, span in zip(
        *(removed[name].to_numpy().tolist() for name in ("segment", "shard", "span")), strict=True
    ):
        rows.setdefault((segment, shard), []).append(span)
    jobs = []
    for (segment, shard), spans in sorted(rows.items()):
        name = parent.segments[segment].name
        samples, file = (parent.object(item) for item in shard_names(name, shard))
        jobs.append(PunchJob(assignment, resolved.key, name, shard, samples, file, tuple(spans)))
    return jobs
