"""A document leaves its shard; nothing else moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from pipelines.shards.holes import punch_holes

FILL = 3


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_hole_takes_one_documents_tokens_and_nothing_else(
    data: st.DataObject,
    buckets: Any,
    packed: Callable[..., Any],
    spans_of: Callable[..., Any],
    plain: Callable[..., Any],
) -> None:
    bucket = data.draw(buckets.filter(lambda b: b["documents"]))
    result = packed(bucket)
    spans = spans_of(result)
    rows = np.array(data.draw(st.lists(st.integers(0, spans.num_rows - 1))), np.int64)
    how: dict[str, Any] = {
        "sample_tokens": bucket["sample_tokens"],
        "dtype": bucket["dtype"],
        "fill_id": FILL,
    }
    samples, named = punch_holes(result.samples, spans, rows, **how)
    gone = np.zeros(samples.num_rows * bucket["sample_tokens"], np.bool_)
    for row in rows:
        gone[result.starts[row] : result.starts[row] + result.lengths[row]] = True
    gone = gone.reshape(samples.num_rows, -1)
    old, new = plain(result.samples, bucket["dtype"]), plain(samples, bucket["dtype"])
    for before, after, holes in zip(old, new, gone, strict=True):
        assert after == (holed(before, holes) if holes.any() else before)
    for row in range(spans.num_rows):
        assert (named.column("document_id")[row].as_py() is None) == (row in rows)
    numbers = ["source", "start", "num_tokens"]
    assert named.select(numbers).equals(spans.select(numbers))


def holed(sample: dict[str, Any], holes: np.ndarray) -> dict[str, Any]:
    size = len(holes)
    bits = np.ones(size, np.bool_)
    if sample["loss_mask"]:
        mask = np.frombuffer(bytes.fromhex(sample["loss_mask"]), np.uint8)
        bits = np.unpackbits(mask, count=size, bitorder="little").astype(np.bool_)
    return sample | {
        "ids": np.where(holes, FILL, sample["ids"]).tolist(),
        "loss_mask": np.packbits(bits & ~holes, bitorder="little").tobytes().hex(),
    }


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_holes_made_again_and_one_by_one_are_the_same_holes(
    data: st.DataObject, buckets: Any, packed: Callable[..., Any], spans_of: Callable[..., Any]
) -> None:
    bucket = data.draw(buckets.filter(lambda b: b["documents"]))
    result = packed(bucket)
    rows = np.array(data.draw(st.lists(st.integers(0, len(result.starts) - 1))), np.int64)
    how: dict[str, Any] = {
        "sample_tokens": bucket["sample_tokens"],
        "dtype": bucket["dtype"],
        "fill_id": FILL,
    }
    at_once = punch_holes(result.samples, spans_of(result), rows, **how)
    again = punch_holes(*at_once, rows, **how)
    one_by_one = result.samples, spans_of(result)
    for row in rows:
        one_by_one = punch_holes(*one_by_one, np.array([row]), **how)
    assert all(a.equals(b) for a, b in zip(at_once, again, strict=True))
    assert all(a.equals(b) for a, b in zip(at_once, one_by_one, strict=True))


def test_spans_that_do_not_fit_the_shard_are_refused(
    packed: Callable[..., Any], spans_of: Callable[..., Any]
) -> None:
    bucket = {"documents": [[1, 2], [3]], "sources": [0, 0], "sample_tokens": 4, "dtype": "uint8"}
    result = packed(bucket)
    spans = spans_of(result)
    how: dict[str, Any] = {"sample_tokens": 4, "dtype": "uint8", "fill_id": FILL}
    with pytest.raises(IntegrityError, match="another schema"):
        punch_holes(result.samples, spans.drop_columns(["source"]), np.array([0]), **how)
    outside = spans.set_column(5, spans.schema.field(5), pa.array([2, 99]))
    with pytest.raises(IntegrityError, match="outside"):
        punch_holes(result.samples, outside, np.array([1]), **how)
    with pytest.raises(IndexError, match="none of the 2 spans"):
        punch_holes(result.samples, spans, np.array([-1]), **how)
    with pytest.raises(ValueError, match="does not fit"):
        punch_holes(result.samples, spans, np.array([0]), **how | {"fill_id": 256})
