"""Shards rest sealed, in row groups a feed can read one by one."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lineage.errors import ConfigError, IntegrityError, Unavailable
from lineage.keys.sealing import Seal, open_parquet
from pipelines.schema import LEAF
from pipelines.shards import write
from pipelines.shards.leaves import leaf_hashes
from pipelines.shards.write import TableWriter, rows_per_group, write_shard, write_table

SEAL = Seal(b"w" * 16, b"o" * 16, b"k" * 32)
SHAPE = {"sample_tokens": 2_048, "token_bytes": 2}


@pytest.fixture(scope="session")
def samples(packed: Callable[..., Any]) -> pa.Table:
    chance = np.random.default_rng(0)
    documents = [chance.integers(0, 50_000, 4_000).tolist() for _ in range(100)]
    bucket = {"documents": documents, "sources": [1] * 100, "dtype": "uint16"}
    return with_leaves(packed(bucket | {"sample_tokens": 2_048}).samples, 2_048, "uint16")


def with_leaves(samples: pa.Table, sample_tokens: int, dtype: str) -> pa.Table:
    hashes = [bytes(row) for row in leaf_hashes(samples, sample_tokens, dtype)]
    return samples.append_column(LEAF, pa.array(hashes, LEAF.type))


@contextmanager
def full_disk(size_bytes: int) -> Iterator[None]:
    """No file may grow beyond `size_bytes`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_shard_comes_back_as_it_was(samples: pa.Table, tmp_path: Path) -> None:
    write_shard(tmp_path / "shard", samples, SEAL, **SHAPE)
    with open_parquet(tmp_path / "shard", SEAL) as shard:
        assert shard.read().equals(samples)
        groups = [shard.metadata.row_group(i).num_rows for i in range(shard.num_row_groups)]
        assert shard.metadata.row_group(0).column(0).compression == "LZ4"
    assert groups == [64, 64, 64, 4]


def test_a_shard_without_samples_can_be_written(samples: pa.Table, tmp_path: Path) -> None:
    write_shard(tmp_path / "shard", samples.slice(0, 0), SEAL, **SHAPE)
    with open_parquet(tmp_path / "shard", SEAL) as shard:
        assert shard.read().equals(samples.slice(0, 0))


def test_a_row_group_holds_about_256_kib_and_a_sample_at_least() -> None:
    assert rows_per_group(2_048, 2) == 64
    assert rows_per_group(1 << 20, 4) == 1


def test_another_key_or_object_opens_nothing(samples: pa.Table, tmp_path: Path) -> None:
    write_shard(tmp_path / "shard", samples, SEAL, **SHAPE)
    assert samples.column("input_ids")[0].as_py() not in (tmp_path / "shard").read_bytes()
    for other in (replace(SEAL, key=b"x" * 32), replace(SEAL, object_id=b"x" * 16)):
        with pytest.raises(IntegrityError):
            open_parquet(tmp_path / "shard", other)


def test_tables_of_other_stages_have_larger_row_groups(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(["x" * 1_000] * 40_000, pa.large_string())})
    write_table(tmp_path / "table", table, SEAL)
    with open_parquet(tmp_path / "table", SEAL) as stored:
        assert stored.num_row_groups == 3
        assert stored.metadata.row_group(0).column(0).compression == "ZSTD"
        assert stored.read().equals(table)


def test_a_table_that_comes_in_parts_has_the_same_row_groups(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(["x" * 1_000] * 40_000, pa.large_string())})
    with TableWriter(tmp_path / "table", table.schema, SEAL) as writer:
        for start in range(0, table.num_rows, 900):
            writer.add(table.slice(start, 900))
    with open_parquet(tmp_path / "table", SEAL) as stored:
        groups = [stored.metadata.row_group(i).num_rows for i in range(stored.num_row_groups)]
        assert stored.read().equals(table)
    assert len(groups) == 3
    assert groups[0] == groups[1] == (16 << 20) // 1_008


def test_a_table_that_is_not_ended_leaves_nothing(tmp_path: Path) -> None:
    table = pa.table({"text": ["words"]})
    with (
        pytest.raises(KeyError, match="elsewhere"),
        TableWriter(tmp_path / "table", table.schema, SEAL) as writer,
    ):
        writer.add(table)
        raise KeyError("elsewhere")
    assert list(tmp_path.iterdir()) == []


def test_more_row_groups_than_a_sealed_file_numbers_are_refused(
    packed: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = {"documents": [[1] * 65_536], "sources": [0], "sample_tokens": 2, "dtype": "uint8"}
    many = with_leaves(packed(bucket).samples, 2, "uint8")
    monkeypatch.setattr(write, "SHARD_GROUP_BYTES", 1)
    with pytest.raises(ConfigError, match="32768 row groups"):
        write_shard(tmp_path / "shard", many, SEAL, sample_tokens=2, token_bytes=1)
    assert list(tmp_path.iterdir()) == []


def test_samples_of_another_shape_are_refused(samples: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="not samples of 1024 tokens"):
        write_shard(tmp_path / "shard", samples, SEAL, sample_tokens=1_024, token_bytes=2)
    with pytest.raises(IntegrityError, match="not samples"):
        write_shard(tmp_path / "shard", samples.drop_columns([LEAF.name]), SEAL, **SHAPE)


def test_a_full_disk_leaves_nothing_behind(samples: pa.Table, tmp_path: Path) -> None:
    with full_disk(100_000), pytest.raises(Unavailable, match="shard cannot be written"):
        write_shard(tmp_path / "shard", samples, SEAL, **SHAPE)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named_and_not_made(samples: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file"):
        write_table(tmp_path / "nowhere" / "table", samples, SEAL)
    assert list(tmp_path.iterdir()) == []
