"""Packs buckets into sealed shards, and rewrites shards that get holes, in a worker.

Memory: the tokens of one job's buckets, twice, and one partition's tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flows.build.resolve import NEW_KIND
from flows.build.staged import staged, staged_rows, staged_table
from flows.build.tokenize import KIND as TOKENIZED
from flows.build.worker import Assignment, Bench, bench
from flows.storage import workspace_tiers
from lineage.digest import Digest, canonical_json, digest_of
from lineage.keys.keytable import WrappedKey
from lineage.keys.minting import KeyMinter
from lineage.keys.sealing import Seal, open_parquet
from lineage.keys.wrapping import KeyUse
from lineage.manifests.storage import StoredObject
from pipelines.schema import LEAF, SPANS
from pipelines.shards.gather import gather
from pipelines.shards.holes import punch_holes
from pipelines.shards.leaves import leaf_hashes
from pipelines.shards.pack import pack_bucket
from pipelines.shards.write import write_shard, write_table
from storage_tiers.stage import StageEntry
from storage_tiers.stored import measure

SHARD_KIND = "shards"
ZONE = "processed"


@dataclass(frozen=True, slots=True)
class PackJob:
    """Some buckets of a new segment.

    Attributes:
        resolution: key of the resolution.
        segment: its name.
        buckets: bucket number, first and last row (exclusive) of the new documents.
        tokens: key of the tokens of each partition ordinal that holds new documents.
    """

    assignment: Assignment
    resolution: Digest
    segment: str
    buckets: tuple[tuple[int, int, int], ...]
    tokens: Mapping[int, Digest]


@dataclass(frozen=True, slots=True)
class PunchJob:
    """Holes in one shard of an older segment.

    Attributes:
        samples, spans: its two objects.
        rows: of its spans, to be punched.
    """

    assignment: Assignment
    resolution: Digest
    segment: str
    shard: int
    samples: StoredObject
    spans: StoredObject
    rows: tuple[int, ...]


def shard_names(segment: str, shard: int) -> tuple[str, str]:
    """Names of the two objects of a shard: its samples and its spans."""
    return f"{segment}/shard-{shard:05d}.parquet", f"{segment}/spans-{shard:05d}.parquet"


def shard_key(resolution: Digest, segment: str, shard: int) -> Digest:
    """The key of a shard in the stage store."""
    return digest_of(canonical_json({"resolution": resolution, "segment": segment, "shard": shard}))


def pack_shards(job: PackJob) -> dict[int, Digest]:
    """Packs each bucket of the job into one shard; gives their stage keys. Safe to run again."""
    at = bench(job.assignment)
    keys = {row[0]: shard_key(job.resolution, job.segment, row[0]) for row in job.buckets}
    missing = [row for row in job.buckets if at.stage.get(SHARD_KIND, keys[row[0]]) is None]
    if missing:
        start, stop = missing[0][1], missing[-1][2]
        new = staged_rows(staged(at.stage, NEW_KIND, job.resolution), "new", start, stop)
        tokens = _ordered_tokens(at, job, new)
        for bucket, first, last in missing:
            part = slice(first - start, last - start)
            _pack(at, job, bucket, new.slice(part.start, last - first), tokens[part])
    return keys


def _pack(at: Bench, job: PackJob, bucket: int, new: pa.Table, tokens: pa.Array) -> None:
    shape = _shape(at)
    packed = pack_bucket(tokens, new["source"].to_numpy(), **shape)
    spans = pa.table(
        {
            "document_id": new["document_id"],
            "raw_content_id": new["raw_content_id"],
            "content_id": new["content_id"],
            "source": new["source"],
            "start": packed.starts,
            "num_tokens": packed.lengths,
        },
        schema=SPANS,
    )
    _write(at, job.resolution, job.segment, bucket, packed.samples, spans)


def punch_shard(job: PunchJob) -> tuple[str, int, Digest]:
    """Rewrites a shard with its holes; gives segment, shard and stage key."""
    at = bench(job.assignment)
    key = shard_key(job.resolution, job.segment, job.shard)
    if at.stage.get(SHARD_KIND, key) is None:
        samples = _read(at, job.samples).drop_columns([LEAF.name])
        spans = _read(at, job.spans)
        rows = np.array(job.rows, np.int64)
        samples, spans = punch_holes(samples, spans, rows, **_shape(at))
        _write(at, job.resolution, job.segment, job.shard, samples, spans)
    return job.segment, job.shard, key


def _read(at: Bench, stored: StoredObject) -> pa.Table:
    path = workspace_tiers(at.workspace).path_on_hot(stored)
    with open_parquet(path, at.lease.seal(stored.object_id)) as file:
        return file.read()


def _ordered_tokens(at: Bench, job: PackJob, new: pa.Table) -> pa.LargeBinaryArray:
    partitions = new["partition"].to_numpy()
    rows = new["row"].to_numpy()
    parts: list[pa.LargeBinaryArray] = []
    order = np.empty((new.num_rows, 2), np.int64)
    for part, ordinal in enumerate(np.unique(partitions)):
        mine = np.flatnonzero(partitions == ordinal)
        tokens, places = _tokens_of(at, job.tokens[int(ordinal)], rows[mine])
        parts.append(tokens)
        order[mine] = np.column_stack([np.full(mine.size, part), places])
    return gather(parts, order)


def _tokens_of(at: Bench, key: Digest, rows: np.ndarray) -> tuple[pa.LargeBinaryArray, np.ndarray]:
    """Tokens of a partition, and where in them the wanted documents stand."""
    table = staged_table(staged(at.stage, TOKENIZED, key), "tokens", ["row", "tokens"])
    places = np.searchsorted(table["row"].to_numpy(), rows)
    tokens = table["tokens"].combine_chunks()
    if 2 * len(rows) >= len(tokens):
        return tokens, places
    # Few of them: the rest need not stay in memory.
    return tokens.take(pa.array(places)), np.arange(len(rows))


def _write(
    at: Bench, resolution: Digest, segment: str, shard: int, samples: pa.Table, spans: pa.Table
) -> None:
    spec, identity = at.spec.shards, at.tokenizer.identity
    leaves = leaf_hashes(samples, spec.sample_tokens, identity.dtype)
    samples = samples.append_column(LEAF, _as_binary(leaves))
    with at.stage.write(SHARD_KIND, shard_key(resolution, segment, shard)) as part:
        token_bytes = np.dtype(identity.dtype).itemsize
        for name, table in zip(shard_names(segment, shard), (samples, spans), strict=True):
            path = part.path(Path(name).name)
            seal, receipt = minted_receipt(at.workspace.minter, at.spec.name)
            if table is samples:
                tokens = spec.sample_tokens
                write_shard(path, table, seal, sample_tokens=tokens, token_bytes=token_bytes)
            else:
                write_table(path, table, seal)
            part.receipt.setdefault("objects", {})[name] = receipt(path)
        part.receipt["num_samples"] = samples.num_rows


def minted_receipt(
    minter: KeyMinter, dataset: str
) -> tuple[Seal, Callable[[Path], dict[str, Any]]]:
    """A new object's seal, and a function that tells of the written file for the receipt."""
    seal, row = minter.mint(dataset, ZONE)

    def receipt(path: Path) -> dict[str, Any]:
        measured = measure(path)
        return {
            "object_id": seal.object_id.hex(),
            "key_id": row.use.key_id,
            "wrapping_key_id": row.wrapping_key_id,
            "wrapped": row.wrapped.hex(),
            "size_bytes": measured.size_bytes,
            "sha256": str(measured.sha256),
            "md5": measured.md5,
        }

    return seal, receipt


def receipt_objects(entry: StageEntry, dataset: str) -> list[tuple[StoredObject, WrappedKey]]:
    """The objects of a stage entry and their rows for the key table."""
    return [
        (
            StoredObject(
                name,
                bytes.fromhex(row["object_id"]),
                row["key_id"],
                row["size_bytes"],
                Digest.parse(row["sha256"]),
                row["md5"],
            ),
            WrappedKey(
                KeyUse(row["key_id"], bytes.fromhex(row["object_id"]), dataset, ZONE),
                row["wrapping_key_id"],
                bytes.fromhex(row["wrapped"]),
            ),
        )
        for name, row in entry.receipt["objects"].items()
    ]


def _shape(at: Bench) -> dict[str, Any]:
    identity = at.tokenizer.identity
    return {
        "sample_tokens": at.spec.shards.sample_tokens,
        "dtype": identity.dtype,
        "fill_id": identity.end_id,
    }


def _as_binary(hashes: np.ndarray) -> pa.FixedSizeBinaryArray:
    data = pa.py_buffer(np.ascontiguousarray(hashes))
    return pa.Array.from_buffers(pa.binary(32), len(hashes), [None, data])
