"""The rule sets that the literature publishes, with their published thresholds.

- ``gopher_quality``, ``gopher_repetition``: Rae et al. 2021, Scaling Language Models,
  arXiv 2112.11446, section A.1.1 and table A1.
- ``c4``: Raffel et al. 2020, arXiv 1910.10683, section 2.2. Its rules on single lines are
  an edit of their own.
- ``fineweb``: Penedo et al. 2024, The FineWeb Datasets, arXiv 2406.17557, section 3.6, and
  the thresholds of its published code.
- ``fineweb2``: thresholds by language, see `pipelines.rules.fineweb2`.

A share is written in millionths. What the papers call a word with the help of a tokenizer
of one language is a token of `pipelines.signals.segments` here, for all languages.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.rules import fineweb2
from pipelines.rules.rule import Rule, Side

_MIN, _MAX = Side.MIN, Side.MAX


def _set(name: str, *rules: tuple[str, str, Side, int]) -> tuple[Rule, ...]:
    return tuple(
        Rule(f"{name}.{rule}", signal, side, threshold) for rule, signal, side, threshold in rules
    )


RULE_SETS: Mapping[str, tuple[Rule, ...]] = {
    "gopher_quality": _set(
        "gopher_quality",
        ("min_words", "num_words", _MIN, 50),
        ("max_words", "num_words", _MAX, 100_000),
        ("min_word_length", "mean_word_length", _MIN, 3_000_000),
        ("max_word_length", "mean_word_length", _MAX, 10_000_000),
        ("max_hashes", "hash_share", _MAX, 100_000),
        ("max_ellipses", "ellipsis_share", _MAX, 100_000),
        ("max_bullet_lines", "bullet_line_share", _MAX, 900_000),
        ("max_ellipsis_lines", "ellipsis_line_share", _MAX, 300_000),
        ("min_alphabetic", "alphabetic_share", _MIN, 800_000),
        ("min_stop_words", "stop_words", _MIN, 2),
    ),
    "gopher_repetition": _set(
        "gopher_repetition",
        ("max_repeated_lines", "repeated_line_share", _MAX, 300_000),
        ("max_repeated_paragraphs", "repeated_paragraph_share", _MAX, 300_000),
        ("max_repeated_line_chars", "repeated_line_char_share", _MAX, 200_000),
        ("max_repeated_paragraph_chars", "repeated_paragraph_char_share", _MAX, 200_000),
        ("max_top_2gram", "top_2gram_char_share", _MAX, 200_000),
        ("max_top_3gram", "top_3gram_char_share", _MAX, 180_000),
        ("max_top_4gram", "top_4gram_char_share", _MAX, 160_000),
        ("max_repeated_5grams", "repeated_5gram_char_share", _MAX, 150_000),
        ("max_repeated_6grams", "repeated_6gram_char_share", _MAX, 140_000),
        ("max_repeated_7grams", "repeated_7gram_char_share", _MAX, 130_000),
        ("max_repeated_8grams", "repeated_8gram_char_share", _MAX, 120_000),
        ("max_repeated_9grams", "repeated_9gram_char_share", _MAX, 110_000),
        ("max_repeated_10grams", "repeated_10gram_char_share", _MAX, 100_000),
    ),
    "c4": _set(
        "c4",
        ("max_lorem_ipsum", "num_lorem_ipsum", _MAX, 0),
        ("max_braces", "num_braces", _MAX, 0),
        ("min_sentences", "num_sentences", _MIN, 5),
    ),
    "fineweb": _set(
        "fineweb",
        ("min_ending_lines", "ending_line_share", _MIN, 120_000),
        ("max_short_lines", "short_line_share", _MAX, 670_000),
        ("max_repeated_line_text", "repeated_line_text_share", _MAX, 10_000),
        ("max_line_feeds", "line_feed_share", _MAX, 300_000),
    ),
    fineweb2.NAME: fineweb2.rules(),
}
