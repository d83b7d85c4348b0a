"""The act words: how often words of the user's lists stand in a text.

Whole words are compared, in any case. A phrase matches words that follow one another,
whatever stands between them; in scripts that are written without spaces, characters that
follow one another at once. Of two that overlap, the one that begins first counts; of two
that begin at one place, the longer one.

Compared are 64 bits of a hash: that a word is taken for another happens once in some ten
million million words, for a list of ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lineage.digest import Digest
from pipelines.clean.act import Effect
from pipelines.listed import read_list
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.signals.measured import millionths, pieces
from pipelines.signals.phrases import count, phrases_of
from pipelines.signals.units import Units
from pipelines.spec.words import WordsSpec
from pipelines.transform import Transform

_REVISION = 1
# The units of so much text stay in the caches of a core.
_PIECE_BYTES = 1 << 18


class WordsListed:
    """Counts words of lists: the signals ``words_NAME`` and ``words_NAME_share``.

    Args:
        root: the workspace's root, below which the lists lie.

    Raises:
        NotFound, ConfigError, Unavailable: a list cannot be read, or an entry is no word.
    """

    name = "words"

    def __init__(self, specs: Sequence[WordsSpec], root: Path) -> None:
        lists = [read_list(root, spec.file) for spec in specs]
        self._lists = {spec.name: item for spec, item in zip(specs, lists, strict=True)}
        self._phrases = {name: phrases_of(item) for name, item in self._lists.items()}
        self._units = Units()
        names = [f"words_{name}{end}" for name in self._lists for end in ("", "_share")]
        self.columns = tuple(pa.field(name, pa.int64()) for name in names)

    @property
    def files(self) -> tuple[Digest, ...]:
        """Digests of the lists' entries: a build that sees others is another build."""
        return tuple(item.digest for item in self._lists.values())

    def transform(self) -> Transform:
        """What a build key knows of it: each list's entries; limits are no part."""
        # The start of each list is shown as well, so that the probe has something to find.
        shown = [text for item in self._lists.values() for text in item.entries[:8].to_pylist()]
        texts = pa.array([*PROBE_TEXTS, *shown], pa.large_string())
        signals = self.apply(pa.table({"text": texts})).signals
        rows = zip(*(column.to_pylist() for column in signals.values()), strict=True)
        digests = {name: str(item.digest) for name, item in self._lists.items()}
        behaviour = behaviour_of(" ".join(map(str, row)).encode() for row in rows)
        return Transform(self.name, _REVISION, digests, behaviour)

    def apply(self, documents: pa.Table) -> Effect:
        """Counts in the texts as they are now."""
        parts: dict[str, list[np.ndarray]] = {column.name: [] for column in self.columns}
        for texts in pieces(documents["text"].combine_chunks(), _PIECE_BYTES):
            units, begins = self._units.of(texts)
            for name, phrases in self._phrases.items():
                found, covered = count(units, begins, phrases)
                parts[f"words_{name}"].append(found)
                parts[f"words_{name}_share"].append(millionths(covered, np.diff(begins)))
        none = np.zeros(0, np.int64)
        return Effect(
            signals={name: pa.array(np.concatenate([none, *part])) for name, part in parts.items()}
        )


def words_rules(specs: Sequence[WordsSpec]) -> Iterator[Rule]:
    """What drops: more words of a list than its limits allow."""
    for spec in specs:
        if spec.max is not None:
            yield Rule(f"words.{spec.name}.max", f"words_{spec.name}", Side.MAX, spec.max)
        if spec.max_share is not None:
            signal = f"words_{spec.name}_share"
            yield Rule(f"words.{spec.name}.max_share", signal, Side.MAX, spec.max_share)
