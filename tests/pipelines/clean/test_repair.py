"""Damage is repaired, and what is not damaged is never touched."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.clean.act import Act
from pipelines.clean.nfc import replaced
from pipelines.clean.repair import Mojibake, repairs
from pipelines.spec.repair import RepairSpec, repair_spec

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
ALL = repairs(RepairSpec(mojibake=True, controls=True, line_endings=True))


def repaired(texts: list[str], acts: tuple[Act, ...] = ALL) -> list[str]:
    column = pa.array(texts, pa.large_string())
    for act in acts:
        effect = act.apply(pa.table({"text": column}))
        column = replaced(column, effect.places, effect.texts)
    found: list[str] = column.to_pylist()
    return found


@pytest.mark.parametrize(
    ("damaged", "whole"),
    [
        ("La cafÃ©tÃ©ria est fermÃ©e", "La cafétéria est fermée"),
        ("Itâ€™s a â€œtestâ€\x9d", "It’s a “test”"),
        ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚ Ð¼Ð¸Ñ€", "привет мир"),
        ("one\r\ntwo\rthree\u2028four\x85five", "one\ntwo\nthree\nfour\nfive"),
        ("a\x00b\x07c\x1b[0m\ufeffd\ufffe", "abc[0md"),
    ],
)
def test_damage_is_undone(damaged: str, whole: str) -> None:
    assert repaired(["untouched", damaged]) == ["untouched", whole]


@pytest.mark.parametrize(
    "text",
    [
        "L’été à l’hôtel “Élysée” – naïve, façade",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469 \u200f\u0627",
        "tab\tand form feed\x0c stay",
        "Ｆｕｌｌ ｗｉｄｔｈ ﬁ ½ stay",
        "AÑO NUEVO, ÂME, São Paulo, Ångström",
    ],
)
def test_what_is_no_damage_stays(text: str) -> None:
    assert repaired([text]) == [text]


def test_real_text_in_57_languages_is_hardly_touched() -> None:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    texts = pa.array([json.loads(row)["text"] for row in rows], pa.large_string())
    for act in ALL:
        assert len(act.apply(pa.table({"text": texts})).places) <= 2


@given(st.lists(st.text() | st.text(alphabet="Ãâ€©™\r\n\x85é\x00\ufeffÐ¿Ñ"), max_size=5))
@settings(deadline=None, max_examples=150)
def test_repairing_twice_is_repairing_once_and_rows_are_independent(texts: list[str]) -> None:
    endings_and_controls = (ALL[0], ALL[2])
    once = repaired(texts, endings_and_controls)
    assert repaired(once, endings_and_controls) == once
    assert once == [repaired([text], endings_and_controls)[0] for text in texts]


def test_each_kind_is_an_act_of_its_own() -> None:
    assert [act.name for act in ALL] == ["line_endings", "mojibake", "controls"]
    assert repairs(RepairSpec()) == ()
    assert len({act.transform().digest() for act in ALL}) == 3
    assert isinstance(repairs(RepairSpec(mojibake=True))[0], Mojibake)


def test_the_section_is_a_word_or_a_table() -> None:
    assert repair_spec(True, "news.toml") == RepairSpec(True, True, True)
    assert repair_spec({"controls": True}, "news.toml") == RepairSpec(controls=True)
