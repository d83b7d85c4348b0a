"""The act scores: what classifiers of the user's own say of a text.

A classifier is a fastText file (``.bin`` or ``.ftz``). It is shown the whole text on one
line: every line break is a space. Its score is the probability of one label as fastText
tells it, in whole millionths, rounded down; 0 where the model knows nothing of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError
from pipelines.clean.act import Effect
from pipelines.listed import file_in, read_file
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.signals.fasttext_file import labels_of
from pipelines.signals.signal import MILLION
from pipelines.spec.scores import ScoreSpec
from pipelines.transform import Transform

_REVISION = 1
# All that ends a line for anybody.
_BREAKS = r"[\n\x0b\x0c\r\x1c-\x1e\x{85}\x{2028}\x{2029}]"


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded file; `predict` gives labels and probabilities, the most probable first."""

    digest: Digest
    labels: tuple[str, ...]
    predictor: Any

    def scores(self, text: str) -> Mapping[str, int]:
        labels, shares = self.predictor.predict(text, k=-1, threshold=0.0)
        # The library adds a hundred-thousandth to every probability.
        return {
            label: min(int(share * MILLION), MILLION)
            for label, share in zip(labels, shares, strict=True)
        }


class Scores:
    """Asks classifiers: a signal ``score_NAME`` each, in millionths.

    Args:
        root: the workspace's root, below which the models lie.

    Raises:
        NotFound, Unavailable: a model cannot be read.
        ConfigError: a file is no whole classifier of fastText, or has no such label.
    """

    name = "scores"

    def __init__(self, specs: Sequence[ScoreSpec], root: Path) -> None:
        # Several scores may come from one model, which is asked once.
        self._models = {name: _loaded(root, name) for name in {spec.model for spec in specs}}
        self._specs = tuple(specs)
        for spec in specs:
            _require_label(spec, self._models[spec.model].labels)
        self.columns = tuple(pa.field(f"score_{spec.name}", pa.int64()) for spec in specs)

    @property
    def files(self) -> tuple[Digest, ...]:
        """Digests of the models: a build that sees others is another build."""
        return tuple(self._models[name].digest for name in sorted(self._models))

    def transform(self) -> Transform:
        """What a build key knows of it: models and labels; limits are no part."""
        texts = pa.table({"text": pa.array(PROBE_TEXTS, pa.large_string())})
        columns = [column.to_pylist() for column in self.apply(texts).signals.values()]
        behaviour = behaviour_of(
            " ".join(map(str, row)).encode() for row in zip(*columns, strict=True)
        )
        parameters: dict[str, str | int | None] = {}
        for spec in self._specs:
            parameters[f"{spec.name}.model"] = str(self._models[spec.model].digest)
            parameters[f"{spec.name}.label"] = spec.label
        return Transform(self.name, _REVISION, parameters, behaviour)

    def apply(self, documents: pa.Table) -> Effect:
        """Scores the texts as they are now."""
        texts = documents["text"].combine_chunks()
        lines = pc.replace_substring_regex(texts, _BREAKS, " ")
        values = np.zeros((len(self._specs), len(lines)), np.int64)
        for row, line in enumerate(lines):
            text = line.as_py()
            found = {name: model.scores(text) for name, model in self._models.items()}
            for number, spec in enumerate(self._specs):
                # Of a text without a word that it knows fastText says nothing.
                values[number, row] = found[spec.model].get(spec.label, 0)
        names = [column.name for column in self.columns]
        return Effect(
            signals={name: pa.array(row) for name, row in zip(names, values, strict=True)}
        )


def score_rules(specs: Sequence[ScoreSpec]) -> Iterator[Rule]:
    """What drops: a score outside its bounds."""
    for spec in specs:
        for side, limit in ((Side.MIN, spec.min), (Side.MAX, spec.max)):
            if limit is not None:
                yield Rule(f"scores.{spec.name}.{side}", f"score_{spec.name}", side, limit)


def _loaded(root: Path, name: str) -> _Model:
    import fasttext  # only builds with scores load it

    data = read_file(root, name)
    labels = labels_of(data, name)
    try:
        predictor = fasttext.load_model(str(file_in(root, name)))
    except (ValueError, RuntimeError, MemoryError):
        raise ConfigError(f"{name}: fastText cannot load the model") from None
    return _Model(digest_of(data), labels, predictor)


def _require_label(spec: ScoreSpec, labels: Sequence[str]) -> None:
    if spec.label not in labels:
        known = ", ".join(sorted(labels)[:8]) + (", ..." if len(labels) > 8 else "")
        raise ConfigError(
            f"scores {spec.name}: {spec.model} has no label {spec.label!r}", f"it has {known}"
        )
