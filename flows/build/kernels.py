"""Makes compiled kernels ready, once, in the process that a build's workers are forked from.

Importing this module calls one kernel: the first call in a process loads numba's
extensions, which takes seconds of a core, and a fork inherits them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flows.build import near, pack, prepare, tokenize
from pipelines.shards.gather import gather

__all__ = ["near", "pack", "prepare", "tokenize"]

gather([pa.array([b"\0\0"], pa.large_binary())], np.zeros((1, 2), np.int64))
