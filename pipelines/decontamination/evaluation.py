"""What became of evaluation items, and how many are found again: told by every build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from pipelines.decontamination.index import EvalCounts
from pipelines.decontamination.recall import Recall

# One row a number: of so many `of`, `count` are `name`. Kinds are items, ngrams and recall.
EVALUATION = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("of", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What decontamination says of itself.

    Attributes:
        counts: what became of the items.
        recall: by mutation, how many of the items that were put into documents are found.
    """

    counts: EvalCounts
    recall: Mapping[str, Recall]

    def table(self) -> pa.Table:
        """The numbers as `EVALUATION`: the items, their n-grams, the mutations in order."""
        counts = self.counts
        every = counts.ngrams + counts.common_ngrams
        rows = [
            *(("items", name, getattr(counts, name), counts.items) for name in _FATES),
            ("ngrams", "indexed", counts.ngrams, every),
            ("ngrams", "common", counts.common_ngrams, every),
            *(("recall", name, item.found, item.injected) for name, item in self.recall.items()),
        ]
        columns = zip(*rows, strict=True)
        return pa.table([list(column) for column in columns], schema=EVALUATION)

    def to_json(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        recall = {name: asdict(item) for name, item in self.recall.items()}
        return {"items": asdict(self.counts), "recall": recall}

    def lines(self) -> Iterator[tuple[str, str]]:
        """The numbers for people, each with its name."""
        counts = self.counts
        kinds = (
            (counts.too_short, "too short"),
            (counts.common, "too common"),
            (counts.repeated, "stand twice"),
        )
        left = "".join(f", {number:,} {word}" for number, word in kinds if number)
        yield "evaluation", f"{counts.indexed:,} of {counts.items:,} items looked for{left}"
        injected = max((item.injected for item in self.recall.values()), default=0)
        if not injected:
            yield "recall", "not measured: no document was kept that an item could be put into"
            return
        found = ", ".join(
            f"{item.found:,} {name.replace('_', ' ')}" for name, item in self.recall.items()
        )
        yield "recall", f"of {injected:,} items put into documents: {found}"


_FATES = ("indexed", "repeated", "too_short", "common")
