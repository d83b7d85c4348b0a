"""Makes compiled kernels ready, once, in the process that a build's workers are forked from.

Importing this module calls every kernel on a few words: the first call of each in a process
loads its compiled code, which takes seconds of a core in all, and a fork inherits it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flows.build import near, pack, prepare, tokenize
from pipelines.clean.nfc import Nfc
from pipelines.dedup.choose import choose
from pipelines.dedup.shingles import shingles
from pipelines.ingest.pages.shape import shape_of
from pipelines.shards.gather import gather
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.measured import Measured
from pipelines.signals.segments import Segmenter
from pipelines.spec.duplicates import DuplicatesSpec

__all__ = ["near", "pack", "prepare", "tokenize"]


def _warm() -> None:
    texts = pa.array(["a few words, a few words", "e\u0301"], pa.large_string())
    documents = pa.table({"text": texts})
    Nfc().apply(documents)
    Measured(SIGNALS, DuplicatesSpec(near=True)).apply(documents)
    numbers = np.arange(2)
    choose(shingles(Segmenter().segments_of(texts), 2), numbers, numbers, 1, containment=False)
    shape_of(b"<p>a few words</p>")
    gather([pa.array([b"\0\0"], pa.large_binary())], np.zeros((1, 2), np.int64))


_warm()
