"""The act decontamination: how much of an evaluation item each document holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from lineage.errors import ConfigError
from pipelines.clean.act import Effect
from pipelines.decontamination.grams import SALTS, grams
from pipelines.decontamination.index import EvalCounts, EvalIndex
from pipelines.decontamination.items import load_items
from pipelines.decontamination.measure import measure
from pipelines.decontamination.recall import Recall, measure_recall
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.spec.decontamination import DecontaminationSpec
from pipelines.transform import Transform

_REVISION = 1


class Decontamination:
    """Measures ``eval_coverage``, ``eval_ngrams`` and ``eval_item``, and edits nothing.

    The coverage is the largest share of one item's n-grams that the document holds, in
    millionths; the item is named by file and line, null where none is touched.

    Args:
        root: the workspace's root, below which the evaluation sets lie.

    Raises:
        NotFound: an evaluation set is missing.
        ConfigError: one cannot be read, or no item of any is long enough.
        Unavailable: the disk does not answer.
    """

    name = "decontamination"
    columns = (
        pa.field("eval_coverage", pa.int64()),
        pa.field("eval_ngrams", pa.int64()),
        pa.field("eval_item", pa.string()),
    )

    def __init__(self, spec: DecontaminationSpec, root: Path) -> None:
        self._spec = spec
        items = load_items(spec, root)
        self._texts, self.source = items.texts, items.digest
        self._index = EvalIndex.build(items.texts, spec)
        self._places = pa.array(items.places, pa.string())
        if not self.counts.indexed:
            hint = f"items of fewer than {spec.min_words} words cannot be told from chance"
            raise ConfigError("no item of the evaluation sets is long enough", hint)

    @property
    def counts(self) -> EvalCounts:
        """What became of the items."""
        return self._index.counts

    def transform(self) -> Transform:
        """What a build key knows of it: items, n-grams, and the hashes of the probe's words."""
        texts = pa.array(PROBE_TEXTS, pa.large_string())
        words = grams(texts, 1, SALTS[0])
        parts = np.split(words.hashes, words.starts[1:-1])
        outputs = (" ".join(f"{value:016x}" for value in part.tolist()).encode() for part in parts)
        parameters: dict[str, str | int | None] = {
            "items": str(self.source),
            "words": self._spec.words,
            "min_words": self._spec.min_words,
            "max_items": self._spec.max_items,
        }
        return Transform(self.name, _REVISION, parameters, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Measures the texts as they are now."""
        found = measure(documents["text"].combine_chunks(), self._index)
        places = pa.array(found.item, mask=found.item < 0)
        signals = {
            "eval_coverage": pa.array(found.coverage),
            "eval_ngrams": pa.array(found.ngrams),
            "eval_item": self._places.take(places),
        }
        return Effect(signals=signals)

    def recall(self, texts: pa.LargeStringArray, seed: int) -> dict[str, Recall]:
        """What is found of items that are put into documents, by the name of the mutation.

        Args:
            texts: a sample of real documents, in an order that does not depend on the work.
            seed: the spec's.
        """
        chance = np.random.default_rng(seed)
        return measure_recall(self._index, texts, self._texts, self._spec.max_coverage, chance)


def decontamination_rules(spec: DecontaminationSpec) -> tuple[Rule, ...]:
    """The rule on the coverage."""
    return (Rule("decontamination.max_coverage", "eval_coverage", Side.MAX, spec.max_coverage),)
