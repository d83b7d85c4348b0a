"""What the report draws: histograms, with the thresholds that concern the documents."""

from __future__ import annotations

import pyarrow as pa

from lineage.audit.rules import Keeps, VersionRule
from shardline.report.facts import charts

LANGUAGES = ("de", "pt", "zh")
BY_LANGUAGE = {word: Keeps("num_words", ">=", 10 + at) for at, word in enumerate(LANGUAGES)}
RULE = VersionRule("set.min_words", Keeps("num_words", ">=", 50), BY_LANGUAGE)


def test_of_thresholds_by_language_those_that_most_documents_speak_are_drawn() -> None:
    spoken = ["de"] * 3 + ["zh"] * 2 + ["pt"] + [None]
    decisions = pa.table(
        {
            "verdict": ["kept"] * len(spoken),
            "language": pa.array(spoken, pa.string()),
            "num_words": pa.array(range(len(spoken)), pa.int64()),
        }
    )
    (chart,) = charts(decisions, [RULE])
    assert chart.rules == (
        "set.min_words: keeps >= 50",
        "set.min_words[de]: keeps >= 10",
        "set.min_words[zh]: keeps >= 12",
    )


def test_without_languages_the_usual_threshold_is_drawn_alone() -> None:
    decisions = pa.table({"verdict": ["kept"], "num_words": pa.array([7], pa.int64())})
    (chart,) = charts(decisions, [RULE])
    assert chart.rules == ("set.min_words: keeps >= 50",)
