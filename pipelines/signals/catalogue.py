"""The signals that are measured of every text, by name."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.signals.signal import Signal, Unit

# Lengths of the n-grams of which the most frequent, and those that repeat, are measured.
TOP = (2, 3, 4)
REPEATED = (5, 6, 7, 8, 9, 10)

_SHARE = Unit.MILLIONTHS

_ALL = (
    Signal("num_words", Unit.COUNT, "words"),
    Signal("mean_word_length", _SHARE, "code points of a word on average, in millionths"),
    Signal("hash_share", _SHARE, "number signs for each token"),
    Signal("ellipsis_share", _SHARE, "ellipses for each token"),
    Signal("alphabetic_share", _SHARE, "tokens with a letter among all tokens"),
    Signal("stop_words", Unit.COUNT, "of the eight English stop words of Gopher, how many occur"),
    Signal(
        "language_stop_words",
        Unit.COUNT,
        "of the stop words of the document's language, how many occur",
    ),
    Signal("num_lines", Unit.COUNT, "lines that are not blank"),
    Signal("bullet_line_share", _SHARE, "lines that begin with a bullet"),
    Signal("ellipsis_line_share", _SHARE, "lines that end with an ellipsis"),
    Signal("ending_line_share", _SHARE, "lines that end with a mark that ends a sentence"),
    Signal("short_line_share", _SHARE, "lines of 30 code points or fewer"),
    Signal("line_feed_share", _SHARE, "line feeds for each token"),
    Signal("num_sentences", Unit.COUNT, "sentences, at least one a line"),
    Signal("num_braces", Unit.COUNT, "opening curly brackets"),
    Signal("num_lorem_ipsum", Unit.COUNT, "times that lorem ipsum stands in it"),
    Signal("repeated_line_share", _SHARE, "lines that stood before"),
    Signal("repeated_line_char_share", _SHARE, "characters in lines that stood before"),
    Signal("repeated_line_text_share", _SHARE, "the same, line feeds left out of the text"),
    Signal("repeated_paragraph_share", _SHARE, "paragraphs that stood before"),
    Signal("repeated_paragraph_char_share", _SHARE, "characters in paragraphs that stood before"),
    *(
        Signal(
            f"top_{n}gram_char_share", _SHARE, f"characters in the most frequent {n}-gram of words"
        )
        for n in TOP
    ),
    *(
        Signal(
            f"repeated_{n}gram_char_share",
            _SHARE,
            f"characters in {n}-grams of words that stood before",
        )
        for n in REPEATED
    ),
)
SIGNALS: Mapping[str, Signal] = {signal.name: signal for signal in _ALL}
