"""What the feed needs of a run: an order, and shards that open."""

from __future__ import annotations

from typing import Protocol

import pyarrow.parquet as pq

from lineage.digest import Digest
from lineage.order import OrderParameters, OrderSegment
from shardline.feed.state import FeedState


class FeedSource(Protocol):
    """A version that a run may read.

    Shards are numbered from 0 over all segments, in the order of the version. `open_shard`,
    `restore_shard` and `shard_name` are called by one thread at a time for each iterator, but not
    always by the same thread, and an iterator and `ShardFeed.samples` may call at the same time.
    """

    @property
    def version(self) -> Digest:
        """The digest of the version's content manifest."""

    @property
    def segments(self) -> tuple[OrderSegment, ...]:
        """The segments, in the order of the version."""

    @property
    def order_parameters(self) -> OrderParameters:
        """Those of the content manifest."""

    @property
    def sample_tokens(self) -> int:
        """Tokens in a sample."""

    @property
    def dtype(self) -> str:
        """The dtype of the stored ids: ``uint8``, ``uint16`` or ``uint32``."""

    @property
    def seed(self) -> int:
        """The order's seed, 0 to 2**64 - 1; chosen by the run, the same on every rank."""

    def shard_name(self, shard: int) -> str:
        """What to call a shard in messages. Never fails."""

    def open_shard(self, shard: int) -> pq.ParquetFile:
        """Opens a shard with its key; the feed closes it.

        It fetches what is not on hot from cold, verified. Its waits have a bound.

        Raises:
            ShardlineError: of any kind; the feed adds the shard's name.
            FileNotFoundError: the feed makes this NotFound.
        """

    def restore_shard(self, shard: int) -> bool:
        """Called once when a shard is missing or does not open or decode.

        Fetches it again from another tier, verified, drops the bad copy, and says whether
        `open_shard` now gives another copy. False makes the feed stop with the shard's name.
        """

    def consumed(self, state: FeedState) -> None:
        """Told before each batch is handed out: all before this state counts as given.

        Called by the consumer's thread. What it raises reaches the consumer, and the batch is not
        handed out.
        """
