"""A sample of near duplicates is judged by their characters."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.dedup.precision import SAMPLE_PAIRS, char_similarity, sampled

TEXTS = st.text("ab \n\u4e00\U0001f600")


def runs(text: str) -> set[str]:
    folded = " ".join(text.split())
    return {folded[i : i + 5] for i in range(max(1, len(folded) - 4))} if folded else set()


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_similarity_is_that_of_the_runs_of_characters(one: str, two: str) -> None:
    a, b = runs(one), runs(two)
    assert char_similarity(one, two) == len(a & b) * 1_000_000 // max(len(a | b), 1)
    small = max(min(len(a), len(b)), 1)
    assert char_similarity(one, two, containment=True) == len(a & b) * 1_000_000 // small


def test_a_long_text_is_looked_at_in_part() -> None:
    text = "".join(random.Random(1).choices("abcdefgh", k=200_000))
    assert char_similarity(text, text[:100_000]) == 1_000_000


@pytest.mark.parametrize("num", [0, 1, 100, 1000])
def test_the_sample_of_a_whole_is_that_of_its_parts(num: int) -> None:
    keys = np.random.default_rng(num).integers(0, 256, (num, 32), np.uint8)
    whole = sampled(keys)
    assert len(set(whole.tolist())) == min(num, SAMPLE_PAIRS)
    cut = num // 3
    of_parts = np.concatenate([sampled(keys[:cut]), cut + sampled(keys[cut:])])
    assert of_parts[sampled(keys[of_parts])].tolist() == whole.tolist()
