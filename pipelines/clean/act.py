"""An act: one transform as cleaning runs it, over a table of documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.schema import TOLD
from pipelines.transform import Transform

Places = NDArray[np.int64]

# What an act is shown of each document, beside the signals of the acts before it.
SHOWN = ("text", *TOLD, "source")
# A sample of what was found in texts, masked.
FINDINGS = pa.schema(
    [
        pa.field("document_id", pa.binary(32), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("masked", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What an act does to documents.

    Attributes:
        places: rows whose text it changes, ascending.
        texts: what they become.
        signals: columns by name, a value a document: int64, or string for a word.
        findings: FINDINGS, or None.
        bands: band keys of each text (uint64, a column a band), or None.
    """

    places: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    texts: pa.LargeStringArray = field(default_factory=lambda: pa.array([], pa.large_string()))
    signals: Mapping[str, pa.Array] = field(default_factory=dict)
    findings: pa.Table | None = None
    bands: NDArray[np.uint64] | None = None


class Act(Protocol):
    """One transform of cleaning. It looks at one document at a time: rows are independent."""

    @property
    def name(self) -> str:
        """Stands in `edits` of the documents that it changes."""

    @property
    def columns(self) -> tuple[pa.Field, ...]:
        """The signals it gives, in order; none when it only edits."""

    def transform(self) -> Transform:
        """What a build key knows of it; thresholds of rules are no part."""

    def apply(self, documents: pa.Table) -> Effect:
        """Measures and edits.

        Args:
            documents: the columns `SHOWN` and ``document_id``, one chunk each, and the
                signals of earlier acts.
        """
