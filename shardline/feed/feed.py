"""The feed: a version's samples as batches, in the order that the ledger can answer for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from lineage.batches import Batches
from lineage.errors import ConfigError, Conflict
from lineage.order import Order
from lineage.permutation import Int64s
from shardline.feed.reader import ShardReader
from shardline.feed.samples import Batch, Samples
from shardline.feed.source import FeedSource
from shardline.feed.state import FeedState
from shardline.feed.windows import Cutter, Point, WindowStream

_log = logging.getLogger(__name__)


class ShardFeed:
    """Batches of one version for one data-parallel rank.

    The order is a pure function of version, seed and epoch, cut into global batches and these into
    equal slices for the ranks; so a state saved on any number of ranks resumes on any other, at the
    exact sample. An iterator begins where the feed stands and goes through all epochs that are
    left: `for batch in feed` is the whole training. Each rank has its own feed, and all of them
    save the same state.

    Args:
        source: the version, opened by a run.
        batch_size: samples of a step over all ranks, a multiple of `ranks`.
        rank: this data-parallel rank, from 0.
        ranks: number of data-parallel ranks.
        epochs: how many to give in all, resumes included; None gives them without end.
        drop_last: whether an epoch ends with its last full batch (`num_dropped` says what is left).
            Otherwise its last batch may be short, even empty on some ranks.
        prefetch: whether a thread reads the next window meanwhile.
        wait_s: seconds that a wait for a window may take.

    Raises:
        ConfigError: a number is out of range, or an epoch has no batch.
    """

    def __init__(
        self,
        source: FeedSource,
        *,
        batch_size: int,
        rank: int = 0,
        ranks: int = 1,
        epochs: int | None = 1,
        drop_last: bool = True,
        prefetch: bool = True,
        wait_s: float = 600.0,
    ) -> None:
        num_samples = sum(sum(segment.shard_samples) for segment in source.segments)
        self._batches = Batches(num_samples, batch_size, drop_last)
        self._batches.check_rank(rank, ranks)
        if epochs is not None and epochs < 1:
            raise ConfigError(f"a feed of {epochs} epochs", "1 or more, or None for no end")
        self._source, self._rank, self._ranks = source, rank, ranks
        self._epochs, self._prefetch, self._wait_s = epochs, prefetch, wait_s
        self._state = FeedState(source.version, source.seed, batch_size, drop_last, 0, 0, 0)
        self._turn = 0

    def __len__(self) -> int:
        """Steps of all epochs, those already given included.

        Raises:
            TypeError: the feed has no end.
        """
        if self._epochs is None:
            raise TypeError("a feed without end has no length")
        return self._epochs * self.steps_per_epoch

    def __iter__(self) -> Iterator[Batch]:
        """Batches from where the feed stands. An older iterator of this feed ends with Conflict."""
        self._turn += 1
        return self._given(self._turn)

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch."""
        return self._batches.num_steps

    @property
    def num_dropped(self) -> int:
        """Samples at the end of each epoch's order that are not given: less than one batch."""
        return self._batches.num_dropped

    @property
    def step(self) -> int:
        """Steps given since the beginning, through all epochs and resumes."""
        return self._state.step

    def state_dict(self) -> dict[str, str | int | bool]:
        """Where the feed stands: before the next batch, whatever was read ahead. Under 1 KB."""
        return self._state.to_json()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Goes to a saved state; iterators made before end with Conflict.

        Raises:
            ConfigError: the state is of another version, seed, batch size or drop_last, or of none.
        """
        saved = FeedState.from_json(state)
        self._state.check_continues(saved)
        in_epoch = self._batches.step_given(saved.position)
        cut = in_epoch is None or saved.position % saved.batch_size or saved.epoch < 0
        if cut or saved.step != saved.epoch * self.steps_per_epoch + (in_epoch or 0):
            raise ConfigError("the state of the feed contradicts itself", "take an older one")
        self._state = saved
        self._turn += 1

    def samples(self, positions: Int64s, epoch: int = 0) -> Samples:
        """The samples at positions of an epoch's order, in the order asked for.

        They are read, not given: the state does not move and `consumed` is not told.

        Raises:
            ConfigError: a position is out of range.
            IntegrityError: a shard's bytes are changed.
            NotFound: a shard is missing.
        """
        source = self._source
        order = Order(source.segments, source.order_parameters, source.seed, epoch)
        reader = ShardReader(source, 2 * source.order_parameters.group_shards)
        with closing(reader):
            return reader.read(*order.locate(positions))

    def _given(self, turn: int) -> Iterator[Batch]:
        here = self._state
        if self._ended(here.epoch):
            _log.warning("feed=ended epochs=%s step=%d", self._epochs, here.step)
        stream = WindowStream(
            self._source,
            self._batches,
            rank=self._rank,
            ranks=self._ranks,
            epochs=self._epochs,
            prefetch=self._prefetch,
            wait_s=self._wait_s,
        ).read_from(Point(here.epoch, here.position))
        # Closing ends the reading ahead, also when the consumer breaks off.
        with closing(stream):
            cutter = Cutter(stream)
            while not self._ended(self._state.epoch):
                if self._turn != turn:
                    raise Conflict("another iteration of this feed has begun", "keep one iterator")
                state = self._state
                in_epoch = state.position // state.batch_size
                wanted = len(self._batches.positions(in_epoch, self._rank, self._ranks))
                taken = cutter.take(wanted)
                following = self._after(state)
                self._source.consumed(following)
                self._state = following
                yield Batch(
                    taken.input_ids,
                    taken.packed_boundaries,
                    taken.packed_masks,
                    step=state.step,
                    epoch=state.epoch,
                    position=state.position,
                )

    def _after(self, state: FeedState) -> FeedState:
        position = state.position + state.batch_size
        if position >= self._batches.num_used:
            return replace(state, epoch=state.epoch + 1, position=0, step=state.step + 1)
        return replace(state, position=position, step=state.step + 1)

    def _ended(self, epoch: int) -> bool:
        return self._epochs is not None and epoch >= self._epochs
