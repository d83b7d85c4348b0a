"""The published rule sets, their thresholds, and how a spec changes them."""

from __future__ import annotations

import tomllib

import pytest

from lineage.errors import ConfigError
from pipelines.rules.rule import Rule, Side
from pipelines.rules.sets import RULE_SETS
from pipelines.signals.catalogue import SIGNALS
from pipelines.spec.rules import rule_set_specs

# From the papers: arXiv 2112.11446 (A.1.1, table A1), 1910.10683 (2.2), 2406.17557 (3.6). FineWeb-2
# has no numbers for all languages: those of Gopher and FineWeb, and 0.1 as its pipeline has it.
PUBLISHED = {
    "gopher_quality": {
        "min_words": 50, "max_words": 100_000, "min_word_length": 3, "max_word_length": 10,
        "max_hashes": 0.1, "max_ellipses": 0.1, "max_bullet_lines": 0.9,
        "max_ellipsis_lines": 0.3, "min_alphabetic": 0.8, "min_stop_words": 2,
    },
    "gopher_repetition": {
        "max_repeated_lines": 0.3, "max_repeated_paragraphs": 0.3,
        "max_repeated_line_chars": 0.2, "max_repeated_paragraph_chars": 0.2,
        "max_top_2gram": 0.2, "max_top_3gram": 0.18, "max_top_4gram": 0.16,
        "max_repeated_5grams": 0.15, "max_repeated_6grams": 0.14, "max_repeated_7grams": 0.13,
        "max_repeated_8grams": 0.12, "max_repeated_9grams": 0.11, "max_repeated_10grams": 0.1,
    },
    "c4": {"max_lorem_ipsum": 0, "max_braces": 0, "min_sentences": 5},
    "fineweb": {
        "min_ending_lines": 0.12, "max_short_lines": 0.67, "max_repeated_line_text": 0.01,
        "max_line_feeds": 0.3,
    },
    "fineweb2": {
        "max_repeated_lines": 0.3, "max_top_2gram": 0.2, "max_top_3gram": 0.18,
        "max_top_4gram": 0.16, "max_repeated_5grams": 0.15, "max_repeated_6grams": 0.14,
        "max_repeated_7grams": 0.13, "max_repeated_8grams": 0.12, "max_repeated_9grams": 0.11,
        "max_repeated_10grams": 0.1, "min_ending_lines": 0.12, "max_repeated_line_text": 0.1,
        "max_line_feeds": 0.3, "min_words": 50, "max_words": 100_000, "min_word_length": 3,
        "max_word_length": 10, "max_hashes": 0.1, "max_ellipses": 0.1, "max_bullet_lines": 0.9,
        "max_ellipsis_lines": 0.3, "min_alphabetic": 0.8, "min_stop_words": 0,
    },
}  # fmt: skip
# configs/por_Latn.yml and configs/cmn_Hani.yml of huggingface/fineweb-2 at d0defb24.
PORTUGUESE = {
    "max_repeated_lines": 0.287, "max_top_2gram": 0.371, "max_top_3gram": 0.191,
    "max_top_4gram": 0.163, "max_repeated_5grams": 0.163, "max_repeated_6grams": 0.153,
    "max_repeated_7grams": 0.141, "max_repeated_8grams": 0.13, "max_repeated_9grams": 0.119,
    "max_repeated_10grams": 0.108, "min_ending_lines": 0.077, "max_line_feeds": 0.186,
    "min_word_length": 3, "max_word_length": 13, "min_alphabetic": 0.814, "min_stop_words": 2,
}  # fmt: skip
CHINESE = {
    "max_repeated_lines": 0.287, "max_top_2gram": 0.256, "max_top_3gram": 0.201,
    "max_top_4gram": 0.171, "max_repeated_5grams": 0.198, "max_repeated_6grams": 0.182,
    "max_repeated_7grams": 0.167, "max_repeated_8grams": 0.154, "max_repeated_9grams": 0.14,
    "max_repeated_10grams": 0.127, "min_ending_lines": 0.106, "max_line_feeds": 0.178,
    "min_word_length": 1, "max_word_length": 5, "min_alphabetic": 0.735, "min_stop_words": 2,
}  # fmt: skip


def rules(toml: str) -> list[Rule]:
    specs = rule_set_specs(tomllib.loads(toml)["rules"], "news.toml")
    return [rule for spec in specs for rule in spec.rules()]


def in_unit(rule: Rule, threshold: int | None) -> float:
    scale = 1_000_000 if SIGNALS[rule.signal].unit == "millionths" else 1
    assert threshold is not None
    return threshold / scale


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_defaults_are_those_of_the_papers(name: str) -> None:
    found = {
        rule.name.removeprefix(f"{name}."): in_unit(rule, rule.threshold)
        for rule in RULE_SETS[name]
    }
    assert found == PUBLISHED[name]
    for rule in RULE_SETS[name]:
        assert rule.name.partition(".")[2].startswith(rule.side.value)


@pytest.mark.parametrize(("language", "numbers"), [("pt", PORTUGUESE), ("zh", CHINESE)])
def test_fineweb2_has_the_published_numbers_of_a_language(
    language: str, numbers: dict[str, float]
) -> None:
    found = {
        rule.name.removeprefix("fineweb2."): in_unit(rule, rule.languages[language])
        for rule in RULE_SETS["fineweb2"]
        if language in rule.languages
    }
    assert found == numbers


def test_rules_on_words_do_not_hold_where_no_spaces_are_between_them() -> None:
    free = {rule.name for rule in RULE_SETS["fineweb2"] if rule.languages.get("th", 0) is None}
    assert free == {
        f"fineweb2.{name}" for name in ("min_words", "max_word_length", "max_line_feeds")
    }


def test_a_number_in_the_spec_goes_before_published_ones_of_languages_it_does_not_name() -> None:
    toml = "[rules.fineweb2]\nmin_alphabetic = 0.5\n"
    toml += "[rules.fineweb2.languages.pt]\nmax_word_length = 9\nmin_stop_words = false\n"
    found = {rule.name.removeprefix("fineweb2."): rule for rule in rules(toml)}
    assert (found["min_alphabetic"].threshold, found["min_alphabetic"].languages) == (500_000, {})
    assert found["max_word_length"].languages["pt"] == 9_000_000
    assert found["max_word_length"].languages["de"] == 15_000_000
    assert found["min_stop_words"].languages["pt"] is None
    assert found["min_stop_words"].languages["de"] == 2


def test_a_table_alone_uses_the_set_with_its_defaults_in_the_fixed_order() -> None:
    found = rules("[rules.fineweb]\n[rules.c4]\n")
    assert found == [*RULE_SETS["c4"], *RULE_SETS["fineweb"]]


def test_any_number_can_be_set_and_a_rule_switched_off() -> None:
    toml = "[rules.gopher_quality]\nmin_words = 9\nmax_hashes = 0.25\nmin_stop_words = false\n"
    found = {rule.name: rule.threshold for rule in rules(toml)}
    assert found["gopher_quality.min_words"] == 9
    assert found["gopher_quality.max_hashes"] == 250_000
    assert "gopher_quality.min_stop_words" not in found


def test_a_language_has_its_own_numbers() -> None:
    toml = "[rules.gopher_quality]\nmin_stop_words = false\n"
    toml += "[rules.gopher_quality.languages.zh]\nmin_words = 9\n"
    toml += "[rules.gopher_quality.languages.en]\nmin_stop_words = 3\n"
    found = {rule.name: rule for rule in rules(toml)}
    assert found["gopher_quality.min_words"].languages == {"zh": 9}
    only = Rule("gopher_quality.min_stop_words", "stop_words", Side.MIN, None, {"en": 3})
    assert found["gopher_quality.min_stop_words"] == only


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[rules.gofer]", "unknown key 'gofer'"),
        ("[rules.c4]\nmin_sentence = 3", "unknown key 'min_sentence'.*'min_sentences'"),
        ("[rules.c4]\nmin_sentences = -1", "-1 is not between"),
        ("[rules.c4]\nmin_sentences = 1.5", "an integer was expected"),
        ("[rules.c4]\nmin_sentences = true", "an integer was expected, not bool"),
        ("[rules.fineweb]\nmax_short_lines = 0.00000001", "finer than a millionth"),
        ("[rules.fineweb]\nlanguages = 3", "a table by language was expected"),
        ("[rules.fineweb.languages.zh]\nmax_lines = 3", "zh: unknown key 'max_lines'"),
        ("[rules]\nc4 = 3", "a table was expected, not int"),
    ],
)
def test_a_slip_is_an_error_that_names_it(toml: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rules(toml)
