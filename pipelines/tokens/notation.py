"""Token ids of an imported corpus on their way through stages that carry texts.

Each id is one code point, so that a document of n tokens has n characters: id + 1, and
above the surrogates, which no text may hold, 0x800 more. Nobody reads it; what is
published are the ids.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.clean.codepoints import num_chars
from pipelines.tokens.buffers import Offsets, views_of

_SURROGATES, _NUM_SURROGATES = 0xD800, 0x800
# The largest id that a code point is left for.
MAX_ID = 0x10FFFF - _NUM_SURROGATES - 1


def noted(ids: npt.NDArray[np.integer]) -> bytes:
    """The ids of one document, 0 to `MAX_ID`, as UTF-8."""
    codes = ids.astype("<u4") + np.uint32(1)
    codes[codes >= _SURROGATES] += np.uint32(_NUM_SURROGATES)
    return codes.tobytes().decode("utf-32-le").encode("utf-8")


def read_notes(texts: pa.LargeStringArray) -> tuple[npt.NDArray[np.uint32], Offsets]:
    """The ids of all documents in a row, and the n + 1 ends of the documents among them."""
    offsets, data = views_of(texts)
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(num_chars(texts), out=ends[1:])
    whole = data[offsets[0] : offsets[-1]].tobytes().decode("utf-8").encode("utf-32-le")
    codes = np.frombuffer(whole, "<u4").copy()
    codes[codes >= _SURROGATES] -= np.uint32(_NUM_SURROGATES)
    return codes - np.uint32(1), ends
