"""The frozen vectors of buckets, packing, leaves and holes (docs/formats.md).

They were worked out by a plain reading of the format, not by the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lineage.ledger.merkle import root_of
from pipelines.shards.buckets import bucket_of, num_buckets
from pipelines.shards.holes import punch_holes
from pipelines.shards.leaves import leaf_hashes

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "shards.json").read_text(encoding="utf-8")
)
shards = pytest.mark.parametrize("vector", VECTORS["shards"])


@pytest.mark.parametrize("vector", VECTORS["buckets"])
def test_a_key_falls_into_its_frozen_bucket(vector: dict[str, Any]) -> None:
    key = np.frombuffer(bytes.fromhex(vector["shuffle_key"]), np.uint8).reshape(1, 32)
    assert bucket_of(key, vector["num_buckets"]).tolist() == [vector["bucket"]]


@pytest.mark.parametrize("vector", VECTORS["bucket_counts"])
def test_a_segment_has_its_frozen_number_of_buckets(vector: dict[str, Any]) -> None:
    assert num_buckets(vector["total_tokens"], vector["shard_tokens"]) == vector["num_buckets"]


@shards
def test_a_bucket_is_packed_as_frozen(
    vector: dict[str, Any], packed: Callable[..., Any], plain: Callable[..., Any]
) -> None:
    result = packed(vector)
    verify(result.samples, vector, vector["packed"], plain)
    assert result.starts.tolist() == vector["starts"]
    assert result.lengths.tolist() == vector["lengths"]
    assert result.num_fill == vector["num_fill"]


@shards
def test_holes_are_made_as_frozen(
    vector: dict[str, Any],
    packed: Callable[..., Any],
    spans_of: Callable[..., Any],
    plain: Callable[..., Any],
) -> None:
    result = packed(vector)
    samples, _ = punch_holes(
        result.samples,
        spans_of(result),
        np.array(vector["holes"]["rows"], np.int64),
        sample_tokens=vector["sample_tokens"],
        dtype=vector["dtype"],
        fill_id=vector["fill_id"],
    )
    verify(samples, vector, vector["holes"], plain)


def verify(
    samples: pa.Table,
    vector: dict[str, Any],
    expected: dict[str, Any],
    plain: Callable[..., Any],
) -> None:
    hashes = leaf_hashes(samples, vector["sample_tokens"], vector["dtype"])
    found = [
        sample | {"leaf_hash": bytes(row).hex()}
        for sample, row in zip(plain(samples, vector["dtype"]), hashes, strict=True)
    ]
    assert found == expected["samples"]
    assert root_of(hashes).hex() == expected["content_root"]
