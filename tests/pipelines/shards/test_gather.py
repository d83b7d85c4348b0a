"""Documents of many partitions come into one order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.shards.gather import gather


@settings(deadline=None, max_examples=60)
@given(data=st.data(), parts=st.lists(st.lists(st.binary(max_size=30), max_size=6), max_size=5))
def test_every_value_comes_where_the_order_says(
    data: st.DataObject, parts: list[list[bytes]]
) -> None:
    places = [(p, row) for p, part in enumerate(parts) for row in range(len(part))]
    order = data.draw(st.lists(st.sampled_from(places))) if places else []
    arrays = [pa.array(part, pa.large_binary()) for part in parts]
    gathered = gather(arrays, np.array(order, np.int64).reshape(-1, 2))
    assert gathered.to_pylist() == [parts[p][row] for p, row in order]
    assert gathered.null_count == 0


def test_slices_are_read_from_where_they_start() -> None:
    part = pa.array([b"before", b"a", b"bc"], pa.large_binary()).slice(1)
    assert gather([part], np.array([[0, 1], [0, 0]])).to_pylist() == [b"bc", b"a"]


def test_an_order_that_names_nothing_is_refused() -> None:
    part = pa.array([b"a"], pa.large_binary())
    for wrong in ([1, 0], [-1, 0], [0, 1], [0, -1]):
        with pytest.raises(IndexError, match="none of the 1"):
            gather([part], np.array([wrong]))
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        gather([part], np.array([0]))
    with pytest.raises(ValueError, match="nulls"):
        gather([pa.array([None], pa.large_binary())], np.array([[0, 0]]))
    with pytest.raises(ValueError, match="expected large"):
        gather([pa.array([b"a"], pa.binary())], np.array([[0, 0]]))
