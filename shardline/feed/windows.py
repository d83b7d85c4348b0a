"""The samples of one rank, window by window, the next one read while one is consumed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from lineage.batches import Batches
from lineage.order import Order
from shardline.feed.ahead import Ahead
from shardline.feed.reader import ShardReader
from shardline.feed.samples import Samples
from shardline.feed.source import FeedSource

_CLOSE_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Point:
    """A position in an epoch."""

    epoch: int
    position: int


@dataclass(frozen=True, slots=True)
class _Loaded:
    samples: Samples
    following: Point | None


class WindowStream:
    """Reads what one rank is given from a point on, in order.

    Args:
        source: the version.
        batches: how its epochs are cut.
        rank: of `ranks` data-parallel ranks.
        epochs: where to stop; None never does.
        prefetch: whether a thread reads the next window meanwhile.
        wait_s: how long to wait for a window.
    """

    def __init__(
        self,
        source: FeedSource,
        batches: Batches,
        *,
        rank: int,
        ranks: int,
        epochs: int | None,
        prefetch: bool,
        wait_s: float,
    ) -> None:
        self._source, self._batches = source, batches
        self._rank, self._ranks, self._epochs = rank, ranks, epochs
        self._prefetch, self._wait_s = prefetch, wait_s
        # Two groups: the windows before and behind the border between two.
        self._reader = ShardReader(source, 2 * source.order_parameters.group_shards)
        self._order: tuple[int, Order] | None = None

    def read_from(self, start: Point) -> Generator[Samples]:
        """The rank's samples from a point on; a window may hold none.

        At most two windows are in memory, as long as the consumer keeps none.

        Raises:
            ShardlineError: what reading a shard raised, in the consumer's thread.
            Unavailable: a window was not read in time.
        """
        ahead = self._begin(start)
        try:
            while ahead is not None:
                loaded = ahead.result(self._wait_s)
                samples, ahead = loaded.samples, self._begin(loaded.following)
                del loaded
                yield samples
                del samples
        finally:
            # A reader that a stuck thread still uses is left to that thread.
            if ahead is None or ahead.ended(_CLOSE_WAIT_S):
                self._reader.close()

    def _begin(self, point: Point | None) -> Ahead[_Loaded] | None:
        if point is not None and point.position >= self._batches.num_used:
            point = Point(point.epoch + 1, 0)
        if point is None or (self._epochs is not None and point.epoch >= self._epochs):
            return None
        here = point

        def what() -> str:
            return f"position {here.position} of epoch {here.epoch}, shard {self._reader.now}"

        return Ahead(lambda: self._load(here), what, background=self._prefetch)

    def _load(self, point: Point) -> _Loaded:
        window = self._order_of(point.epoch).window(point.position)
        mine = self._batches.of_rank(point.position, window.stop, self._rank, self._ranks)
        index = mine - window.start
        samples = self._reader.read(window.shards[index], window.rows[index])
        return _Loaded(samples, Point(point.epoch, window.stop))

    def _order_of(self, epoch: int) -> Order:
        if self._order is None or self._order[0] != epoch:
            source = self._source
            order = Order(source.segments, source.order_parameters, source.seed, epoch)
            self._order = (epoch, order)
        return self._order[1]


class Cutter:
    """Cuts the samples of consecutive windows into batches.

    Args:
        windows: each dropped as soon as its last sample is taken.
    """

    def __init__(self, windows: Iterator[Samples]) -> None:
        self._windows = windows
        self._rest: Samples | None = None

    def take(self, count: int) -> Samples:
        """The next samples: a part of a window, or a copy where they lie in several.

        Args:
            count: 0 or more, and never more than the windows still hold.
        """
        parts: list[Samples] = []
        while self._rest is None or len(self._rest) < count:
            if self._rest is not None and len(self._rest):
                # Copied, so that the window's buffer is free before the next is waited for.
                parts.append(Samples.joined([self._rest]))
                count -= len(self._rest)
            self._rest = None
            self._rest = next(self._windows)
        taken = self._rest.part(0, count)
        self._rest = self._rest.part(count, len(self._rest))
        return Samples.joined([*parts, taken]) if parts else taken
