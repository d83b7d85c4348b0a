"""Documents become samples of equal length and can be read back out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from pipelines.schema import shard_schema
from pipelines.shards.pack import pack_bucket


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_spans_lead_back_to_every_document(
    data: st.DataObject, buckets: Any, packed: Callable[..., Any], plain: Callable[..., Any]
) -> None:
    bucket = data.draw(buckets)
    result = packed(bucket)
    stream = [i for sample in plain(result.samples, bucket["dtype"]) for i in sample["ids"]]
    ends = result.starts + result.lengths
    assert [stream[a:b] for a, b in zip(result.starts, ends, strict=True)] == bucket["documents"]
    assert stream[len(stream) - result.num_fill :] == [7] * result.num_fill
    assert result.num_fill < bucket["sample_tokens"]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_pieces_say_where_each_document_ends_and_whose_it_is(
    data: st.DataObject, buckets: Any, packed: Callable[..., Any], plain: Callable[..., Any]
) -> None:
    bucket = data.draw(buckets)
    owners = [n for n, ids in enumerate(bucket["documents"]) for _ in ids]
    owners += [-1] * packed(bucket).num_fill
    size = bucket["sample_tokens"]
    for number, sample in enumerate(plain(packed(bucket).samples, bucket["dtype"])):
        here = owners[number * size : (number + 1) * size]
        ends = [i for i in range(1, size) if here[i] != here[i - 1]] + [size]
        assert sample["boundaries"] == ends
        expected = [bucket["sources"][here[e - 1]] if here[e - 1] >= 0 else 0xFFFF for e in ends]
        assert sample["sources"] == expected


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_only_fill_is_left_out_of_the_loss(
    data: st.DataObject, buckets: Any, packed: Callable[..., Any], plain: Callable[..., Any]
) -> None:
    bucket = data.draw(buckets)
    result = packed(bucket)
    samples = plain(result.samples, bucket["dtype"])
    full = samples[:-1] if result.num_fill else samples
    assert all(sample["loss_mask"] is None for sample in full)
    if result.num_fill:
        bits = np.unpackbits(
            np.frombuffer(bytes.fromhex(samples[-1]["loss_mask"]), np.uint8), bitorder="little"
        )
        assert np.flatnonzero(bits).tolist() == list(
            range(bucket["sample_tokens"] - result.num_fill)
        )


def test_an_empty_bucket_gives_no_samples(packed: Callable[..., Any]) -> None:
    result = packed({"documents": [], "sources": [], "sample_tokens": 8, "dtype": "uint16"})
    assert result.samples.num_rows == result.num_fill == len(result.starts) == 0
    assert result.samples.schema == shard_schema(8, 2)


def test_a_slice_of_a_column_is_packed_alone() -> None:
    rows = [np.arange(n, dtype=np.uint16).tobytes() for n in (3, 5, 4)]
    column = pa.array(rows, pa.large_binary())
    sources = np.array([1, 2], np.int32)
    results = [
        pack_bucket(tokens, sources, sample_tokens=4, dtype="uint16", fill_id=0)
        for tokens in (column.slice(1), pa.array(rows[1:], pa.large_binary()))
    ]
    assert results[0].samples.equals(results[1].samples)


@pytest.mark.parametrize("row", [b"", b"\x01", b"\x01\x00\x02"])
def test_a_document_of_no_whole_tokens_stops_the_bucket(row: bytes) -> None:
    tokens = pa.array([b"\x01\x00", row], pa.large_binary())
    with pytest.raises(IntegrityError, match="document 1"):
        pack_bucket(tokens, np.zeros(2, np.int32), sample_tokens=4, dtype="uint16", fill_id=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sources": [0xFFFF]}, "65,534"),
        ({"sources": [-1]}, "65,534"),
        ({"sources": [1, 2]}, "2 sources for 1"),
        ({"sample_tokens": 1}, "2 tokens or more"),
        ({"fill_id": 65_536}, "does not fit"),
    ],
)
def test_arguments_out_of_range_are_refused(
    packed: Callable[..., Any], wrong: dict[str, Any], message: str
) -> None:
    right = {"documents": [[1]], "sources": [0], "sample_tokens": 4, "dtype": "uint16"}
    with pytest.raises(ValueError, match=message):
        packed(right | wrong)
