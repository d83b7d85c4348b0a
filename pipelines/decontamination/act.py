"""The act decontamination: how much of an evaluation item each document holds."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from lineage.errors import ConfigError
from pipelines.clean.act import Effect
from pipelines.decontamination.evaluation import Evaluation
from pipelines.decontamination.grams import SALTS, WORD_WEIGHT, grams
from pipelines.decontamination.index import EvalIndex
from pipelines.decontamination.items import load_items
from pipelines.decontamination.measure import measure
from pipelines.decontamination.recall import measure_recall
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.spec.decontamination import DecontaminationSpec
from pipelines.transform import Transform

_REVISION = 1
_LOOK_ITEMS = 1024


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
        self._places = pa.array(items.places, pa.string())
        if not _any_long(items.texts, spec):
            hint = f"items of fewer than {spec.min_words} words cannot be told from chance"
            raise ConfigError("no item of the evaluation sets is long enough", hint)

    @cached_property
    def _index(self) -> EvalIndex:
        # Made by who measures first: planning a build asks for the identity alone.
        return EvalIndex.build(self._texts, self._spec)

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

    def evaluation(self, texts: pa.LargeStringArray, seed: int) -> Evaluation:
        """What became of the items, and how many are found when they are put into documents.

        Args:
            texts: a sample of real documents, in an order that does not depend on the work.
            seed: the spec's.
        """
        chance = np.random.default_rng(seed)
        limit = self._spec.max_coverage
        recall = measure_recall(self._index, texts, self._texts, limit, chance)
        return Evaluation(self._index.counts, recall)


def decontamination_rules(spec: DecontaminationSpec) -> tuple[Rule, ...]:
    """The rule on the coverage."""
    return (Rule("decontamination.max_coverage", "eval_coverage", Side.MAX, spec.max_coverage),)


def _any_long(texts: pa.LargeStringArray, spec: DecontaminationSpec) -> bool:
    least = WORD_WEIGHT * spec.min_words
    slices = (texts.slice(at, _LOOK_ITEMS) for at in range(0, len(texts), _LOOK_ITEMS))
    return any((grams(some, spec.words, SALTS[0]).weights >= least).any() for some in slices)
