"""Every signal against a plain Python oracle, on real text in many scripts and on any text."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
import unicodedata2
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.probe import PROBE_TEXTS
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.language import Language
from pipelines.signals.measured import Measured, pieces
from pipelines.signals.segments import Segmenter
from pipelines.signals.stop_words import WORDS_OF
from pipelines.spec.duplicates import DuplicatesSpec
from tests.pipelines.signals.oracle import is_word, signals, tokens

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
ALL = Measured(SIGNALS)
# What the kernels look at, beside whatever hypothesis thinks of.
PIECES = st.sampled_from(
    [
        *"aZ9é\u0301中か#-._'…{}\"”•*\n\n\n  \t\u00a0\u200d\u3000。！?,",
        "...",
        "....",
        "the ",
        "Have ",
        "a b c d e f ",
        "lorem ipsum",
        "exactly8",
        "wordsofmorethaneight",
        "stra\u00dfe-x.y",
        "3.14 ",
        "\U0001f600",
        "\r",
        "- item\n",
        "the same line again.\n",
    ]
)
texts_of_pieces = st.lists(PIECES, max_size=60).map("".join)


def measure(texts: list[str], languages: list[str | None] | None = None) -> list[dict[str, int]]:
    documents = pa.table({"text": pa.array(texts, pa.large_string())})
    if languages is not None:
        documents = documents.append_column("language", pa.array(languages, pa.string()))
    columns = ALL.apply(documents).signals
    assert set(columns) == set(SIGNALS)
    return [{name: columns[name][row].as_py() for name in columns} for row in range(len(texts))]


def sample_texts() -> list[str]:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    return [json.loads(row)["text"] for row in rows]


def sample_languages() -> list[str | None]:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    return [str(json.loads(row)["lang"]).partition("-")[0] for row in rows]


def test_real_text_in_57_languages_measures_as_the_oracle_says() -> None:
    # Short enough for the oracle, and long enough to hold repetition.
    texts = [text[:2000] for text in sample_texts()]
    for text, found in zip(texts, measure(texts), strict=True):
        assert found == signals(text), text[:80]


def test_stop_words_are_those_of_the_language() -> None:
    texts, languages = [text[:600] for text in sample_texts()], sample_languages()
    for text, language, found in zip(texts, languages, measure(texts, languages), strict=True):
        assert found["language_stop_words"] == signals(text, str(language))["language_stop_words"]
    many = ["der und the of", "Der UND die", "der und", "der und"]
    some = [row["language_stop_words"] for row in measure(many, ["de", "de", "xx", None])]
    assert some == [2, 2, 0, 0]


def test_real_text_of_a_language_holds_its_stop_words() -> None:
    texts = [text[:6000] for text in sample_texts()]
    found = Language().apply(pa.table({"text": pa.array(texts, pa.large_string())})).signals
    languages: list[str | None] = found["language"].to_pylist()
    counts = [row["language_stop_words"] for row in measure(texts, languages)]
    for language in WORDS_OF.keys() & set(languages):
        own = [n for n, other in zip(counts, languages, strict=True) if other == language]
        assert sum(count >= 2 for count in own) >= 0.8 * len(own), language


@pytest.mark.parametrize("language", WORDS_OF)
def test_every_stop_word_is_one_word_and_in_nfc(language: str) -> None:
    words = WORDS_OF[language]
    assert len(set(words)) == len(words) <= 64
    for word in words:
        assert unicodedata2.normalize("NFC", word) == word
        assert tokens(word) == [word] and is_word(word)
        assert tokens(word.capitalize()) == [word.capitalize()]


@pytest.mark.parametrize("text", PROBE_TEXTS)
def test_the_probe_texts_measure_as_the_oracle_says(text: str) -> None:
    assert measure([text]) == [signals(text)]


@given(st.lists(st.text() | texts_of_pieces, max_size=6))
@settings(deadline=None, max_examples=300)
def test_any_text_measures_as_the_oracle_says(texts: list[str]) -> None:
    assert measure(texts) == [signals(text) for text in texts]


@given(st.lists(texts_of_pieces, min_size=3, max_size=8), st.integers(1, 60))
@settings(deadline=None, max_examples=60)
def test_a_text_measures_the_same_wherever_it_stands(texts: list[str], size: int) -> None:
    array = pa.array(["before", *texts, "behind"], pa.large_string()).slice(1, len(texts))
    columns = ALL.apply(pa.table({"text": array})).signals
    whole = [{name: columns[name][row].as_py() for name in columns} for row in range(len(texts))]
    assert whole == measure(texts)
    assert pa.concat_arrays(list(pieces(array, size))).equals(array)


def test_room_is_used_again_and_still_each_text_stands_alone() -> None:
    segmenter = Segmenter()
    long, short = "many words " * 500, "few"
    for text in (short, long, short):
        found = segmenter.segments_of(pa.array([text], pa.large_string()))
        assert found.token_starts.tolist() == [0, len(text.split())]


def test_a_text_of_repeated_lines_says_so() -> None:
    (found,) = measure(["one line\n" * 10])
    assert found["repeated_line_share"] == 900_000
    assert found["top_2gram_char_share"] == 888_888


def test_only_wanted_signals_are_given_and_they_are_the_acts_identity() -> None:
    few = Measured({"num_words"})
    assert [column.name for column in few.columns] == ["num_words"]
    assert few.transform().parameters == {"signals": "num_words"}
    assert few.transform().digest() != ALL.transform().digest()
    near = Measured({"num_words"}, DuplicatesSpec(near=True))
    assert near.transform().parameters["bands"] == 14
    other = Measured({"num_words"}, DuplicatesSpec(near=True, words=4))
    assert near.transform().behaviour != other.transform().behaviour


@given(st.lists(st.text() | texts_of_pieces, min_size=1, max_size=4), st.text(max_size=40))
@settings(deadline=None, max_examples=60)
def test_what_lay_behind_a_text_before_does_not_matter(texts: list[str], other: str) -> None:
    used, fresh = Segmenter(), Segmenter()
    used.segments_of(pa.array([other * 20 + "".join(texts)], pa.large_string()))
    array = pa.array(texts, pa.large_string())
    left, right = used.segments_of(array), fresh.segments_of(array)
    for name in left._fields:
        assert getattr(left, name).tolist() == getattr(right, name).tolist(), name
