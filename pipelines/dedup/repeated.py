"""Taking out parts of texts that stand elsewhere too.

First the parts of all documents are tallied (`part_pairs`, then `pipelines.dedup.tally`);
then those that stand in too many are taken out of every one. Inside one document, the first
of equal parts can be left and the others taken out. What stays, stays byte for byte, as for
`pipelines.clean.lines`: between two lines that stay, a line feed stands in place of those
that left, and a blank line where there was one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.act import Effect, Places
from pipelines.clean.codepoints import text_bytes
from pipelines.clean.lines import BLANK, GONE, KEPT, Judged, write
from pipelines.clean.nfc import replaced
from pipelines.dedup.order import Ints
from pipelines.dedup.parts import Parts, parts_of
from pipelines.dedup.shingles import Hashes, Offsets
from pipelines.dedup.tally import Pairs
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.repeated import RepeatedSpec
from pipelines.transform import Transform

REMOVED = "repeated_parts_removed"
_REVISION = 1
_NO_HASHES = np.zeros(0, np.uint64)
# Beside the fixed texts, so that the unit, white space and both ends show in the behaviour.
_OWN_PROBE_TEXTS = (
    "A line of some length, first.\nAnother line of some length.\nA line of some length, first.",
    "Wrapped in one way\nas a paragraph.\n\nIt ends.\n\nWrapped in one\n way as a paragraph.\n\nE",
    "\u4e00\u4e8c\u4e09\u3002\n\n\n\u4e00\u4e8c\u4e09\u3002 \n\t\u4e00\u4e8c\u4e09\u3002",
)


class Edited(NamedTuple):
    """Texts without some parts.

    Attributes:
        places: int64, of the texts that change, ascending.
        texts: what they become.
        removed: int64, parts that leave each text.
    """

    places: Places
    texts: pa.LargeStringArray
    removed: Ints


def part_pairs(texts: pa.LargeStringArray, spec: RepeatedSpec) -> Pairs:
    """Which part that is long enough stands in which document, to be tallied.

    A document is known by all its parts, so copies of one count once.
    """
    parts = parts_of(texts, spec.unit)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts.hashes, dtype=np.uint64)])
    document = sums[parts.starts[1:]] - sums[parts.starts[:-1]]
    long = parts.lengths >= spec.min_chars
    return Pairs(parts.hashes[long], np.repeat(document, np.diff(parts.starts))[long]).tidy()


def among(hashes: Hashes, wanted: Hashes) -> NDArray[np.bool_]:
    """Whether each hash is one of others, which are ascending."""
    if not len(wanted):
        return np.zeros(len(hashes), np.bool_)
    at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
    return np.asarray(wanted[at] == hashes)


def without_repeated(
    texts: pa.LargeStringArray, spec: RepeatedSpec, repeated: Hashes = _NO_HASHES
) -> Edited:
    """The texts without repeated parts.

    Args:
        repeated: hashes of parts that are taken out wherever they stand, ascending.
    """
    parts = parts_of(texts, spec.unit)
    gone = among(parts.hashes, repeated)
    if spec.within:
        gone |= _stood_before(parts)
    gone &= parts.lengths >= spec.min_chars
    removed = _of_texts(gone, parts.starts)
    places = np.flatnonzero(removed)
    data, starts = text_bytes(texts)
    marks = np.where(parts.of_lines < 0, np.uint8(BLANK), np.uint8(KEPT))
    if len(gone):
        marks[gone[parts.of_lines] & (parts.of_lines >= 0)] = GONE
    judged = Judged(parts.line_starts, marks, removed, np.zeros_like(removed))
    out, ends = write(data, starts, places, judged)
    buffers = (pa.py_buffer(ends), pa.py_buffer(out))
    return Edited(places, pa.LargeStringArray.from_buffers(len(places), *buffers), removed)


class Repeated:
    """The act repeated: takes out what stands in too many documents, or stood before in one.

    Args:
        repeated: parts that stand in too many documents, ascending; none before the corpus
            was tallied.
    """

    name = "repeated"
    columns = (pa.field(REMOVED, pa.int64()),)

    def __init__(self, spec: RepeatedSpec, repeated: Hashes = _NO_HASHES) -> None:
        self._spec = spec
        self._repeated = repeated

    def transform(self) -> Transform:
        """What a build key knows of it; what is repeated in a corpus is no part."""
        return repeated_transform(self._spec)

    def apply(self, documents: pa.Table) -> Effect:
        """Changes the texts that hold repeated parts."""
        texts = documents["text"].combine_chunks()
        edited = without_repeated(texts, self._spec, self._repeated)
        return Effect(edited.places, edited.texts, {REMOVED: pa.array(edited.removed)})


def repeated_transform(spec: RepeatedSpec) -> Transform:
    """What a build key knows of taking parts out.

    The behaviour shows which parts there are and how they leave, half of them as repeated.
    """
    texts = pa.array([*PROBE_TEXTS, *_OWN_PROBE_TEXTS], pa.large_string())
    hashes, documents = part_pairs(texts, spec)
    edited = without_repeated(texts, spec, np.unique(hashes)[::2])
    outputs = [text.as_py().encode() for text in replaced(texts, edited.places, edited.texts)]
    outputs += [hashes.astype("<u8").tobytes(), documents.astype("<u8").tobytes()]
    parameters: dict[str, str | int | None] = {
        "unit": spec.unit,
        "min_chars": spec.min_chars,
        "within": int(spec.within),
    }
    return Transform(Repeated.name, _REVISION, parameters, behaviour_of(outputs))


def _stood_before(parts: Parts) -> NDArray[np.bool_]:
    """Whether an equal part stood before in the same text."""
    rows = np.repeat(np.arange(len(parts.starts) - 1), np.diff(parts.starts))
    # Stable, so the first of equal ones stays the first.
    order = np.lexsort((parts.hashes, rows))
    rows, hashes = rows[order], parts.hashes[order]
    before = np.zeros(len(order), np.bool_)
    before[order[1:]] = (rows[1:] == rows[:-1]) & (hashes[1:] == hashes[:-1])
    return before


def _of_texts(mask: NDArray[np.bool_], starts: Offsets) -> Ints:
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    return np.asarray(sums[starts[1:]] - sums[starts[:-1]])
