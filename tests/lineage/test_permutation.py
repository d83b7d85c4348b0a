from __future__ import annotations

import json
from collections import Counter
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.permutation import MOST, Permutation

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "order.json").read_text())


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.mark.parametrize("vector", VECTORS["permutations"], ids=lambda v: f"n={v['n']}")
def test_frozen_vectors(vector: dict[str, Any]) -> None:
    permutation = Permutation(int(vector["n"]), bytes.fromhex(vector["key"]))
    for place, member in vector["members"]:
        assert permutation.forward(int(place)) == int(member)
        assert permutation.inverse(int(member)) == int(place)


@given(n=st.integers(1, 3000), number=st.integers(0, 2**200))
@settings(max_examples=60, deadline=None)
def test_it_permutes_and_its_inverse_undoes_it(n: int, number: int) -> None:
    permutation = Permutation(n, key(number))
    places = np.arange(n)
    members = permutation.forward(places)
    assert np.array_equal(np.sort(members), places)
    assert np.array_equal(permutation.inverse(members), places)


@given(n=st.integers(2**20, MOST), number=st.integers(0, 2**200), data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_inverse_undoes_it_for_large_n(n: int, number: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=20))
    permutation = Permutation(n, key(number))
    members = permutation.forward(np.array(places))
    assert ((members >= 0) & (members < n)).all()
    assert permutation.inverse(members).tolist() == places


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_small_permutations_are_all_equally_likely(n: int) -> None:
    keys = max(400, 12 * factorial(n))
    places = np.arange(n)
    counts = Counter(tuple(Permutation(n, key(i)).forward(places).tolist()) for i in range(keys))
    expected = keys / factorial(n)
    seen = list(counts.values()) + [0] * (factorial(n) - len(counts))
    chi_square = sum((count - expected) ** 2 / expected for count in seen)
    freedom = factorial(n) - 1
    # Five standard deviations above the mean of chi-square; a fixed set of keys, so no chance.
    assert chi_square < freedom + 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("n", [1000, 65_536, 100_003])
def test_neighbours_are_not_correlated(n: int) -> None:
    members = Permutation(n, key(n)).forward(np.arange(n))
    limit = 5 / n**0.5
    assert abs(np.corrcoef(members[:-1], members[1:])[0, 1]) < limit
    assert abs(np.corrcoef(np.arange(n), members)[0, 1]) < limit
    steps = np.abs(np.diff(members))
    # The mean distance of two random members is n / 3.
    assert abs(steps.mean() / n - 1 / 3) < limit
    assert (steps == 1).sum() < 20


def test_keys_give_different_permutations() -> None:
    places = np.arange(1000)
    one, other = (Permutation(1000, key(i)).forward(places) for i in (1, 2))
    assert (one == other).sum() < 10


def test_shapes_and_scalars_are_kept() -> None:
    permutation = Permutation(10, key(0))
    assert isinstance(permutation.forward(3), int)
    assert permutation.forward(np.arange(10).reshape(2, 5)).shape == (2, 5)
    assert permutation.forward(np.array([], dtype=np.int64)).shape == (0,)
    assert len(permutation) == 10


@pytest.mark.parametrize("n", [0, -1, MOST + 1])
def test_an_impossible_size_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match="members"):
        Permutation(n, key(0))


def test_a_short_key_and_values_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Permutation(5, b"short")
    for value in (-1, 5):
        with pytest.raises(ValueError, match=r"0\.\.4"):
            Permutation(5, key(0)).forward(value)
        with pytest.raises(ValueError, match=r"0\.\.4"):
            Permutation(5, key(0)).inverse(np.array([value]))
