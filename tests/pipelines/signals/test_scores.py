"""Classifiers of the user's own: their score is a signal like any other."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError, NotFound
from pipelines.rules.rule import Rule, Side
from pipelines.signals.fasttext_file import labels_of
from pipelines.signals.scores import Scores, score_rules
from pipelines.spec.scores import ScoreSpec, score_specs
from tests.pipelines.signals.tiny_model import tiny_model

WORDS = {"good": (1.0, 0.0), "bad": (0.0, 1.0), "straße": (2.0, 0.0)}
LABELS = {"__label__hq": (2.0, -2.0), "__label__lq": (-2.0, 2.0)}
MODEL = tiny_model(WORDS, LABELS)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "edu.bin").write_bytes(MODEL)
    return tmp_path


def scored(root: Path, *texts: str, label: str = "__label__hq") -> list[int]:
    act = Scores([ScoreSpec("edu", "edu.bin", label)], root)
    table = pa.table({"text": pa.array(["before", *texts], pa.large_string()).slice(1)})
    found: list[int] = act.apply(table).signals["score_edu"].to_pylist()
    return found


def probability(text: str) -> float:
    vectors = [WORDS[word] for word in text.split() if word in WORDS]
    x, y = (sum(axis) / len(vectors) for axis in zip(*vectors, strict=True))
    return 1 / (1 + math.exp(-4 * (x - y)))


@given(st.lists(st.sampled_from(["good", "bad", "straße", "other", "\n", "\u2028", " "])))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_score_is_the_probability_of_the_label_in_millionths(
    tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "edu.bin").write_bytes(MODEL)
    text = " ".join([*words, "good"])
    high, low = scored(tmp_path, text), scored(tmp_path, text, label="__label__lq")
    # fastText adds a hundred-thousandth, and counts in 32 bits.
    assert high[0] == pytest.approx(1_000_000 * probability(text) + 10, abs=3)
    assert high[0] + low[0] == pytest.approx(1_000_020, abs=3)


def test_a_text_of_which_the_model_knows_no_word_has_no_score(root: Path) -> None:
    assert scored(root, "", "other words", "\n") == [0, 0, 0]


def test_lines_do_not_matter_and_no_score_is_above_one(root: Path) -> None:
    assert (
        len(set(scored(root, "good bad", "good\nbad", "good\r\nbad\u0085", "good\u2028bad"))) == 1
    )
    (root / "edu.bin").write_bytes(tiny_model({"good": (99.0, 0.0)}, LABELS))
    assert scored(root, "good") == [1_000_000]
    assert scored(root, "good", label="__label__lq") == [10]


def test_two_scores_may_come_from_one_model(root: Path) -> None:
    specs = [
        ScoreSpec("high", "edu.bin", "__label__hq", 500_000),
        ScoreSpec("low", "edu.bin", "__label__lq", None, 900_000),
    ]
    act = Scores(specs, root)
    signals = act.apply(pa.table({"text": pa.array(["good", ""], pa.large_string())})).signals
    assert [column.name for column in act.columns] == list(signals) == ["score_high", "score_low"]
    assert len(act.files) == 1
    assert list(score_rules(specs)) == [
        Rule("scores.high.min", "score_high", Side.MIN, 500_000),
        Rule("scores.low.max", "score_low", Side.MAX, 900_000),
    ]


def test_another_model_is_another_act_and_another_limit_is_not(root: Path) -> None:
    act = Scores([ScoreSpec("edu", "edu.bin", "__label__hq", 1)], root)
    assert act.transform() == Scores([ScoreSpec("edu", "edu.bin", "__label__hq")], root).transform()
    (root / "edu.bin").write_bytes(tiny_model({"good": (1.0, 0.5)}, LABELS))
    other = Scores([ScoreSpec("edu", "edu.bin", "__label__hq", 1)], root)
    assert act.transform() != other.transform()
    assert act.files != other.files


def test_a_model_that_is_cut_short_anywhere_is_never_loaded(root: Path) -> None:
    for size in range(len(MODEL)):
        with pytest.raises(ConfigError):
            labels_of(MODEL[:size], "edu.bin")
    (root / "edu.bin").write_bytes(MODEL[:-1])
    with pytest.raises(ConfigError, match=r"edu\.bin: the model is cut short or damaged"):
        scored(root, "good")


@given(st.integers(0, len(MODEL) - 1), st.integers(0, 255))
def test_a_damaged_byte_gives_labels_or_an_error(at: int, byte: int) -> None:
    damaged = MODEL[:at] + bytes([byte]) + MODEL[at + 1 :]
    try:
        labels = labels_of(damaged, "edu.bin")
    except ConfigError:
        return
    assert len(labels) <= 5


def test_what_is_no_classifier_is_an_error(root: Path) -> None:
    (root / "edu.bin").write_bytes(b"PK\x03\x04 this is an archive")
    with pytest.raises(ConfigError, match=r"edu\.bin: no model of fastText"):
        scored(root)
    (root / "edu.bin").write_bytes(tiny_model(WORDS, LABELS, kind=2))
    with pytest.raises(ConfigError, match="is no classifier"):
        scored(root)
    (root / "edu.bin").write_bytes(MODEL + b"\0")
    with pytest.raises(ConfigError, match="something follows the model"):
        scored(root)
    (root / "edu.bin").write_bytes(MODEL)
    with pytest.raises(ConfigError, match="has no label 'hq'") as caught:
        scored(root, label="hq")
    assert caught.value.hint == "it has __label__hq, __label__lq"
    with pytest.raises(NotFound, match=r"nope\.ftz: there is no such file"):
        Scores([ScoreSpec("edu", "nope.ftz", "__label__hq")], root)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, r"a list of tables \[\[scores\]\] was expected"),
        ([{"name": "Edu", "model": "a", "label": "b"}], "'Edu' is no name of a score"),
        ([{"name": "edu", "model": "a"}], "'label' is missing"),
        ([{"name": "edu", "model": "a", "label": "b", "min": 1.5}], "1.5 is not between 0 and 1"),
        ([{"name": "edu", "model": "a", "label": "b"}] * 2, "the name 'edu' stands twice"),
        ([{"name": "edu", "model": "a", "label": "b", "least": 1}], "unknown key 'least'"),
    ],
)
def test_a_slip_in_the_section_is_an_error(tables: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        score_specs(tables, "news.toml")


def test_the_section_is_read() -> None:
    tables = [{"name": "edu", "model": "models/edu.ftz", "label": "__label__hq", "min": 0.5}]
    expected = ScoreSpec("edu", "models/edu.ftz", "__label__hq", 500_000)
    assert score_specs(tables, "news.toml") == (expected,)
