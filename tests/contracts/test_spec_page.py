"""docs/spec.md says what the code knows: every signal, rule, default and format."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.rules.sets import RULE_SETS
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.signal import Unit
from pipelines.spec.dataset import DatasetSpec
from pipelines.spec.source import COMPRESSIONS, FORMAT_OF_ENDING, FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "spec.md").read_text("utf-8")


@pytest.mark.parametrize("signal", SIGNALS.values(), ids=lambda signal: signal.name)
def test_every_signal_stands_with_its_unit(signal: object) -> None:
    item = SIGNALS[signal.name]  # type: ignore[attr-defined]
    assert f"| `{item.name}` | {item.unit.value} | {item.what} |" in PAGE


@pytest.mark.parametrize("name", RULE_SETS)
def test_every_rule_stands_with_its_default(name: str) -> None:
    section = PAGE.split(f"### `[rules.{name}]`")[1].split("\n#")[0]
    for rule in RULE_SETS[name]:
        in_millionths = SIGNALS[rule.signal].unit is Unit.MILLIONTHS
        threshold = rule.threshold or 0
        told = f"{threshold / 1e6:g}" if in_millionths else f"{threshold:,}"
        assert f"| `{rule.name.partition('.')[2]}` | `{rule.signal}` | {told} |" in section


def test_every_format_ending_compression_and_section_is_told() -> None:
    for word in (*FORMATS, *FORMAT_OF_ENDING, *COMPRESSIONS):
        assert f"`{word}`" in PAGE, word
    for section in DatasetSpec.__slots__:
        if section not in ("name", "seed"):
            assert section in PAGE, section
