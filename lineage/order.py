"""The order in which a run is given samples (frozen, "feistel-1").

A pure function of (order id of each segment, samples of each shard, parameters, seed, epoch). It
is written so that it can be implemented again; tests/vectors/order.json holds vectors. Integers in
keys are u64 little-endian; see lineage/digest.py for `frame`, lineage/permutation.py for the rest.

*Shards* are numbered 0 to S - 1 over all segments, segment by segment; an empty shard counts too.
*Even cuts* of n things into pieces of at most k: c = ceil(n / k) pieces of n // c things, and one
more in each of the first n % c pieces. So no piece is a small rest; see ADR 0006 (docs/adr).

    key = SHA-256(frame(b"shardline/order/v1", algorithm, group_shards, block_samples,
                        window_samples, seed, epoch, order id of segment 0, of segment 1, ...))
    key(level, index) = SHA-256(frame(b"shardline/order/level/v1", key, level, index))

1. *Shards.* Place i holds shard ``Permutation(S, key(1, 0)).forward(i)``. The S places are cut
   evenly into *groups* of at most `group_shards`, numbered from 0.
2. *Blocks.* In a group, each shard, in the order of its places, is cut into *blocks* of
   `block_samples` consecutive rows (the last of a shard may be short, an empty shard has none),
   numbered 0 to B - 1 through the group. Place j of group g holds block
   ``Permutation(B, key(2, g)).forward(j)``. The rows of the blocks, one after another, are the
   group's sequence; the groups' sequences, one after another, count the *slots* of the epoch.
3. *Samples.* Each group's sequence is cut evenly into *windows* of at most `window_samples`. In a
   window of w slots from slot a on, position a + i is given the sample in slot
   ``a + Permutation(w, key(3, a)).forward(i)``.

Positions are 0-based. Nothing but the shards' order is computed at the start; a group's blocks are
computed when needed and kept for two groups.
"""

from __future__ import annotations

import hashlib
import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from lineage.digest import Digest, frame
from lineage.errors import ConfigError
from lineage.permutation import Int64s, Permutation

ALGORITHM = "feistel-1"
_GROUPS_KEPT = 2
_SHARDS, _BLOCKS, _SAMPLES = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderParameters:
    """How coarse each level of the order is; part of the content manifest.

    Attributes:
        algorithm: the name of the algorithm, ``feistel-1``.
        group_shards: shards that are mixed with each other, so read at the same time.
        block_samples: consecutive samples of a shard that move together: a row group.
        window_samples: samples that are shuffled singly, so held in memory at the same time.

    Raises:
        ConfigError: an unknown algorithm, or a number outside 1 to 2**32.
    """

    algorithm: str = ALGORITHM
    group_shards: int = 16
    block_samples: int
    window_samples: int = 4096

    def __post_init__(self) -> None:
        if self.algorithm != ALGORITHM:
            raise ConfigError(
                f"order algorithm {self.algorithm!r} is unknown", f"this version has {ALGORITHM}"
            )
        for name in ("group_shards", "block_samples", "window_samples"):
            if not 1 <= getattr(self, name) <= 2**32:
                raise ConfigError(f"the order's {name} is {getattr(self, name)}", "1 to 2**32")

    def to_json(self) -> dict[str, str | int]:
        """The members of the manifest's `order` object."""
        return {
            "algorithm": self.algorithm,
            "group_shards": self.group_shards,
            "block_samples": self.block_samples,
            "window_samples": self.window_samples,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, str | int]) -> OrderParameters:
        """Reads `to_json`, also after canonical JSON, where integers are decimal strings.

        Raises:
            ConfigError: a member is missing, or is no order of this format.
        """
        try:
            return cls(
                algorithm=str(value["algorithm"]),
                group_shards=int(value["group_shards"]),
                block_samples=int(value["block_samples"]),
                window_samples=int(value["window_samples"]),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise ConfigError(f"the manifest's order cannot be read: {error}") from None


@dataclass(frozen=True, slots=True)
class OrderSegment:
    """What the order needs to know of a segment.

    Attributes:
        order_id: stays the same through erasures, so that holes move no sample.
        shard_samples: samples of each shard, holes and fill included.
    """

    order_id: Digest
    shard_samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive positions that are shuffled singly.

    Attributes:
        start: first position.
        stop: the position after the last.
        shards: int64 (stop - start,): the shard that each position is given a sample of.
        rows: int64 (stop - start,): the row in that shard.
    """

    start: int
    stop: int
    shards: Int64s
    rows: Int64s


class _Group:
    """The blocks of one group in their permuted order, and its windows; slots count from 0."""

    def __init__(self, shards: Int64s, samples: Int64s, parameters: OrderParameters, key: bytes):
        self._shards, self._block = shards, parameters.block_samples
        blocks_of_shard = -(-samples // self._block)
        self._first_block = _starts(blocks_of_shard)
        num_blocks = int(self._first_block[-1])
        places = np.arange(num_blocks, dtype=np.int64)
        held = Permutation(max(num_blocks, 1), key).forward(places)
        self._place_of_block = np.empty_like(held)
        self._place_of_block[held] = places
        # The place of each block's shard in the group, and the block's first row in the shard.
        self._shard_at = np.repeat(np.arange(len(shards)), blocks_of_shard)[held]
        self._row_at = (held - self._first_block[self._shard_at]) * self._block
        lengths = np.minimum(self._block, samples[self._shard_at] - self._row_at)
        self._slot_at = _starts(lengths)
        self.windows = even_cuts(int(self._slot_at[-1]), parameters.window_samples)

    def samples_at(self, slots: Int64s) -> tuple[Int64s, Int64s]:
        """The shards and rows in these slots."""
        place = np.searchsorted(self._slot_at, slots, side="right") - 1
        rows = self._row_at[place] + slots - self._slot_at[place]
        return self._shards[self._shard_at[place]], rows

    def slots_of(self, shard_place: int, rows: Int64s) -> Int64s:
        """The slots of rows of the shard at this place of the group."""
        block = self._first_block[shard_place] + rows // self._block
        slots: Int64s = self._slot_at[self._place_of_block[block]] + rows % self._block
        return slots


class Order:
    """The order of one epoch, and its inverse.

    Not safe for several threads at once: it keeps the last two groups.

    Args:
        segments: those of the version, in its order.
        parameters: those of the version's manifest.
        seed: 0 to 2**64 - 1.
        epoch: 0 and up.

    Raises:
        ConfigError: the seed, the epoch or a shard's number of samples is out of range.
    """

    def __init__(
        self, segments: Sequence[OrderSegment], parameters: OrderParameters, seed: int, epoch: int
    ) -> None:
        if not (0 <= seed < 2**64 and 0 <= epoch < 2**64):
            raise ConfigError(f"seed {seed} or epoch {epoch} is outside 0 to 2**64 - 1")
        self._parameters = parameters
        self._key = _order_key([s.order_id for s in segments], parameters, seed, epoch)
        every = chain.from_iterable(s.shard_samples for s in segments)
        self._samples = np.fromiter(every, dtype=np.int64)
        if self._samples.size and self._samples.min() < 0:
            raise ConfigError("a shard has a negative number of samples")
        places = np.arange(len(self._samples), dtype=np.int64)
        self._shard_at = self._permutation(_SHARDS, 0, len(places)).forward(places)
        self._place_of = np.empty_like(self._shard_at)
        self._place_of[self._shard_at] = places
        self._cuts = even_cuts(len(places), parameters.group_shards)
        # The first position of each group, and behind the last the number of samples.
        self._group_at = _starts(self._samples[self._shard_at])[self._cuts]
        self._groups: OrderedDict[int, _Group] = OrderedDict()

    @cached_property
    def num_samples(self) -> int:
        """Samples of the epoch, before batches are cut."""
        return int(self._group_at[-1])

    @property
    def num_shards(self) -> int:
        """Shards of all segments."""
        return len(self._samples)

    def locate(self, positions: Int64s) -> tuple[Int64s, Int64s]:
        """Which samples stand at positions.

        Args:
            positions: int64 (n,), each 0 to num_samples - 1, in any order.

        Returns:
            Shards and rows, int64 (n,) each.

        Raises:
            ConfigError: a position is out of range.
        """
        positions = np.asarray(positions, dtype=np.int64)
        _check_range("position", positions, self.num_samples)
        shards, rows = np.empty_like(positions), np.empty_like(positions)
        for number, members in _by_value(self._group_of_slot(positions)):
            group, base = self._group(number), int(self._group_at[number])
            slots = self._permuted(group, base, positions[members] - base, inverse=False)
            shards[members], rows[members] = group.samples_at(slots)
        return shards, rows

    def positions(self, shard: int, rows: Int64s) -> Int64s:
        """Where samples of a shard stand: the inverse of `locate`.

        Args:
            shard: 0 to num_shards - 1.
            rows: int64 (n,), rows of that shard, in any order.

        Returns:
            Positions, int64 (n,).

        Raises:
            ConfigError: the shard or a row is out of range.
        """
        _check_range("shard", np.array([shard], dtype=np.int64), self.num_shards)
        rows = np.asarray(rows, dtype=np.int64)
        _check_range(f"row of shard {shard}", rows, int(self._samples[shard]))
        place = int(self._place_of[shard])
        number = int(np.searchsorted(self._cuts, place, side="right")) - 1
        group, base = self._group(number), int(self._group_at[number])
        slots = group.slots_of(place - int(self._cuts[number]), rows)
        return base + self._permuted(group, base, slots, inverse=True)

    def window(self, position: int) -> Window:
        """The window that a position stands in.

        Raises:
            ConfigError: the position is out of range.
        """
        where = np.array([position], dtype=np.int64)
        _check_range("position", where, self.num_samples)
        number = int(self._group_of_slot(where)[0])
        base, cuts = int(self._group_at[number]), self._group(number).windows
        index = int(np.searchsorted(cuts, position - base, side="right"))
        start, stop = base + int(cuts[index - 1]), base + int(cuts[index])
        shards, rows = self.locate(np.arange(start, stop, dtype=np.int64))
        return Window(start, stop, shards, rows)

    def _permuted(self, group: _Group, base: int, slots: Int64s, *, inverse: bool) -> Int64s:
        """Level 3 within a group, both ways; `base` is the group's first slot."""
        result = np.empty_like(slots)
        windows = np.searchsorted(group.windows, slots, side="right") - 1
        for index, members in _by_value(windows):
            start, stop = int(group.windows[index]), int(group.windows[index + 1])
            permutation = self._permutation(_SAMPLES, base + start, stop - start)
            step = permutation.inverse if inverse else permutation.forward
            result[members] = start + step(slots[members] - start)
        return result

    def _group_of_slot(self, slots: Int64s) -> Int64s:
        return np.searchsorted(self._group_at, slots, side="right") - 1

    def _group(self, number: int) -> _Group:
        group = self._groups.pop(number, None)
        if group is None:
            shards = self._shard_at[self._cuts[number] : self._cuts[number + 1]]
            key = _level_key(self._key, _BLOCKS, number)
            group = _Group(shards, self._samples[shards], self._parameters, key)
        self._groups[number] = group
        if len(self._groups) > _GROUPS_KEPT:
            self._groups.popitem(last=False)
        return group

    def _permutation(self, level: int, index: int, n: int) -> Permutation:
        return Permutation(max(n, 1), _level_key(self._key, level, index))


def even_cuts(n: int, most: int) -> Int64s:
    """Cuts n things into the fewest pieces of at most `most`, as equal as they can be.

    Returns:
        int64 (pieces + 1,): the first thing of each piece, and n behind the last.
    """
    pieces = -(-n // most)
    index = np.arange(pieces + 1, dtype=np.int64)
    size, larger = divmod(n, max(pieces, 1))
    return index * size + np.minimum(index, larger)


def _order_key(ids: list[Digest], parameters: OrderParameters, seed: int, epoch: int) -> bytes:
    numbers = (parameters.group_shards, parameters.block_samples, parameters.window_samples)
    parts = (struct.pack("<Q", number) for number in (*numbers, seed, epoch))
    algorithm = parameters.algorithm.encode()
    framed = frame(b"shardline/order/v1", algorithm, *parts, *(order_id.raw for order_id in ids))
    return hashlib.sha256(framed).digest()


def _level_key(key: bytes, level: int, index: int) -> bytes:
    parts = struct.pack("<Q", level), struct.pack("<Q", index)
    return hashlib.sha256(frame(b"shardline/order/level/v1", key, *parts)).digest()


def _starts(lengths: Int64s) -> Int64s:
    """Where things of these lengths begin when laid in a row, and the sum behind the last."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _by_value(values: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each value that occurs, with the indexes at which it stands."""
    if not values.size:
        return
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(np.diff(values[order])) + 1
    for members in np.split(order, ends):
        yield int(values[members[0]]), members


def _check_range(noun: str, values: Int64s, limit: int) -> None:
    if values.size and (int(values.min()) < 0 or int(values.max()) >= limit):
        raise ConfigError(f"a {noun} is outside 0 to {limit - 1}")
