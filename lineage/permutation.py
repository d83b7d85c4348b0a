"""A keyed permutation of 0..n-1 that is computed, never stored (frozen, "feistel-1").

A balanced Feistel network over 2h bits, with cycle walking:

- ``bits`` is the bit length of n - 1; ``h = max(3, ceil(bits / 2))``; ``m = 2**h - 1``.
  The floor of 3 gives tiny n enough room to be shuffled well.
- Round key i (0 to 7) is the first 8 bytes, read as u64 little-endian, of
  ``SHA-256(frame(b"shardline/permutation/v1", key, u32 little-endian i))``.
- ``x`` is split into ``left = x >> h`` and ``right = x & m``. Eight times, for i = 0 to 7:
  ``left, right = right, left ^ (mix64(right + key_i mod 2**64) & m)``.
  The value is then ``left << h | right``.
- ``mix64`` is splitmix64's finaliser, modulo 2**64: ``z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9``,
  ``z = (z ^ z >> 27) * 0x94d049bb133111eb``, ``z ^ z >> 31``.
- A value of n or more goes through the network again, until it is below n. The network has at
  most max(64, 4n) values, so four passes are expected at most for n of 16 and more.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from functools import partial
from typing import overload

import numpy as np
import numpy.typing as npt

from lineage.digest import frame

Int64s = npt.NDArray[np.int64]
_UInt64s = npt.NDArray[np.uint64]
_Step = Callable[[_UInt64s], _UInt64s]

KEY_BYTES = 32
MOST = 2**62
_ROUNDS = 8
_LEAST_HALF_BITS = 3
_TABLE_HALF_BITS = 4
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


class Permutation:
    """A permutation of 0..n-1 under a key, with its inverse.

    Args:
        n: 1 to 2**62.
        key: 32 bytes.

    Raises:
        ValueError: n or the key's length is out of range.
    """

    def __init__(self, n: int, key: bytes) -> None:
        if not 1 <= n <= MOST:
            raise ValueError(f"a permutation has 1 to 2**62 members, not {n}")
        if len(key) != KEY_BYTES:
            raise ValueError(f"a permutation's key has {KEY_BYTES} bytes")
        half = max(_LEAST_HALF_BITS, ((n - 1).bit_length() + 1) // 2)
        self._n = n
        self._half = np.uint64(half)
        self._mask = np.uint64(2**half - 1)
        self._keys = [_round_key(key, i) for i in range(_ROUNDS)]

    def __len__(self) -> int:
        return self._n

    @overload
    def forward(self, values: int) -> int: ...
    @overload
    def forward(self, values: Int64s) -> Int64s: ...
    def forward(self, values: int | Int64s) -> int | Int64s:
        """The members that stand at these places; same shape, int64, 0 to n - 1.

        Raises:
            ValueError: a place is outside 0..n-1.
        """
        return self._walked(values, self._keys, backwards=False)

    @overload
    def inverse(self, values: int) -> int: ...
    @overload
    def inverse(self, values: Int64s) -> Int64s: ...
    def inverse(self, values: int | Int64s) -> int | Int64s:
        """The places at which these members stand: undoes `forward`.

        Raises:
            ValueError: a member is outside 0..n-1.
        """
        return self._walked(values, self._keys[::-1], backwards=True)

    def _walked(
        self, values: int | Int64s, keys: list[np.uint64], *, backwards: bool
    ) -> int | Int64s:
        given = np.asarray(values, dtype=np.int64).reshape(-1)
        if given.size and (given.min() < 0 or given.max() >= self._n):
            raise ValueError(f"a value is outside 0..{self._n - 1}")
        step: _Step = partial(self._network, keys=keys, backwards=backwards)
        if self._half <= _TABLE_HALF_BITS:
            # Few values and long walks: the whole network as a table costs less than two passes.
            step = step(np.arange(1 << 2 * int(self._half), dtype=np.uint64)).take
        state: _UInt64s = step(given.astype(np.uint64))
        limit = np.uint64(self._n)
        walking = np.flatnonzero(state >= limit)
        while walking.size:
            state[walking] = step(state[walking])
            walking = walking[state[walking] >= limit]
        result: Int64s = state.astype(np.int64)
        return int(result[0]) if isinstance(values, int) else result.reshape(np.shape(values))

    def _network(self, values: _UInt64s, keys: list[np.uint64], backwards: bool) -> _UInt64s:
        left, right = values >> self._half, values & self._mask
        # The network run backwards is the same network with its halves exchanged.
        if backwards:
            left, right = right, left
        for key in keys:
            left, right = right, left ^ (_mix64(right + key) & self._mask)
        if backwards:
            left, right = right, left
        return (left << self._half) | right


def _round_key(key: bytes, index: int) -> np.uint64:
    digest = hashlib.sha256(frame(b"shardline/permutation/v1", key, struct.pack("<I", index)))
    return np.uint64(int.from_bytes(digest.digest()[:8], "little"))


def _mix64(values: _UInt64s) -> _UInt64s:
    values = (values ^ (values >> _SHIFT_1)) * _MIX_1
    values = (values ^ (values >> _SHIFT_2)) * _MIX_2
    return values ^ (values >> _SHIFT_3)
