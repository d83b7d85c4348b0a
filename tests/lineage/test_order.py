"""The order beside a second implementation, written from its docstring in plain Python."""

from __future__ import annotations

import json
import time
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest, digest_of, frame
from lineage.errors import ConfigError
from lineage.order import Order, OrderParameters, OrderSegment, even_cuts

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "order.json").read_text())
U64 = 2**64


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def plain_permutation(n: int, key: bytes) -> list[int]:
    half = max(3, ((n - 1).bit_length() + 1) // 2)
    mask = 2**half - 1
    keys = [
        int.from_bytes(
            sha256(frame(b"shardline/permutation/v1", key, i.to_bytes(4, "little"))).digest()[:8],
            "little",
        )
        for i in range(8)
    ]

    def mix(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % U64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % U64
        return z ^ z >> 31

    def network(x: int) -> int:
        left, right = x >> half, x & mask
        for k in keys:
            left, right = right, left ^ (mix((right + k) % U64) & mask)
        return left << half | right

    members = []
    for place in range(n):
        member = network(place)
        while member >= n:
            member = network(member)
        members.append(member)
    return members


def plain_cuts(things: list[Any], most: int) -> list[list[Any]]:
    pieces = -(-len(things) // most)
    size, larger = divmod(len(things), max(pieces, 1))
    cut, start = [], 0
    for i in range(pieces):
        stop = start + size + (i < larger)
        cut.append(things[start:stop])
        start = stop
    return cut


def plain_order(
    segments: list[OrderSegment], p: OrderParameters, seed: int, epoch: int
) -> list[tuple[int, int]]:
    """The (shard, row) at each position."""
    numbers = (p.group_shards, p.block_samples, p.window_samples, seed, epoch)
    ids = [segment.order_id.raw for segment in segments]
    framed = frame(b"shardline/order/v1", p.algorithm.encode(), *map(u64, numbers), *ids)
    key = sha256(framed).digest()

    def level(number: int, index: int) -> bytes:
        parts = (key, u64(number), u64(index))
        return sha256(frame(b"shardline/order/level/v1", *parts)).digest()

    samples = [n for segment in segments for n in segment.shard_samples]
    shards = plain_permutation(len(samples), level(1, 0)) if samples else []
    order: list[tuple[int, int]] = []
    for number, group in enumerate(plain_cuts(shards, p.group_shards)):
        blocks = [
            [(shard, row) for row in range(start, min(start + p.block_samples, samples[shard]))]
            for shard in group
            for start in range(0, samples[shard], p.block_samples)
        ]
        places = plain_permutation(len(blocks), level(2, number)) if blocks else []
        sequence = [sample for place in places for sample in blocks[place]]
        for window in plain_cuts(sequence, p.window_samples):
            order += [window[i] for i in plain_permutation(len(window), level(3, len(order)))]
    return order


def segments_of(*sizes: tuple[int, ...]) -> list[OrderSegment]:
    return [OrderSegment(digest_of(b"segment %d" % i), size) for i, size in enumerate(sizes)]


def located(order: Order) -> list[tuple[int, int]]:
    shards, rows = order.locate(np.arange(order.num_samples))
    return list(zip(shards.tolist(), rows.tolist(), strict=True))


@pytest.mark.parametrize("vector", VECTORS["orders"], ids=lambda v: v["name"])
def test_frozen_vectors(vector: dict[str, Any]) -> None:
    segments = [
        OrderSegment(Digest.parse(s["order_id"]), tuple(s["shard_samples"]))
        for s in vector["segments"]
    ]
    parameters = OrderParameters.from_json(vector["parameters"])
    order = Order(segments, parameters, int(vector["seed"]), vector["epoch"])
    assert [list(sample) for sample in located(order)] == vector["samples"]


shapes = st.lists(st.lists(st.integers(0, 30), max_size=6).map(tuple), min_size=1, max_size=3).map(
    lambda sizes: segments_of(*sizes)
)
parameters_of = st.builds(
    OrderParameters,
    group_shards=st.integers(1, 5),
    block_samples=st.integers(1, 9),
    window_samples=st.integers(1, 25),
)


@given(shapes, parameters_of, st.integers(0, U64 - 1), st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_it_equals_the_second_implementation_and_its_inverse_a_scan(
    segments: list[OrderSegment], parameters: OrderParameters, seed: int, epoch: int
) -> None:
    order = Order(segments, parameters, seed, epoch)
    plain = plain_order(segments, parameters, seed, epoch)
    assert located(order) == plain
    samples = [n for segment in segments for n in segment.shard_samples]
    everything = [(shard, row) for shard, n in enumerate(samples) for row in range(n)]
    assert sorted(plain) == everything
    for shard, n in enumerate(samples):
        scan = [plain.index((shard, row)) for row in range(n)]
        assert order.positions(shard, np.arange(n)).tolist() == scan


@given(shapes, parameters_of, st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_windows_follow_one_another_and_hold_what_locate_says(
    segments: list[OrderSegment], parameters: OrderParameters, seed: int
) -> None:
    order, position = Order(segments, parameters, seed, 0), 0
    whole = located(order)
    while position < order.num_samples:
        window = order.window(position)
        assert window.start == position < window.stop
        assert window.stop - window.start <= parameters.window_samples
        inside = list(zip(window.shards.tolist(), window.rows.tolist(), strict=True))
        assert inside == whole[window.start : window.stop]
        assert order.window(window.stop - 1).start == window.start
        position = window.stop


def test_positions_in_any_order_and_repeated_are_located() -> None:
    order = Order(segments_of((20, 7), (31,)), PARAMETERS, 3, 0)
    whole = located(order)
    positions = np.random.default_rng(0).integers(0, 58, 200)
    shards, rows = order.locate(positions)
    assert list(zip(shards.tolist(), rows.tolist(), strict=True)) == [whole[i] for i in positions]


PARAMETERS = OrderParameters(group_shards=2, block_samples=4, window_samples=10)


def test_seed_epoch_parameters_and_segments_each_change_the_order() -> None:
    segments = segments_of((40, 40), (40,))
    coarser = OrderParameters(group_shards=2, block_samples=4, window_samples=11)
    renamed = [OrderSegment(digest_of(b"other"), (40, 40)), segments[1]]
    orders = [
        located(Order(segments, PARAMETERS, 1, 0)),
        located(Order(segments, PARAMETERS, 2, 0)),
        located(Order(segments, PARAMETERS, 1, 1)),
        located(Order(segments, coarser, 1, 0)),
        located(Order(renamed, PARAMETERS, 1, 0)),
    ]
    assert all(a != b for i, a in enumerate(orders) for b in orders[:i])
    assert located(Order(segments, PARAMETERS, 1, 0)) == orders[0]


@given(st.integers(0, 10_000), st.integers(1, 300))
def test_even_cuts_are_the_fewest_and_differ_by_one_at_most(n: int, most: int) -> None:
    cuts = even_cuts(n, most)
    sizes = [int(b - a) for a, b in pairwise(cuts)]
    assert (len(sizes), sum(sizes)) == (-(-n // most), n)
    if sizes:
        assert max(sizes) <= most
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)


def quality_of(shards: np.ndarray, num_shards: int, window: int) -> tuple[float, float]:
    """The rate of neighbours of one shard, and chi-square per degree of freedom of windows."""
    same = float((shards[1:] == shards[:-1]).mean())
    usable = shards[: len(shards) // window * window].reshape(-1, window)
    counts = np.stack([np.bincount(row, minlength=num_shards) for row in usable])
    expected = window / num_shards
    freedom = (num_shards - 1) * len(usable)
    return same, float(((counts - expected) ** 2 / expected).sum()) / freedom


def test_the_shuffle_mixes_the_shards_of_a_group_and_spreads_rows() -> None:
    parameters = OrderParameters(group_shards=16, block_samples=8, window_samples=4096)
    order = Order(segments_of((2048,) * 16), parameters, 11, 0)
    shards, rows = order.locate(np.arange(order.num_samples))
    same, chi_square = quality_of(shards, 16, 4096)
    assert abs(same - 1 / 16) < 0.005
    # Blocks of 8 come whole, so that windows vary by up to 8 times a draw of single samples.
    assert chi_square < 9
    followed = (shards[1:] == shards[:-1]) & (rows[1:] == rows[:-1] + 1)
    assert followed.sum() < 20
    # What a shuffle that does nothing would give.
    nothing, spread = quality_of(np.repeat(np.arange(16), 2048), 16, 4096)
    assert nothing > 0.99
    assert spread > 100


def test_segments_are_mixed_over_the_epoch() -> None:
    parameters = OrderParameters(group_shards=4, block_samples=4, window_samples=64)
    order = Order(segments_of((64,) * 32, (64,) * 32), parameters, 5, 0)
    shards, _ = order.locate(np.arange(order.num_samples))
    quarters = (shards >= 32).reshape(4, -1).mean(axis=1)
    assert ((quarters > 0.2) & (quarters < 0.8)).all()


def test_a_hundred_thousand_shards_start_at_once_and_answer_at_once() -> None:
    segments = segments_of((30_000,) * 100_000)
    parameters = OrderParameters(block_samples=64)
    start = time.perf_counter()
    order = Order(segments, parameters, 1, 0)
    positions = order.positions(77_777, np.array([0, 29_999]))
    shards, rows = order.locate(positions)
    # Some 30 ms on a quiet core.
    assert time.perf_counter() - start < 2
    assert (shards.tolist(), rows.tolist()) == ([77_777] * 2, [0, 29_999])
    assert order.num_samples == 3_000_000_000


def test_an_order_without_samples_has_no_positions() -> None:
    for segments in ([], segments_of(()), segments_of((0, 0), ())):
        order = Order(segments, PARAMETERS, 0, 0)
        assert (order.num_samples, located(order)) == (0, [])
        with pytest.raises(ConfigError, match="position"):
            order.window(0)


def test_what_lies_outside_is_refused() -> None:
    order = Order(segments_of((5, 6)), PARAMETERS, 0, 0)
    assert order.num_shards == 2
    with pytest.raises(ConfigError, match="position is outside 0 to 10"):
        order.locate(np.array([0, 11]))
    with pytest.raises(ConfigError, match="row of shard 0 is outside 0 to 4"):
        order.positions(0, np.array([5]))
    with pytest.raises(ConfigError, match="shard is outside 0 to 1"):
        order.positions(2, np.array([0]))
    for seed, epoch in ((-1, 0), (U64, 0), (0, -1)):
        with pytest.raises(ConfigError, match="outside 0 to"):
            Order(segments_of((5,)), PARAMETERS, seed, epoch)
    with pytest.raises(ConfigError, match="negative"):
        Order(segments_of((-5,)), PARAMETERS, 0, 0)


def test_parameters_survive_canonical_json_and_refuse_nonsense() -> None:
    value = PARAMETERS.to_json()
    assert (
        OrderParameters.from_json({name: str(item) for name, item in value.items()}) == PARAMETERS
    )
    for change in ({"algorithm": "feistel-2"}, {"group_shards": 0}, {"block_samples": "few"}):
        with pytest.raises(ConfigError):
            OrderParameters.from_json({**value, **change})
    with pytest.raises(ConfigError, match="cannot be read"):
        OrderParameters.from_json({})
