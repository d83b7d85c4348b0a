from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.consumption import Consumption, DocumentSpan, Given, history
from lineage.digest import digest_of
from lineage.errors import ConfigError, IntegrityError
from lineage.order import Order, OrderParameters, OrderSegment

SHARDS = ((12, 9), (7, 0, 15))
SAMPLES = [n for segment in SHARDS for n in segment]
TOKENS = 8
PLAIN = Consumption(digest_of(b"version"), 5, 43, 4, True, 0, 0, 0, 25)


@cache
def order(epoch: int) -> Order:
    segments = [OrderSegment(digest_of(b"%d" % i), sizes) for i, sizes in enumerate(SHARDS)]
    parameters = OrderParameters(group_shards=2, block_samples=3, window_samples=8)
    return Order(segments, parameters, 5, epoch)


@cache
def samples_of(epoch: int) -> list[tuple[int, int]]:
    shards, rows = order(epoch).locate(np.arange(43))
    return list(zip(shards.tolist(), rows.tolist(), strict=True))


def replayed(consumption: Consumption) -> list[tuple[int, int, int, int]]:
    """(step, epoch, shard, row) of every sample given, as a trainer would go through them."""
    given_out, step = [], consumption.first_step
    epoch, position, left = consumption.epoch, consumption.position, consumption.num_steps
    while left:
        stop = min(position + consumption.global_batch, 43)
        if position >= 43 or (consumption.drop_last and stop - position < consumption.global_batch):
            epoch, position = epoch + 1, 0
            continue
        given_out += [(step, epoch, *sample) for sample in samples_of(epoch)[position:stop]]
        position, step, left = stop, step + 1, left - 1
    return given_out


consumptions = st.builds(
    Consumption,
    version=st.just(PLAIN.version),
    seed=st.just(5),
    num_samples=st.just(43),
    global_batch=st.integers(1, 43),
    drop_last=st.booleans(),
    epoch=st.integers(0, 2),
    position=st.integers(0, 43),
    first_step=st.integers(0, 9),
    num_steps=st.integers(0, 30),
)
spans = (
    st.integers(0, 4)
    .filter(lambda shard: SAMPLES[shard] > 0)
    .flatmap(
        lambda shard: st.integers(0, SAMPLES[shard] * TOKENS - 1).flatmap(
            lambda start: st.builds(
                DocumentSpan,
                st.just(shard),
                st.just(start),
                st.integers(1, min(40, SAMPLES[shard] * TOKENS - start)),
            )
        )
    )
)


@given(consumptions, st.lists(spans, max_size=2))
@settings(max_examples=40, deadline=None)
def test_it_equals_a_replay_of_the_whole_run(
    consumption: Consumption, document: list[DocumentSpan]
) -> None:
    replay = replayed(consumption)
    assert consumption.num_samples_given() == len(replay)
    assert consumption.num_tokens_given(TOKENS) == len(replay) * TOKENS
    tokens: dict[tuple[int, int], int] = {}
    for span in document:
        for token in range(span.start, span.start + span.num_tokens):
            place = (span.shard, token // TOKENS)
            tokens[place] = tokens.get(place, 0) + 1
    held = [(step, epoch, tokens[s, r]) for step, epoch, s, r in replay if (s, r) in tokens]
    assert consumption.given(document, TOKENS, order) == Given(
        times=len({epoch for _, epoch, _ in held}),
        num_tokens=sum(count for _, _, count in held),
        first_step=min((step for step, _, _ in held), default=None),
    )


def test_a_checkpoint_holds_the_document_from_the_step_after_its_first() -> None:
    document = [DocumentSpan(shard=4, start=20, num_tokens=30)]
    first = PLAIN.given(document, TOKENS, order).first_step
    assert first is not None
    assert PLAIN.until(first).given(document, TOKENS, order) == Given(0, 0, None)
    after = PLAIN.until(first + 1).given(document, TOKENS, order)
    assert (after.times, after.first_step) == (1, first)


def test_a_document_given_in_each_of_two_whole_epochs_is_given_twice_in_full() -> None:
    whole = replace(PLAIN, drop_last=False, num_steps=22)
    document = [DocumentSpan(0, 5, 30), DocumentSpan(2, 0, 3)]
    answer = whole.given(document, TOKENS, order)
    assert (answer.times, answer.num_tokens) == (2, 66)


def test_a_dropped_sample_was_not_given() -> None:
    shards, rows = order(0).locate(np.array([42]))
    document = [DocumentSpan(int(shards[0]), int(rows[0]) * TOKENS, TOKENS)]
    assert replace(PLAIN, num_steps=10).given(document, TOKENS, order).times == 0
    everything = replace(PLAIN, num_steps=11, drop_last=False)
    assert everything.given(document, TOKENS, order) == Given(1, TOKENS, 10)


def test_a_resume_from_an_earlier_checkpoint_replaces_the_lost_steps() -> None:
    crashed = replace(PLAIN, num_steps=15)
    resumed = replace(PLAIN, epoch=1, position=0, first_step=10, num_steps=20)
    assert history([crashed, resumed], 25) == [
        replace(crashed, num_steps=10),
        replace(resumed, num_steps=15),
    ]
    assert history([crashed, resumed], 8) == [replace(crashed, num_steps=8)]
    assert history([crashed], 100) == [crashed]
    assert history([crashed, replace(resumed, first_step=0)], 100) == [
        replace(resumed, first_step=0)
    ]


def test_it_survives_canonical_json() -> None:
    value: dict[str, Any] = {
        name: item if isinstance(item, bool) else str(item)
        for name, item in PLAIN.to_json().items()
    }
    assert Consumption.from_json(value) == PLAIN
    for change in ({"drop_last": "yes"}, {"seed": "x"}, {"version": "md5"}, {"num_steps": "-1"}):
        with pytest.raises(IntegrityError, match="consumption"):
            Consumption.from_json({**value, **change})
    with pytest.raises(IntegrityError, match="consumption"):
        Consumption.from_json({})


def test_numbers_that_no_run_has_are_refused() -> None:
    with pytest.raises(ConfigError, match="position"):
        replace(PLAIN, position=-1)
    with pytest.raises(ConfigError, match="no batch"):
        replace(PLAIN, global_batch=44)
    with pytest.raises(ConfigError, match="row of shard 0"):
        PLAIN.given([DocumentSpan(0, 12 * TOKENS, 1)], TOKENS, order)
