from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.batches import Batches
from lineage.errors import ConfigError


@given(
    ranks=st.integers(1, 6),
    per_rank=st.integers(1, 5),
    num_samples=st.integers(1, 120),
    drop_last=st.booleans(),
    cut=st.integers(0, 120),
)
@settings(deadline=None)
def test_ranks_and_steps_share_out_every_used_position_once(
    ranks: int, per_rank: int, num_samples: int, drop_last: bool, cut: int
) -> None:
    if drop_last and num_samples < ranks * per_rank:
        num_samples += ranks * per_rank
    batches = Batches(num_samples, ranks * per_rank, drop_last)
    given_out: list[int] = []
    for step in range(batches.num_steps):
        slices = [list(batches.positions(step, rank, ranks)) for rank in range(ranks)]
        assert all(batches.step_given(p) == step for part in slices for p in part)
        if batches.num_used >= (step + 1) * batches.global_batch:
            assert {len(part) for part in slices} == {per_rank}
        given_out += [p for part in slices for p in part]
    assert given_out == list(range(batches.num_used))
    assert batches.num_dropped == (num_samples % batches.global_batch if drop_last else 0)
    assert batches.step_given(batches.num_used) is None
    for rank in range(ranks):
        mine = [p for t in range(batches.num_steps) for p in batches.positions(t, rank, ranks)]
        both = [batches.of_rank(0, cut, rank, ranks), batches.of_rank(cut, 10**6, rank, ranks)]
        assert np.concatenate(both).tolist() == mine


def test_a_short_last_batch_is_cut_as_evenly_as_can_be() -> None:
    batches = Batches(10, 8, drop_last=False)
    assert [list(batches.positions(1, rank, 4)) for rank in range(4)] == [[8], [9], [], []]


def test_what_makes_no_batch_is_refused() -> None:
    with pytest.raises(ConfigError, match="no batch of 8"):
        Batches(7, 8)
    with pytest.raises(ConfigError, match="no batch"):
        Batches(0, 8, drop_last=False)
    with pytest.raises(ConfigError, match="batch of 0"):
        Batches(7, 0)
    with pytest.raises(ConfigError, match="step 2"):
        Batches(16, 8).positions(2)
    with pytest.raises(ConfigError, match="among 3 ranks"):
        Batches(16, 8).of_rank(0, 8, 0, 3)
