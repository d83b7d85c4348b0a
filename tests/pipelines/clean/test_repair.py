"""Damage is repaired, and what is not damaged is never touched."""

from __future__ import annotations

import json
from pathlib import Path

import ftfy
import pyarrow as pa
import pytest
from ftfy.badness import is_bad
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
        ("РґРѕСЂРѕРіРµ Р\x98Р·-РїРѕРґ", "дороге Из-под"),
        ("g√¢teaux et r√©gime √©quilibr√©", "gâteaux et régime équilibré"),
        ("Tiß║┐ng Viß╗çt", "Tiếng Việt"),
        ("voilÃ  le travail", "voilà le travail"),
        ("Ã\x85ngstr\u00c3\u00b6m\r\nand 中文", "Ångström\nand 中文"),
        ("中文\n\x84Handwerk\x93\n中文", "中文\n„Handwerk“\n中文"),
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
        "Characters such as “Ã©” show that a file in UTF-8 was read as ISO-8859-1.",
        "À        A\nÂ        A\nÃ        A",
        'x = StrConv("ÉÏº£ÊÐABC", vbFromUnicode)',
    ],
)
def test_what_is_no_damage_stays(text: str) -> None:
    assert repaired([text]) == [text]


def test_real_text_in_57_languages_is_hardly_touched() -> None:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    texts = pa.array([json.loads(row)["text"] for row in rows], pa.large_string())
    for act in ALL:
        assert len(act.apply(pa.table({"text": texts})).places) <= 2


def test_a_control_in_a_text_of_another_script_is_no_letter_of_windows() -> None:
    assert repaired(["도움이 됩니\x8b¤. 자세한", "冀\x9b建"]) == ["도움이 됩니¤. 자세한", "冀建"]


TEXTS = st.text() | st.text(alphabet="Ãâ€©™\r\n\x85é\x00\ufeffÐ¿Ñ ¬¢œa")


@pytest.mark.parametrize("act", ALL, ids=lambda act: act.name)
@given(texts=st.lists(TEXTS, max_size=5))
@settings(deadline=None, max_examples=100)
def test_repairing_twice_is_repairing_once_and_rows_are_independent(
    act: Act, texts: list[str]
) -> None:
    once = repaired(texts, (act,))
    assert repaired(once, (act,)) == once
    assert once == [repaired([text], (act,))[0] for text in texts]


@given(st.lists(TEXTS, max_size=3).map("\n".join))
@settings(deadline=None, max_examples=200)
def test_whatever_ftfy_repairs_is_looked_at(text: str) -> None:
    assert repaired([text], (Mojibake(),)) == [mended(text)]


def mended(text: str) -> str:
    config = ftfy.TextFixerConfig(fix_c1_controls=False, decode_inconsistent_utf8=False)
    return "\n".join(
        ftfy.fix_encoding(line, config) if is_bad(f"\n{line}") else line
        for line in text.split("\n")
    )


def test_each_kind_is_an_act_of_its_own() -> None:
    assert [act.name for act in ALL] == ["mojibake", "line_endings", "controls"]
    assert repairs(RepairSpec()) == ()
    assert len({act.transform().digest() for act in ALL}) == 3
    assert isinstance(repairs(RepairSpec(mojibake=True))[0], Mojibake)


def test_the_section_is_a_word_or_a_table() -> None:
    assert repair_spec(True, "news.toml") == RepairSpec(True, True, True)
    assert repair_spec({"controls": True}, "news.toml") == RepairSpec(controls=True)
