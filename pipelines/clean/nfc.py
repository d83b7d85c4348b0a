"""The act nfc: Unicode normalization form C."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.clean.act import Effect
from pipelines.clean.codepoints import maybe_not_nfc
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.transform import Transform

_REVISION = 1


class Nfc:
    """Normalizes texts to NFC."""

    name = "nfc"
    columns: tuple[pa.Field, ...] = ()

    def transform(self) -> Transform:
        """What a build key knows of it."""
        texts = pa.array(PROBE_TEXTS, pa.large_string())
        outputs = (text.as_py().encode() for text in replaced(texts, *to_nfc(texts)))
        return Transform(self.name, _REVISION, {"form": "NFC"}, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Changes the texts that are not in NFC."""
        return Effect(*to_nfc(documents["text"].combine_chunks()))


def to_nfc(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], pa.LargeStringArray]:
    """The texts that normalizing changes: their places, and what they become."""
    places = maybe_not_nfc(texts)
    before = texts.take(pa.array(places))
    after = pc.utf8_normalize(before, form="NFC")
    changed = np.asarray(pc.not_equal(before, after))
    return places[changed], after.filter(pa.array(changed))


def replaced(
    texts: pa.LargeStringArray, places: NDArray[np.int64], others: pa.LargeStringArray
) -> pa.LargeStringArray:
    """The texts with some replaced, or the same array where there are none."""
    if len(places) == 0:
        return texts
    order = np.arange(len(texts))
    order[places] = len(texts) + np.arange(len(places))
    return pa.concat_arrays([texts, others]).take(pa.array(order))
