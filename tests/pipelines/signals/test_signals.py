"""Every signal against a plain Python oracle, on real text in many scripts and on any text."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.probe import PROBE_TEXTS
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.measured import Measured, pieces
from pipelines.signals.segments import Segmenter
from pipelines.spec.duplicates import DuplicatesSpec
from tests.pipelines.signals.oracle import signals

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
        "\U0001f600",
        "\r",
        "- item\n",
        "the same line again.\n",
    ]
)
texts_of_pieces = st.lists(PIECES, max_size=60).map("".join)


def measure(texts: list[str]) -> list[dict[str, int]]:
    documents = pa.table({"text": pa.array(texts, pa.large_string())})
    columns = ALL.apply(documents).signals
    assert set(columns) == set(SIGNALS)
    return [{name: columns[name][row].as_py() for name in columns} for row in range(len(texts))]


def sample_texts() -> list[str]:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    return [json.loads(row)["text"] for row in rows]


def test_real_text_in_57_languages_measures_as_the_oracle_says() -> None:
    # Short enough for the oracle, and long enough to hold repetition.
    texts = [text[:3000] for text in sample_texts()]
    for text, found in zip(texts, measure(texts), strict=True):
        assert found == signals(text), text[:80]


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
