"""The rule set of FineWeb-2: thresholds by language.

Penedo et al. 2025, FineWeb2, arXiv 2506.20920; the numbers are those of its repository
(huggingface/fineweb-2 at d0defb24, ``configs``), for 28 languages. It takes the rules of
Gopher and FineWeb with a threshold for each language, found on the language's own text;
repeated paragraphs and characters of repeated lines are not asked, nor are short lines.
English and languages without numbers here have those of FineWeb and Gopher.

What is our own: FineWeb-2 cuts Chinese, Japanese and Korean into words by dictionaries.
Here each ideograph and each kana is a word, and Korean is cut at its spaces, so those
numbers are only near. Thai, Lao, Khmer, Burmese and Tibetan have no spaces between words,
and rules on the number and length of words do not hold for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.rules.rule import Rule, Side
from pipelines.signals.stop_words import WORDS_OF

NAME = "fineweb2"
_MIN, _MAX = Side.MIN, Side.MAX
_RULES = (
    ("max_repeated_lines", "repeated_line_share", _MAX, 300_000),
    ("max_top_2gram", "top_2gram_char_share", _MAX, 200_000),
    ("max_top_3gram", "top_3gram_char_share", _MAX, 180_000),
    ("max_top_4gram", "top_4gram_char_share", _MAX, 160_000),
    ("max_repeated_5grams", "repeated_5gram_char_share", _MAX, 150_000),
    ("max_repeated_6grams", "repeated_6gram_char_share", _MAX, 140_000),
    ("max_repeated_7grams", "repeated_7gram_char_share", _MAX, 130_000),
    ("max_repeated_8grams", "repeated_8gram_char_share", _MAX, 120_000),
    ("max_repeated_9grams", "repeated_9gram_char_share", _MAX, 110_000),
    ("max_repeated_10grams", "repeated_10gram_char_share", _MAX, 100_000),
    ("min_ending_lines", "ending_line_share", _MIN, 120_000),
    ("max_repeated_line_text", "repeated_line_text_share", _MAX, 100_000),
    ("max_line_feeds", "line_feed_share", _MAX, 300_000),
    ("min_words", "num_words", _MIN, 50),
    ("max_words", "num_words", _MAX, 100_000),
    ("min_word_length", "mean_word_length", _MIN, 3_000_000),
    ("max_word_length", "mean_word_length", _MAX, 10_000_000),
    ("max_hashes", "hash_share", _MAX, 100_000),
    ("max_ellipses", "ellipsis_share", _MAX, 100_000),
    ("max_bullet_lines", "bullet_line_share", _MAX, 900_000),
    ("max_ellipsis_lines", "ellipsis_line_share", _MAX, 300_000),
    ("min_alphabetic", "alphabetic_share", _MIN, 800_000),
    ("min_stop_words", "language_stop_words", _MIN, 0),
)
# What the columns below are: shares in thousandths, but for the two lengths.
_COLUMNS = (
    "max_repeated_lines",
    *(f"max_top_{n}gram" for n in (2, 3, 4)),
    *(f"max_repeated_{n}grams" for n in range(5, 11)),
    "min_ending_lines",
    "max_line_feeds",
    "min_word_length",
    "max_word_length",
    "min_alphabetic",
)
_PUBLISHED: Mapping[str, tuple[int, ...]] = {
    "ar": (304, 197, 172, 146, 165, 153, 142, 131, 120, 109, 143, 189, 2, 9, 787),
    "bn": (203, 177, 158, 147, 118, 108, 99, 90, 82, 73, 125, 171, 3, 24, 800),
    "cs": (311, 206, 183, 165, 168, 157, 145, 133, 121, 109, 60, 182, 3, 11, 781),
    "da": (305, 367, 297, 232, 169, 158, 147, 134, 123, 112, 100, 182, 3, 11, 798),
    "de": (263, 169, 153, 137, 141, 134, 126, 117, 108, 98, 0, 152, 0, 15, 774),
    "el": (310, 194, 175, 156, 174, 163, 153, 142, 130, 119, 167, 116, 3, 11, 809),
    "es": (252, 156, 140, 125, 145, 136, 127, 117, 108, 99, 182, 138, 3, 14, 825),
    "fa": (246, 189, 164, 143, 157, 147, 137, 127, 117, 107, 200, 150, 2, 9, 812),
    "fi": (293, 253, 202, 179, 153, 143, 133, 122, 112, 101, 114, 161, 3, 14, 755),
    "fr": (264, 161, 149, 134, 150, 141, 131, 121, 111, 100, 100, 185, 2, 11, 812),
    "he": (340, 239, 202, 173, 160, 151, 140, 129, 118, 108, 200, 126, 2, 9, 799),
    "hi": (206, 208, 198, 161, 135, 125, 116, 108, 99, 90, 91, 316, 2, 21, 837),
    "hu": (322, 226, 198, 172, 169, 159, 148, 136, 124, 112, 67, 231, 3, 15, 766),
    "id": (241, 194, 166, 145, 166, 155, 144, 133, 122, 111, 111, 157, 3, 12, 805),
    "it": (246, 198, 156, 133, 144, 136, 127, 118, 109, 100, 25, 200, 3, 21, 807),
    "ja": (328, 239, 196, 172, 243, 225, 207, 190, 175, 159, 96, 130, 1, 6, 759),
    "ko": (374, 282, 228, 185, 201, 184, 168, 154, 140, 127, 62, 196, 1, 6, 791),
    "nl": (296, 213, 182, 158, 156, 146, 136, 126, 115, 104, 102, 154, 3, 17, 828),
    "no": (283, 204, 175, 150, 146, 139, 128, 119, 110, 99, 107, 167, 3, 12, 783),
    "pl": (320, 222, 198, 176, 172, 160, 148, 136, 123, 111, 87, 158, 3, 12, 726),
    "pt": (287, 371, 191, 163, 163, 153, 141, 130, 119, 108, 77, 186, 3, 13, 814),
    "ro": (289, 161, 146, 131, 160, 149, 138, 127, 117, 106, 81, 207, 1, 14, 779),
    "ru": (322, 184, 164, 146, 168, 156, 145, 133, 121, 109, 231, 139, 3, 11, 713),
    "sv": (292, 242, 195, 174, 156, 147, 136, 125, 116, 105, 200, 135, 3, 12, 841),
    "tr": (272, 214, 168, 147, 154, 144, 134, 124, 113, 103, 91, 222, 3, 21, 773),
    "uk": (300, 189, 172, 153, 160, 148, 136, 124, 113, 102, 167, 175, 3, 11, 694),
    "vi": (293, 223, 197, 171, 178, 163, 150, 136, 124, 111, 333, 103, 3, 11, 803),
    "zh": (287, 256, 201, 171, 198, 182, 167, 154, 140, 127, 106, 178, 1, 5, 735),
}
_NO_SPACES = ("bo", "km", "lo", "my", "th")
_ON_WORDS = ("max_line_feeds", "max_word_length", "min_words")
_STOP_WORDS = 2


def rules() -> tuple[Rule, ...]:
    """The rules in the order in which FineWeb-2 asks them."""
    return tuple(
        Rule(f"{NAME}.{name}", signal, side, usual, _by_language(name))
        for name, signal, side, usual in _RULES
    )


def _by_language(name: str) -> dict[str, int | None]:
    if name == "min_stop_words":
        return dict.fromkeys(WORDS_OF, _STOP_WORDS)
    found: dict[str, int | None] = {}
    if name in _COLUMNS:
        column, scale = _COLUMNS.index(name), 1_000_000 if name.endswith("length") else 1_000
        found = {language: row[column] * scale for language, row in _PUBLISHED.items()}
    return found | dict.fromkeys(_NO_SPACES if name in _ON_WORDS else ())
