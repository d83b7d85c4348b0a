"""Buckets of a segment (frozen, docs/formats.md section 6): each is packed alone, into one shard.

Buckets cut the range of shuffle keys into equal parts, so that the buckets in a row,
each sorted by key, are all documents sorted by key.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# The product of half a key and the number of buckets stays within 64 bits.
MAX_BUCKETS = 2**31


def num_buckets(total_tokens: int, shard_tokens: int) -> int:
    """The buckets of a segment: so many that one holds about `shard_tokens`; never none.

    Raises:
        ValueError: `shard_tokens` is not positive, or there would be over 2**31 buckets.
    """
    if shard_tokens < 1:
        raise ValueError("a shard holds one token or more")
    count = max(1, -(-total_tokens // shard_tokens))
    if count > MAX_BUCKETS:
        raise ValueError(f"{count} buckets: choose larger shards")
    return count


def bucket_of(shuffle_keys: npt.NDArray[np.uint8], buckets: int) -> npt.NDArray[np.int64]:
    """The bucket of each key: floor(x * buckets / 2**64), x its first 8 bytes, big-endian.

    Args:
        shuffle_keys: uint8 of shape (n, 32).
        buckets: 1 to 2**31.

    Returns:
        int64 of shape (n,), 0 to buckets - 1.

    Raises:
        ValueError: another shape, or `buckets` out of range.
    """
    if shuffle_keys.ndim != 2 or shuffle_keys.shape[1] != 32:
        raise ValueError(f"shuffle keys of shape {shuffle_keys.shape}, not (n, 32)")
    if not 1 <= buckets <= MAX_BUCKETS:
        raise ValueError(f"{buckets} buckets: 1 to 2**31 are possible")
    first = np.ascontiguousarray(shuffle_keys[:, :8]).view(">u8")[:, 0].astype(np.uint64)
    # Two halves, because the whole product needs 96 bits; a float would round.
    low = (first & np.uint64(0xFFFFFFFF)) * np.uint64(buckets) >> np.uint64(32)
    high = (first >> np.uint64(32)) * np.uint64(buckets)
    return ((high + low) >> np.uint64(32)).astype(np.int64)


def bucket_starts(buckets: int) -> npt.NDArray[np.uint64]:
    """The smallest first eight bytes of a key in each bucket: those of `bucket_of`, at once.

    Raises:
        ValueError: `buckets` out of range.
    """
    if not 1 <= buckets <= MAX_BUCKETS:
        raise ValueError(f"{buckets} buckets: 1 to 2**31 are possible")
    return np.array([-(-(number << 64) // buckets) for number in range(buckets)], np.uint64)
