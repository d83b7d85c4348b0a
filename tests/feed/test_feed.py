from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from lineage.consumption import Consumption
from lineage.digest import digest_of
from lineage.errors import ConfigError, Conflict
from lineage.order import Order
from shardline.feed.feed import ShardFeed
from shardline.feed.samples import Batch

Make = Callable[..., Any]


def numbers(batch: Batch) -> list[int]:
    assert (batch.input_ids == batch.input_ids[:, :1]).all()
    return batch.input_ids[:, 0].tolist()


def all_numbers(batches: Iterable[Batch]) -> list[int]:
    return [number for batch in batches for number in numbers(batch)]


def by_order(source: Any, epoch: int) -> list[int]:
    order = Order(source.segments, source.order_parameters, source.seed, epoch)
    shards, rows = order.locate(np.arange(order.num_samples))
    return (shards * 1000 + rows).tolist()


@pytest.mark.parametrize("prefetch", [True, False])
def test_one_epoch_gives_the_order_cut_into_batches(sealed: Make, prefetch: bool) -> None:
    source = sealed()
    feed = ShardFeed(source, batch_size=8, prefetch=prefetch)
    batches = list(feed)
    given = all_numbers(batches)
    assert given == by_order(source, 0)[:72]
    assert (len(feed), len(batches), feed.steps_per_epoch, feed.num_dropped) == (9, 9, 9, 3)
    assert [batch.step for batch in batches] == list(range(9))
    assert [batch.position for batch in batches] == list(range(0, 72, 8))


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("batch_size", [4, 8, 60])
def test_every_sample_is_given_exactly_once_over_all_ranks(
    sealed: Make, ranks: int, batch_size: int
) -> None:
    source = sealed()
    feeds = [
        ShardFeed(source, batch_size=batch_size, rank=rank, ranks=ranks, drop_last=False)
        for rank in range(ranks)
    ]
    given: list[int] = []
    for batches in zip(*feeds, strict=True):
        sizes = [len(batch) for batch in batches]
        assert max(sizes) - min(sizes) <= 1
        given += [number for batch in batches for number in numbers(batch)]
    assert given == by_order(source, 0)
    assert len(set(given)) == 75


def test_epochs_follow_one_another_and_differ(sealed: Make) -> None:
    source = sealed()
    batches = list(ShardFeed(source, batch_size=25, epochs=2))
    assert [(batch.epoch, batch.step) for batch in batches] == [(i // 3, i) for i in range(6)]
    epochs = [
        [number for batch in batches if batch.epoch == epoch for number in numbers(batch)]
        for epoch in (0, 1)
    ]
    assert epochs == [by_order(source, 0), by_order(source, 1)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1])


def test_a_feed_without_end_goes_on_into_further_epochs(sealed: Make) -> None:
    feed = ShardFeed(sealed(), batch_size=30, epochs=None)
    epochs = [batch.epoch for batch in islice(feed, 7)]
    assert epochs == [0, 0, 1, 1, 2, 2, 3]
    with pytest.raises(TypeError):
        len(feed)


def test_a_resume_at_any_step_on_any_number_of_ranks_gives_the_rest(sealed: Make) -> None:
    source = sealed()
    whole = [numbers(batch) for batch in ShardFeed(source, batch_size=8, epochs=2)]
    for stop in (*range(10), 13, 17, 18):
        feed = ShardFeed(source, batch_size=8, epochs=2)
        assert len(list(islice(feed, stop))) == stop
        saved = json.dumps(feed.state_dict())
        assert len(saved) < 1024
        ranks = (1, 2, 4, 8)[stop % 4]
        resumed = [
            ShardFeed(source, batch_size=8, epochs=2, rank=rank, ranks=ranks)
            for rank in range(ranks)
        ]
        for rank in resumed:
            rank.load_state_dict(json.loads(saved))
        rest = [all_numbers(batches) for batches in zip(*resumed, strict=True)]
        assert rest == whole[stop:]


def test_a_resume_of_a_resume_goes_on_where_the_first_stopped(sealed: Make) -> None:
    source = sealed()
    whole = [numbers(batch) for batch in ShardFeed(source, batch_size=5, epochs=2)]
    given: list[list[int]] = []
    state = ShardFeed(source, batch_size=5, epochs=2).state_dict()
    while len(given) < len(whole):
        feed = ShardFeed(source, batch_size=5, epochs=2)
        feed.load_state_dict(state)
        given += [numbers(batch) for batch in islice(feed, 4)]
        state = feed.state_dict()
    assert given == whole


def test_a_feed_goes_on_in_a_second_iteration_and_ends_the_first(sealed: Make) -> None:
    source = sealed()
    feed = ShardFeed(source, batch_size=8)
    first = iter(feed)
    given = numbers(next(first)) + numbers(next(first))
    second = iter(feed)
    given += numbers(next(second))
    with pytest.raises(Conflict, match="another iteration"):
        next(first)
    assert given + all_numbers(second) == by_order(source, 0)[:72]
    assert list(feed) == []


def test_the_source_is_told_before_each_batch_what_counts_as_given(sealed: Make) -> None:
    source = sealed()
    feed = ShardFeed(source, batch_size=25, epochs=2)
    for batch in feed:
        assert source.told[-1].step == batch.step + 1 == feed.step
    assert [(state.epoch, state.position) for state in source.told] == [
        (0, 25), (0, 50), (1, 0), (1, 25), (1, 50), (2, 0),
    ]  # fmt: skip


def test_a_batch_that_cannot_be_recorded_is_not_given(sealed: Make) -> None:
    source = sealed()
    feed = ShardFeed(source, batch_size=25)

    def refuse(_: Any) -> None:
        raise Conflict("the ledger has moved")

    source.consumed = refuse
    with pytest.raises(Conflict, match="ledger"):
        next(iter(feed))
    assert feed.step == 0


def test_the_consumption_of_a_feed_answers_for_what_it_gave(sealed: Make) -> None:
    source = sealed()
    feed = ShardFeed(source, batch_size=8, epochs=3)
    given = all_numbers(islice(feed, 20))
    consumption = Consumption(source.version, source.seed, 75, 8, True, 0, 0, 0, feed.step)
    order = {e: Order(source.segments, source.order_parameters, source.seed, e) for e in range(3)}
    by_arithmetic: list[int] = []
    for part in consumption.epochs():
        shards, rows = order[part.epoch].locate(np.arange(part.start, part.stop))
        by_arithmetic += (shards * 1000 + rows).tolist()
    assert by_arithmetic == given


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": str(digest_of(b"other"))}, "version"),
        ({"seed": 8}, "seed"),
        ({"batch_size": 4}, "batch_size"),
        ({"drop_last": False}, "drop_last"),
        ({"position": 3}, "contradicts"),
        ({"position": 800}, "contradicts"),
        ({"step": 2}, "contradicts"),
        ({"epoch": -1}, "contradicts"),
        ({"format": "other"}, "not the state"),
        ({"epoch": "soon"}, "cannot be read"),
    ],
)
def test_a_state_that_cannot_be_continued_exactly_is_refused(
    sealed: Make, change: dict[str, Any], word: str
) -> None:
    feed = ShardFeed(sealed(), batch_size=8)
    before = feed.state_dict()
    with pytest.raises(ConfigError, match=word):
        feed.load_state_dict({**before, **change})
    assert feed.state_dict() == before


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"batch_size": 0}, "global batch of 0"),
        ({"batch_size": 76}, "no batch of 76"),
        ({"batch_size": 9, "ranks": 2}, "cannot be cut among 2 ranks"),
        ({"batch_size": 8, "ranks": 2, "rank": 2}, "rank 2 of 2"),
        ({"batch_size": 8, "epochs": 0}, "0 epochs"),
    ],
)
def test_arguments_that_make_no_feed_are_refused(
    sealed: Make, arguments: dict[str, Any], word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        ShardFeed(sealed(), **arguments)


def test_positions_can_be_read_without_being_given(sealed: Make) -> None:
    source = sealed()
    feed = ShardFeed(source, batch_size=8)
    positions = np.array([74, 0, 31, 31])
    expected = [by_order(source, 1)[i] for i in positions]
    assert feed.samples(positions, epoch=1).input_ids[:, 0].tolist() == expected
    assert (feed.step, source.told) == (0, [])
    with pytest.raises(ConfigError, match="position"):
        feed.samples(np.array([75]))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_masks_and_boundaries_come_as_they_are_stored(sealed: Make, dtype: str) -> None:
    source = sealed((6, 5), dtype=dtype)
    for shard in (0, 1):
        places = Order(source.segments, source.order_parameters, source.seed, 0).positions(
            shard, np.arange(source.shard_samples[shard])
        )
        samples = ShardFeed(source, batch_size=8).samples(places)
        assert samples.input_ids.dtype == np.dtype(dtype)
        for row, (ends, mask) in enumerate(zip(samples.boundaries, samples.loss_mask, strict=True)):
            assert ends.tolist() == [1 + row % 9, 16]
            assert mask.tolist() == [True] * 12 + [row % 3 != 0] * 4
        assert not samples.every_token_counts
        assert samples.part(1, 3).loss_mask.all()
        assert samples.part(1, 3).every_token_counts


def test_a_seed_changes_the_order_and_not_the_samples(sealed: Make) -> None:
    source = sealed()
    one = all_numbers(ShardFeed(source, batch_size=75))
    two = all_numbers(ShardFeed(replace(source, seed=8), batch_size=75))
    assert one != two
    assert sorted(one) == sorted(two)


def test_torch_tensors_are_int64_and_torch_is_asked_for_only_then(sealed: Make) -> None:
    batch = next(iter(ShardFeed(sealed(), batch_size=8)))
    if importlib.util.find_spec("torch") is None:
        with pytest.raises(ConfigError, match="torch is not installed"):
            batch.torch()
        return
    tensors = batch.torch()
    assert str(tensors["input_ids"].dtype) == "torch.int64"
    assert tensors["input_ids"].tolist() == batch.input_ids.tolist()
    assert tensors["loss_mask"].tolist() == batch.loss_mask.tolist()
