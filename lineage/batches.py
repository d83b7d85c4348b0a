"""How an epoch's positions are cut into global batches, and these among ranks (frozen)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lineage.errors import ConfigError
from lineage.permutation import Int64s


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of each epoch: step t of an epoch is given positions t * G to (t + 1) * G - 1.

    A rank is a data-parallel rank: tensor, pipeline and context replicas share one.

    Attributes:
        num_samples: of the epoch's order, 1 or more.
        global_batch: G, samples of a step over all ranks, 1 or more.
        drop_last: whether an epoch ends with its last full batch. Otherwise its last batch may be
            short, and is cut among ranks as evenly as can be: a rank may get nothing of it.

    Raises:
        ConfigError: G is below 1, or an epoch has no step.
    """

    num_samples: int
    global_batch: int
    drop_last: bool = True

    def __post_init__(self) -> None:
        if self.global_batch < 1:
            raise ConfigError(f"a global batch of {self.global_batch} samples", "1 or more")
        if self.num_steps < 1:
            raise ConfigError(
                f"an epoch of {self.num_samples} samples has no batch of {self.global_batch}",
                "take a smaller global batch, or drop_last=False",
            )

    @property
    def num_steps(self) -> int:
        """Steps of an epoch."""
        return self.steps_from(0)

    @property
    def num_used(self) -> int:
        """Samples that an epoch gives."""
        return self.stop_from(0)

    @property
    def num_dropped(self) -> int:
        """Samples at the end of the order that an epoch does not give."""
        return self.num_samples - self.num_used

    def steps_from(self, position: int) -> int:
        """Steps of an epoch that begins at a position: 0 where no batch is left."""
        left = max(self.num_samples - position, 0)
        return left // self.global_batch if self.drop_last else -(-left // self.global_batch)

    def stop_from(self, position: int) -> int:
        """The position behind the last one given, in an epoch that begins at a position."""
        return min(position + self.steps_from(position) * self.global_batch, self.num_samples)

    def positions(self, step: int, rank: int = 0, ranks: int = 1) -> range:
        """The positions that a rank is given in a step of the epoch.

        Raises:
            ConfigError: the step or the rank does not exist, or G is not a multiple of `ranks`.
        """
        self.check_rank(rank, ranks)
        if not 0 <= step < self.num_steps:
            raise ConfigError(f"step {step} is outside 0 to {self.num_steps - 1}")
        start = step * self.global_batch
        length = min(self.global_batch, self.num_used - start)
        return range(start + _cut(length, rank, ranks), start + _cut(length, rank + 1, ranks))

    def of_rank(self, start: int, stop: int, rank: int, ranks: int) -> Int64s:
        """Those of the positions start to stop - 1 that a rank is given, ascending, int64.

        Raises:
            ConfigError: as `positions`.
        """
        self.check_rank(rank, ranks)
        positions = np.arange(start, min(stop, self.num_used), dtype=np.int64)
        within = positions % self.global_batch
        per_rank = self.global_batch // ranks
        first, last = np.full_like(within, rank * per_rank), (rank + 1) * per_rank
        short = positions >= self.num_used - self.num_used % self.global_batch
        first[short] = _cut(self.num_used % self.global_batch, rank, ranks)
        end = np.where(short, _cut(self.num_used % self.global_batch, rank + 1, ranks), last)
        mine: Int64s = positions[(within >= first) & (within < end)]
        return mine

    def check_rank(self, rank: int, ranks: int) -> None:
        """Refuses a rank that is none, and ranks among which no batch can be cut.

        Raises:
            ConfigError: see above.
        """
        if not 0 <= rank < ranks:
            raise ConfigError(f"rank {rank} of {ranks} ranks", "ranks count from 0")
        if self.global_batch % ranks:
            raise ConfigError(
                f"a global batch of {self.global_batch} samples cannot be cut among {ranks} ranks",
                "take a multiple of the number of ranks",
            )

    def step_given(self, position: int) -> int | None:
        """The step of an epoch in which a position is given; None where it is dropped."""
        return position // self.global_batch if 0 <= position < self.num_used else None


def _cut(length: int, piece: int, pieces: int) -> int:
    """Where a piece begins when `length` things are cut evenly; the first ones hold one more."""
    size, larger = divmod(length, pieces)
    return piece * size + min(piece, larger)
