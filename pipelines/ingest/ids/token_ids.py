"""Documents that are token ids already, as readers of tokenized corpora hand them on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lineage.errors import ConfigError
from pipelines.ingest.chunk import HEAD_BYTES, ChunkBuilder, Place
from pipelines.tokens.notation import MAX_ID, noted

# Fewer ids tell nothing of their width.
_MIN_IDS = 16
# As long as a text may be.
MAX_DOCUMENT_BYTES = 64 << 20


def refuse_wider(data: bytes, dtype: str, source: str) -> None:
    """Stops where ids were written wider than they are read: every second one is then 0.

    Raises:
        ConfigError: they look like that.
    """
    ids: npt.NDArray[np.integer] = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
    filled = [np.count_nonzero(ids[first::2]) for first in (0, 1)]
    if len(ids) >= _MIN_IDS and min(filled) == 0 and max(filled) >= len(ids) * 3 // 8:
        raise ConfigError(
            f"source {source}: read as {dtype}, every second token is 0",
            "write the type that its tokens have: encoding = one of twice the width",
        )


def add_document(builder: ChunkBuilder, data: bytes, dtype: str, place: Place) -> None:
    """Adds one document, or refuses it.

    Args:
        data: its ids, little-endian, whole ones.
        dtype: of an integer, such as ``uint16``.
    """
    ids: npt.NDArray[np.integer] = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
    low, high = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
    if low < 0 or high > MAX_ID:
        detail = f"token {low if low < 0 else high}: read as {dtype}"
        builder.refuse("token_out_of_range", detail, data[:HEAD_BYTES], place)
    else:
        builder.record(noted(ids), None, place)
