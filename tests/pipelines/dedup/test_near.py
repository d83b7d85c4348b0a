"""Near duplicates: found by their shingles, against brute force over all pairs."""

from __future__ import annotations

import json
import random
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.dedup.choose import MOST_COMPARED, Chosen, choose
from pipelines.dedup.crowds import components, crowds
from pipelines.dedup.minhash import NO_KEY, band_keys
from pipelines.dedup.shingles import shingles
from pipelines.signals.segments import Segmenter, Segments
from tests.pipelines.signals.oracle import is_word, tokens

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
VECTORS = Path(__file__).parents[2] / "vectors" / "minhash.json"
WORDS, BANDS, ROWS, THRESHOLD = 5, 14, 8, 800_000


def segments(texts: list[str]) -> Segments:
    return Segmenter().segments_of(pa.array(texts, pa.large_string()))


def shingle_sets(texts: list[str]) -> list[set[int]]:
    hashes, starts = shingles(segments(texts), WORDS)
    return [set(hashes[a:b].tolist()) for a, b in pairwise(starts)]


def plain_shingles(text: str) -> set[tuple[str, ...]]:
    words = [token for token in tokens(text) if is_word(token)]
    if not words:
        return set()
    return {tuple(words[i : i + WORDS]) for i in range(max(1, len(words) - WORDS + 1))}


def alike(one: set[int], two: set[int]) -> int:
    return len(one & two) * 1_000_000 // max(len(one | two), 1)


def near(texts: list[str], *, containment: bool = False) -> Chosen:
    """The whole way, for texts that stand in the order of their rank."""
    keys = band_keys(segments(texts), WORDS, BANDS, ROWS)
    pairs = [crowds(np.ascontiguousarray(keys[:, band])) for band in range(BANDS)]
    bases = np.cumsum([0, *(int(crowd.max(initial=-1)) + 1 for crowd, _ in pairs)])
    crowd = np.concatenate([part + base for (part, _), base in zip(pairs, bases, strict=False)])
    member = np.concatenate([part for _, part in pairs])
    found = shingles(segments(texts), WORDS)
    return choose(found, crowd, member, THRESHOLD, containment=containment)


def words(number: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [f"word{rng.randrange(10**6)}" for _ in range(number)]


def sample_texts() -> list[str]:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    texts = dict.fromkeys(json.loads(row)["text"] for row in rows)
    return sorted(texts, key=lambda text: (-len(text), text))


def test_shingles_are_the_runs_of_words_of_real_text() -> None:
    texts = [text[:2000] for text in sample_texts()[::7]]
    plain = [plain_shingles(text) for text in texts]
    for (one, a), (two, b) in combinations(zip(shingle_sets(texts), plain, strict=True), 2):
        assert (len(one), len(two), len(one & two)) == (len(a), len(b), len(a & b))


@given(st.text(), st.sampled_from(["\n", "  ", " -- ", "\t\n"]))
@settings(deadline=None)
def test_white_space_and_punctuation_between_words_make_no_difference(
    text: str, between: str
) -> None:
    found = [token for token in tokens(text) if is_word(token)]
    one, two = shingle_sets([" ".join(found), between.join(found)])
    assert one == two


def test_a_text_without_words_is_like_no_other() -> None:
    keys = band_keys(segments(["", "...", "!?"]), WORDS, BANDS, ROWS)
    assert (keys == NO_KEY).all()
    assert all(len(crowd) == 0 for crowd, _ in [crowds(np.ascontiguousarray(keys[:, 0]))])
    assert near(["", "...", "!?"]).survivor.tolist() == [-1, -1, -1]


def test_every_near_duplicate_of_the_sample_is_what_brute_force_finds() -> None:
    texts = sample_texts()
    found, sets = near(texts), shingle_sets(texts)
    expected = np.full(len(texts), -1)
    for two in range(len(texts)):
        for one in range(two):
            if expected[one] < 0 and alike(sets[one], sets[two]) >= THRESHOLD:
                expected[two] = one
                break
    away = np.flatnonzero(expected >= 0)
    assert len(away) > 3
    # Hashing may miss a pair that is just alike enough; it never makes one up.
    missed = np.flatnonzero((expected >= 0) & (found.survivor < 0))
    assert len(missed) <= len(away) // 10
    for two in np.flatnonzero(found.survivor >= 0).tolist():
        one = int(found.survivor[two])
        assert found.survivor[one] < 0
        assert found.similarity[two] == alike(sets[one], sets[two]) >= THRESHOLD
        assert len(texts[one]) >= len(texts[two])


def test_the_chance_of_sharing_a_band_follows_the_curve() -> None:
    for share, low, high in ((0.5, 0.0, 0.25), (0.75, 0.6, 0.9), (0.9, 0.98, 1.0)):
        met = 0
        for seed in range(200):
            # Two sets of single words whose Jaccard similarity is the share.
            common, own = round(1000 * share), round(1000 * (1 - share) / 2)
            both, rest = words(common, seed), words(2 * own, 10_000 + seed)
            texts = [" ".join(both + rest[:own]), " ".join(both + rest[own:])]
            keys = band_keys(segments(texts), 1, BANDS, ROWS)
            met += bool((keys[0] == keys[1]).any())
        assert low <= met / 200 <= high, share


def test_short_texts_share_bands_only_when_they_are_alike() -> None:
    texts = [" ".join(words(6, seed)) for seed in range(300)]
    keys = band_keys(segments(texts), WORDS, BANDS, ROWS)
    for band in range(BANDS):
        crowd, _ = crowds(np.ascontiguousarray(keys[:, band]))
        assert len(crowd) == 0
    same = band_keys(segments([texts[0], texts[0] + "!"]), WORDS, BANDS, ROWS)
    assert (same[0] == same[1]).all()


def chain() -> list[str]:
    """Each is alike the one before it, and the last is far from the first."""
    base = words(400, 1)
    return [" ".join(base[20 * n : 20 * n + 300]) for n in range(5)]


def test_nothing_follows_from_a_chain() -> None:
    texts = chain()
    sets = shingle_sets(texts)
    found = near(texts)
    for two in np.flatnonzero(found.survivor >= 0).tolist():
        assert alike(sets[found.survivor[two]], sets[two]) >= THRESHOLD
    assert (found.survivor < 0).sum() >= 2
    assert found.survivor[-1] != 0


def test_containment_finds_a_text_inside_another() -> None:
    inner = words(300, 3)
    texts = [" ".join(inner + words(60, 4)), " ".join(inner)]
    assert near(texts, containment=True).survivor.tolist() == [-1, 0]
    assert near(texts, containment=True).similarity.tolist()[1] == 1_000_000
    assert near(texts).similarity.tolist()[1] in (0, 296 * 1_000_000 // 356)


def test_the_most_alike_stands_for_a_text_and_of_equals_the_first() -> None:
    base = words(300, 5)
    tails: list[list[str]] = [words(40, 6), words(20, 7), words(20, 8), []]
    texts = [" ".join(base + tail) for tail in tails]
    crowd, member = np.zeros(4, np.int64), np.arange(4)
    found = choose(shingles(segments(texts), WORDS), crowd, member, 900_000, containment=False)
    assert found.survivor.tolist() == [-1, -1, -1, 1]
    assert found.compared == 6


def test_fixed_members_survive_and_others_make_way_for_them() -> None:
    text = " ".join(words(50, 1))
    found = shingles(segments([text] * 4), WORDS)
    crowd, member = np.zeros(4, np.int64), np.arange(4)
    chosen = choose(found, crowd, member, THRESHOLD, containment=False, fixed=2)
    assert chosen.survivor.tolist() == [-1, -1, 0, 0]
    assert (chosen.compared, chosen.cut_off) == (4, 0)


def test_what_a_crowd_is_too_large_to_compare_is_counted() -> None:
    texts = [" ".join(words(50, seed)) for seed in range(MOST_COMPARED + 10)]
    crowd = np.zeros(len(texts), np.int64)
    member = np.arange(len(texts))
    found = choose(shingles(segments(texts), WORDS), crowd, member, THRESHOLD, containment=False)
    assert (found.survivor == -1).all()
    assert found.cut_off == sum(range(10))
    assert found.compared + found.cut_off == len(texts) * (len(texts) - 1) // 2


@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_no_order_of_pairs_or_batches_changes_the_choice(rng: random.Random) -> None:
    texts = sample_texts()[:120]
    found = shingles(segments(texts), WORDS)
    keys = band_keys(segments(texts), WORDS, 40, 2)
    crowd, member = crowds(np.ascontiguousarray(keys[:, 0]))
    order = list(range(len(crowd)))
    rng.shuffle(order)
    one = choose(found, crowd, member, 300_000, containment=False)
    two = choose(found, crowd[order], member[order], 300_000, containment=False)
    assert one.survivor.tolist() == two.survivor.tolist()


def survivors_by_place(texts: list[str], order: list[int]) -> list[int]:
    """Who stands for each text when they come in some order; the longer go first, by rank."""
    keys = band_keys(segments([texts[at] for at in order]), WORDS, 40, 2)
    found = [crowds(np.ascontiguousarray(keys[:, band])) for band in range(3)]
    rank = np.array(order)
    crowd = np.concatenate([1000 * band + crowd for band, (crowd, _) in enumerate(found)])
    member = np.concatenate([rank[member] for _, member in found])
    chosen = choose(shingles(segments(texts), WORDS), crowd, member, 300_000, containment=False)
    return chosen.survivor.tolist()


@given(st.permutations(range(100)))
@settings(deadline=None, max_examples=10)
def test_no_order_of_documents_changes_the_choice(order: list[int]) -> None:
    texts = [text[:1500] for text in sample_texts()[:100]]
    assert survivors_by_place(texts, order) == survivors_by_place(texts, list(range(100)))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 12)), max_size=30, unique=True))
@settings(deadline=None)
def test_components_are_those_of_the_graph(pairs: list[tuple[int, int]]) -> None:
    pairs = sorted(pairs)
    crowd = np.array([pair[0] for pair in pairs], np.int64)
    member = np.array([pair[1] for pair in pairs], np.int64)
    parents = list(range(13))
    changed = True
    while changed:
        changed = False
        for (a, one), (b, two) in combinations(pairs, 2):
            if a == b and parents[one] != parents[two]:
                parents[one] = parents[two] = min(parents[one], parents[two])
                changed = True
    assert components(crowd, member, 13).tolist() == parents


def test_keys_and_shingles_are_those_of_the_vector() -> None:
    vector = json.loads(VECTORS.read_text())
    hashes, starts = shingles(segments(vector["texts"]), vector["words"])
    assert starts.tolist() == vector["starts"]
    assert [f"{item:016x}" for item in hashes.tolist()] == vector["shingles"]
    keys = band_keys(segments(vector["texts"]), vector["words"], vector["bands"], vector["rows"])
    assert [[f"{key:016x}" for key in row] for row in keys.tolist()] == vector["keys"]


@pytest.mark.parametrize("bands", [1, 3])
def test_there_is_a_key_a_band(bands: int) -> None:
    assert band_keys(segments(["a b c", ""]), 2, bands, 4).shape == (2, bands)
