"""The act signals: what is measured of every text, once, for the rule sets of the spec."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.clean.act import Effect
from pipelines.clean.codepoints import text_bytes
from pipelines.dedup.minhash import band_keys
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.signals import quality, repetition, segments
from pipelines.signals.catalogue import REPEATED, SIGNALS, TOP
from pipelines.signals.quality import StopWords
from pipelines.signals.segments import Segmenter, Segments
from pipelines.signals.signal import MILLION
from pipelines.signals.stop_words import lists_digest
from pipelines.spec.duplicates import DuplicatesSpec
from pipelines.transform import Transform

_REVISION = 2
# The words of so much text stay in the caches of a core.
_PIECE_BYTES = 1 << 20
# The one signal that looks at the language, where one was detected.
_OWN_STOP_WORDS, _LANGUAGE = "language_stop_words", "language"
Counts = NDArray[np.int64]


class Piece(NamedTuple):
    """What is measured together.

    Attributes:
        found: words and lines of the texts.
        texts: the texts themselves.
        languages: their codes, or None where no language was detected.
    """

    found: Segments
    texts: pa.LargeStringArray
    languages: pa.StringArray | None


class Measured:
    """Measures the signals that rules need, and the band keys; all share one pass.

    Args:
        wanted: names of `SIGNALS`.
        near: how near duplicates are looked for, or None.
    """

    name = "signals"

    def __init__(self, wanted: Collection[str], near: DuplicatesSpec | None = None) -> None:
        self._near = near
        self._names = tuple(name for name in SIGNALS if name in wanted)
        self._segmenter = Segmenter()
        self.columns = tuple(pa.field(name, pa.int64()) for name in self._names)

    def transform(self) -> Transform:
        """What a build key knows of it: the names of the signals, values and band keys."""
        effect = self.apply(pa.table({"text": pa.array(PROBE_TEXTS, pa.large_string())}))
        columns = [effect.signals[name].to_pylist() for name in self._names]
        parameters: dict[str, str | int | None] = {"signals": " ".join(self._names)}
        if _OWN_STOP_WORDS in self._names:
            parameters["stop_words"] = str(lists_digest())
        if self._near is not None and effect.bands is not None:
            columns += effect.bands.T.tolist()
            parameters |= {name: getattr(self._near, name) for name in ("words", "bands", "rows")}
        outputs = (" ".join(map(str, row)).encode() for row in zip(*columns, strict=True))
        return Transform(self.name, _REVISION, parameters, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Measures the texts as they are now."""
        measured, bands = [], []
        detected = _LANGUAGE in documents.column_names
        languages = documents[_LANGUAGE].combine_chunks() if detected else None
        for texts in pieces(documents["text"].combine_chunks(), _PIECE_BYTES):
            found = self._segmenter.segments_of(texts)
            own = None if languages is None else languages[: len(texts)]
            measured.append(self._measure(Piece(found, texts, own)))
            languages = None if languages is None else languages[len(texts) :]
            if self._near is not None:
                near = self._near
                bands.append(band_keys(found, near.words, near.bands, near.rows))
        values = {
            name: np.concatenate([part[name] for part in measured] or [np.zeros(0, np.int64)])
            for name in self._names
        }
        return Effect(
            signals={name: pa.array(values[name]) for name in self._names},
            bands=None if self._near is None else _stacked(bands, self._near.bands),
        )

    def _measure(self, piece: Piece) -> dict[str, Counts]:
        values: dict[str, Counts] = {}
        for names, measure in _MEASURES.items():
            if any(name in self._names for name in names):
                values.update(zip(names, measure(piece), strict=True))
        return values


def pieces(texts: pa.LargeStringArray, num_bytes: int) -> Iterator[pa.LargeStringArray]:
    """Runs of whole texts of about so many bytes, or one text that is longer."""
    _, starts = text_bytes(texts)
    begin = 0
    while begin < len(texts):
        end = int(np.searchsorted(starts, starts[begin] + num_bytes, side="right")) - 1
        end = min(max(end, begin + 1), len(texts))
        yield texts.slice(begin, end - begin)
        begin = end


def _stacked(parts: list[NDArray[np.uint64]], bands: int) -> NDArray[np.uint64]:
    return np.concatenate([np.zeros((0, bands), np.uint64), *parts])


def millionths(part: Counts, whole: Counts) -> Counts:
    """Ratios as floor(1,000,000 * part / whole); 0 where the whole is 0."""
    return np.where(whole > 0, part * MILLION // np.maximum(whole, 1), 0)


def _words(piece: Piece) -> list[Counts]:
    counts = quality.words_counted(piece.found)
    tokens, words = counts[:, quality.TOKENS], counts[:, quality.WORDS]
    feeds = piece.found.tallies[:, segments.BREAKS]
    return [
        words,
        millionths(counts[:, quality.WORD_CHARS], words),
        millionths(counts[:, quality.HASHES], tokens),
        millionths(counts[:, quality.ELLIPSES], tokens),
        millionths(counts[:, quality.ALPHABETICS], tokens),
        millionths(feeds, tokens),
    ]


@cache
def _all_stop_words() -> StopWords:
    return StopWords()


def _stop_words(piece: Piece) -> list[Counts]:
    return [_all_stop_words().counted(piece.found, None)]


def _own_stop_words(piece: Piece) -> list[Counts]:
    return [_all_stop_words().counted(piece.found, piece.languages)]


def _lines(piece: Piece) -> list[Counts]:
    counts = quality.lines_counted(piece.found)
    lines = counts[:, quality.LINES]
    kinds = (quality.BULLETS, quality.DOTS, quality.ENDING, quality.SHORT)
    return [lines, *(millionths(counts[:, kind], lines) for kind in kinds)]


def _tallies(piece: Piece) -> list[Counts]:
    tallies = piece.found.tallies
    return [tallies[:, segments.SENTENCES], tallies[:, segments.BRACES]]


def _lorem(piece: Piece) -> list[Counts]:
    counts = pc.count_substring(piece.texts, "lorem ipsum", ignore_case=True)
    return [np.asarray(counts, dtype=np.int64)]


def _repeated_lines(piece: Piece) -> list[Counts]:
    found = piece.found
    counts, chars = repetition.repeated_lines(found), found.tallies[:, segments.CHARS]
    lines = np.diff(found.line_starts)
    line_chars = counts[:, repetition.LINE_CHARS]
    return [
        millionths(counts[:, repetition.LINES], lines),
        millionths(line_chars, chars),
        millionths(line_chars, chars - found.tallies[:, segments.BREAKS]),
        millionths(counts[:, repetition.PARAGRAPHS], counts[:, repetition.NUM_PARAGRAPHS]),
        millionths(counts[:, repetition.PARAGRAPH_CHARS], chars),
    ]


def _repeated_ngrams(piece: Piece) -> list[Counts]:
    counts = repetition.repeated_ngrams(piece.found)
    chars = piece.found.tallies[:, segments.CHARS]
    return [millionths(counts[:, column], chars) for column in range(counts.shape[1])]


_MEASURES: Mapping[tuple[str, ...], Callable[[Piece], list[Counts]]] = {
    (
        "num_words",
        "mean_word_length",
        "hash_share",
        "ellipsis_share",
        "alphabetic_share",
        "line_feed_share",
    ): _words,
    ("stop_words",): _stop_words,
    (_OWN_STOP_WORDS,): _own_stop_words,
    (
        "num_lines",
        "bullet_line_share",
        "ellipsis_line_share",
        "ending_line_share",
        "short_line_share",
    ): _lines,
    ("num_sentences", "num_braces"): _tallies,
    ("num_lorem_ipsum",): _lorem,
    (
        "repeated_line_share",
        "repeated_line_char_share",
        "repeated_line_text_share",
        "repeated_paragraph_share",
        "repeated_paragraph_char_share",
    ): _repeated_lines,
    (
        *(f"top_{n}gram_char_share" for n in TOP),
        *(f"repeated_{n}gram_char_share" for n in REPEATED),
    ): _repeated_ngrams,
}
