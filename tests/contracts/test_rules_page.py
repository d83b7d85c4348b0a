"""docs/rules.md says what the code does: every signal, rule, number and stop word."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.rules.rule import Side
from pipelines.rules.sets import RULE_SETS
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.signal import Unit
from pipelines.signals.stop_words import WORDS_OF

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")


def section(title: str) -> list[str]:
    return PAGE.split(f"# {title}\n")[1].split("\n#")[0].splitlines()


def rows(lines: list[str]) -> list[list[str]]:
    """The cells of a section's tables, without their heads."""
    cells = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in cells]


def told(signal: str, threshold: int | None) -> str:
    if threshold is None:
        return "\u2013"
    in_millionths = SIGNALS[signal].unit is Unit.MILLIONTHS
    return f"{threshold / 1e6:g}" if in_millionths else f"{threshold:,}"


def test_every_signal_stands_once_with_its_unit() -> None:
    found = [(row[0].strip("`"), row[1]) for row in rows(section("Signals"))[2:]]
    assert found == [(signal.name, signal.unit.value) for signal in SIGNALS.values()]


@pytest.mark.parametrize("name", RULE_SETS)
def test_every_rule_stands_with_its_threshold(name: str) -> None:
    expected = [
        [
            f"`{rule.name.partition('.')[2]}`",
            f"`{rule.signal}` {'>=' if rule.side is Side.MIN else '<='} "
            + told(rule.signal, rule.threshold),
        ]
        for rule in RULE_SETS[name]
    ]
    assert rows(section(f"`{name}`"))[2:] == expected


def test_every_number_of_a_language_stands_there() -> None:
    found: dict[str, dict[str, str]] = {}
    head: list[str] = []
    for row in rows(section("`fineweb2` by language")):
        if not row[0]:
            head = [cell.strip("`") for cell in row]
        elif not row[0].startswith("-"):
            found.setdefault(row[0], {}).update(zip(head[1:], row[1:], strict=True))
    own = {rule.name.partition(".")[2]: rule for rule in RULE_SETS["fineweb2"]}
    languages = own["max_repeated_lines"].languages
    assert found == {
        language: {name: told(own[name].signal, own[name].languages[language]) for name in numbers}
        for language, numbers in found.items()
    }
    assert set(found) == set(languages)
    told_rules = set(found["pt"]) | {"min_stop_words"}
    assert told_rules == {name for name, rule in own.items() if "pt" in rule.languages}


def test_every_stop_word_stands_there() -> None:
    found = {row[0]: tuple(row[1].split(" ")) for row in rows(section("Stop words"))[2:]}
    assert found == WORDS_OF
