"""Real sealed shards in a folder, and a source that opens them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage.digest import Digest, digest_of
from lineage.keys.sealing import Seal, open_parquet, parquet_writer
from lineage.order import OrderParameters, OrderSegment
from pipelines.schema import shard_schema
from shardline.feed.state import FeedState

SAMPLE_TOKENS = 16
ROWS_PER_GROUP = 4


def seal_of(name: str) -> Seal:
    digest = hashlib.sha256(name.encode()).digest()
    return Seal(b"w" * 16, digest[:16], digest)


@dataclass
class SealedSource:
    """Shards whose every token says in which sample it lies; each third sample has a mask."""

    folder: Path
    segments: tuple[OrderSegment, ...]
    version: Digest = field(default_factory=lambda: digest_of(b"version"))
    seed: int = 7
    order_parameters: OrderParameters = field(
        default_factory=lambda: OrderParameters(
            group_shards=2, block_samples=ROWS_PER_GROUP, window_samples=10
        )
    )
    sample_tokens: int = SAMPLE_TOKENS
    dtype: str = "uint16"
    cold: Path | None = None
    told: list[FeedState] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)

    @property
    def shard_samples(self) -> list[int]:
        return [n for segment in self.segments for n in segment.shard_samples]

    def shard_name(self, shard: int) -> str:
        return f"shard-{shard:05}"

    def path(self, shard: int) -> Path:
        return self.folder / f"{self.shard_name(shard)}.parquet"

    def open_shard(self, shard: int) -> pq.ParquetFile:
        self.opened.append(shard)
        return open_parquet(self.path(shard), seal_of(self.shard_name(shard)))

    def restore_shard(self, shard: int) -> bool:
        if self.cold is None:
            return False
        shutil.copyfile(self.cold / self.path(shard).name, self.path(shard))
        return True

    def consumed(self, state: FeedState) -> None:
        self.told.append(state)


def sample_number(shard: int, row: int) -> int:
    return shard * 1000 + row


def write_shard(source: SealedSource, shard: int) -> None:
    width = np.dtype(source.dtype).itemsize
    schema = shard_schema(source.sample_tokens, width)
    rows = range(source.shard_samples[shard])
    ids = [
        np.full(source.sample_tokens, sample_number(shard, row)).astype(source.dtype).tobytes()
        for row in rows
    ]
    ends = [np.array([1 + row % 9, source.sample_tokens], "<u4").tobytes() for row in rows]
    masks = [b"\xff\x0f" if row % 3 == 0 else None for row in rows]
    table = pa.table([ids, ends, masks, [b"\0\0" * 2 for _ in rows]], schema=schema)
    seal = seal_of(source.shard_name(shard))
    with parquet_writer(source.path(shard), schema, seal, compression="lz4") as writer:
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)


@pytest.fixture
def sealed(tmp_path: Path) -> Callable[..., SealedSource]:
    """Makes a source of two segments with uneven shards, one of them empty: 75 samples."""

    def make(*segments: tuple[int, ...], dtype: str = "uint16") -> SealedSource:
        folder = tmp_path / f"shards{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        sizes = segments or ((13, 0, 22), (9, 30, 1))
        ordered = tuple(
            OrderSegment(digest_of(b"segment %d" % i), size) for i, size in enumerate(sizes)
        )
        source = SealedSource(folder, ordered, dtype=dtype)
        for shard in range(len(source.shard_samples)):
            write_shard(source, shard)
        return source

    return make
