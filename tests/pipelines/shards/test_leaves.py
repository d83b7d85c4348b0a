"""A leaf is the sample itself, however it is stored."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from pipelines.shards.leaves import leaf_hashes


def leaf(sample: dict[str, Any]) -> bytes:
    """The format page, word by word."""
    mask = bytes.fromhex(sample["loss_mask"] or "")
    data = b""
    for numbers in (sample["ids"], sample["boundaries"]):
        data += struct.pack(f"<I{len(numbers)}I", len(numbers), *numbers)
    data += struct.pack("<I", len(mask)) + mask
    return hashlib.sha256(b"\x00" + data).digest()


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_leaves_are_what_the_format_says(
    data: st.DataObject, buckets: Any, packed: Callable[..., Any], plain: Callable[..., Any]
) -> None:
    bucket = data.draw(buckets)
    samples = packed(bucket).samples
    hashes = leaf_hashes(samples, bucket["sample_tokens"], bucket["dtype"])
    assert [bytes(row) for row in hashes] == [leaf(s) for s in plain(samples, bucket["dtype"])]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_width_of_storage_changes_no_leaf(
    data: st.DataObject, buckets: Any, packed: Callable[..., Any]
) -> None:
    bucket = data.draw(buckets)
    size = bucket["sample_tokens"]
    narrow = leaf_hashes(packed(bucket).samples, size, bucket["dtype"])
    wide = leaf_hashes(packed(bucket | {"dtype": "uint32"}).samples, size, "uint32")
    assert np.array_equal(narrow, wide)


def test_leaves_of_slices_and_chunks_are_those_of_the_whole(packed: Callable[..., Any]) -> None:
    documents = [list(range(n % 7 + 1)) for n in range(900)]
    bucket = {"documents": documents, "sources": [0] * 900, "sample_tokens": 3, "dtype": "uint16"}
    samples = packed(bucket).samples
    whole = leaf_hashes(samples, 3, "uint16")
    assert np.array_equal(leaf_hashes(samples.slice(5, 40), 3, "uint16"), whole[5:45])
    chunks = pa.concat_tables([samples.slice(0, 7), samples.slice(7)])
    assert np.array_equal(leaf_hashes(chunks, 3, "uint16"), whole)


def test_a_table_of_other_samples_is_refused(packed: Callable[..., Any]) -> None:
    bucket = {"documents": [[1, 2]], "sources": [0], "sample_tokens": 4, "dtype": "uint16"}
    samples = packed(bucket).samples
    with pytest.raises(IntegrityError, match="not samples of 5 tokens"):
        leaf_hashes(samples, 5, "uint16")
    torn = samples.set_column(3, samples.schema.field(3), pa.array([b"\x00\x00"]))
    with pytest.raises(IntegrityError, match="do not agree"):
        leaf_hashes(torn, 4, "uint16")
