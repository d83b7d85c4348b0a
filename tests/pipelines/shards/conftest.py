"""Documents for packing, and the plain way to say what a sample is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from pipelines.schema import SPANS
from pipelines.shards.pack import Packed, pack_bucket

FILL = 7


@st.composite
def _buckets(draw: st.DrawFn) -> dict[str, Any]:
    dtype = draw(st.sampled_from(["uint8", "uint16", "uint32"]))
    ids = st.integers(0, int(np.iinfo(dtype).max))
    documents = draw(st.lists(st.lists(ids, min_size=1, max_size=40), max_size=12))
    count = len(documents)
    return {
        "documents": documents,
        "sources": draw(st.lists(st.integers(0, 65_534), min_size=count, max_size=count)),
        "sample_tokens": draw(st.integers(2, 20)),
        "dtype": dtype,
    }


@pytest.fixture(scope="session")
def buckets() -> st.SearchStrategy[dict[str, Any]]:
    """Random documents, their sources, a sample length and a dtype."""
    return _buckets()


@pytest.fixture(scope="session")
def packed() -> Callable[[dict[str, Any]], Packed]:
    """Packs what `buckets` draws, or a vector of the same form."""

    def pack(bucket: dict[str, Any]) -> Packed:
        rows = [np.array(ids, bucket["dtype"]).tobytes() for ids in bucket["documents"]]
        return pack_bucket(
            pa.array(rows, pa.large_binary()),
            np.array(bucket["sources"], np.int32),
            sample_tokens=bucket["sample_tokens"],
            dtype=bucket["dtype"],
            fill_id=bucket.get("fill_id", FILL),
        )

    return pack


@pytest.fixture(scope="session")
def spans_of() -> Callable[[Packed], pa.Table]:
    """The spans of a packed bucket, with ids made of the row's number."""

    def spans(packed: Packed) -> pa.Table:
        count = len(packed.starts)
        names = pa.array([bytes([row]) * 32 for row in range(count)], pa.binary(32))
        sources = pa.array(np.arange(count, dtype=np.int32))
        starts, lengths = pa.array(packed.starts), pa.array(packed.lengths)
        return pa.table([names, names, names, sources, starts, lengths], schema=SPANS)

    return spans


@pytest.fixture(scope="session")
def plain() -> Callable[[pa.Table, str], list[dict[str, Any]]]:
    """Samples as lists of numbers, read with nothing of the code under test."""

    def read(samples: pa.Table, dtype: str) -> list[dict[str, Any]]:
        return [
            {
                "ids": np.frombuffer(row["input_ids"], dtype).tolist(),
                "boundaries": np.frombuffer(row["boundaries"], "<u4").tolist(),
                "loss_mask": None if row["loss_mask"] is None else row["loss_mask"].hex(),
                "sources": np.frombuffer(row["sources"], "<u2").tolist(),
            }
            for row in samples.to_pylist()
        ]

    return read
