"""What takes no part in an n-gram: case, accents, width, punctuation, wrapping."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from pipelines.decontamination import folding
from pipelines.decontamination.grams import SALTS, grams
from tests.pipelines.decontamination.evaluation import column


def words(text: str) -> list[int]:
    """All that remains of a text: how much, and which."""
    found = grams(column(text), 4, SALTS[0])
    return [*found.weights.tolist(), *found.digests.tolist()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("café naïve", "CAFE\u0301 NAI\u0308VE"),
        ("\ufb01ne", "FINE"),
        ("ｆｕｌｌ ｗｉｄｔｈ １２", "full width 12"),
        ("\uff76\uff9e\uff77", "ガキ"),
        ("İstanbul ısı", "istanbul isi"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("\u2f00\u2f08", "一人"),
        ("한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
        ("\u2764\ufe0f love", "love"),
        ("well-known, don't; a_b", "well known don t a b"),
        ("x = (y + 1) * 2", "x y 1 2"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_two_ways_to_write_the_same_words(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"), [("form from", "from form"), ("ab c", "a bc"), ("か", "き"), ("कि", "का")]
)
def test_other_words_stay_others(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_capitals_fold_to_small_letters_in_every_living_script() -> None:
    # Some letters of old books have names that do not tell their pair.
    old = range(0x3CF, 0x3E2), range(0x1C80, 0x1C8B)
    for code in (*range(0x41, 0x2C00), *range(0xA640, 0xA7C0), *range(0x10400, 0x10500)):
        char = chr(code)
        if unicodedata.category(char) == "Lu" and not any(code in span for span in old):
            assert words(char) == words(char.lower()), f"U+{code:04X}"


def test_accents_go_and_vowel_signs_stay() -> None:
    kinds = folding.folding().kinds
    assert kinds[0x301] == kinds[0x64B] == kinds[0x200B] == folding.IGNORED
    assert kinds[0x93F] == folding.LETTER
    assert kinds[ord("字")] == folding.IDEOGRAPH
    assert kinds[0xE01] == folding.UNSPACED
    assert kinds[ord("-")] == kinds[ord(" ")] == kinds[0x378] == folding.SEPARATOR


def test_an_n_gram_weighs_n_words_in_every_script() -> None:
    texts = column(
        "a b c d", "一二三四五六七八", "ก" * 16, "a 一二 ก" + "ข" * 3 + " d", "a b c", ""
    )
    found = grams(texts, 4, SALTS[0])
    assert np.diff(found.starts).tolist() == [1, 1, 1, 1, 0, 0]
    assert found.weights.tolist() == [16, 16, 16, 16, 12, 0]


def test_the_two_lengths_of_n_grams_are_told_apart() -> None:
    long, short = (grams(column("a b c d"), 4, salt).hashes for salt in SALTS)
    assert long.tolist() != short.tolist()
