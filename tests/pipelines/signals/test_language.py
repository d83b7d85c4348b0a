"""Languages are detected, the same way every time, with a share that says how sure."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError
from pipelines.signals.language import UNKNOWN, Language, detected
from pipelines.spec.language import LanguageSpec, language_spec

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"


def test_the_declaration_of_human_rights_is_told_in_its_languages() -> None:
    wanted = {"por": "pt", "eng": "en", "fra": "fr", "deu": "de", "rus": "ru", "arb": "ar"}
    rows = [json.loads(line) for line in (SAMPLE / "udhr.jsonl").open("rb")]
    found = [(row["lang"], detected(row["text"])[0]) for row in rows if "lang" in row]
    known = [(label, code) for label, code in found if label[:3] in wanted]
    assert all(code == wanted[label[:3]] for label, code in known)
    assert sum(code != UNKNOWN for _, code in found) > 0.8 * len(found)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Isto é um texto escrito em português, para que se veja a língua.", "pt"),
        ("This is a text in English so that its language can be seen.", "en"),
        ("这是一段中文文本,用来检查语言识别是否正确。", "zh"),
        ("這是一段繁體中文文字,用來檢查語言識別是否正確。", "zh"),
        ("זהו טקסט בעברית כדי לבדוק את זיהוי השפה.", "he"),
        ("これは日本語のテキストです。", "ja"),
        ("", UNKNOWN),
        ("12345 67890 --- !!!", UNKNOWN),
        ("\x00\x01\ufffe", UNKNOWN),
    ],
)
def test_a_language_is_known_by_its_code(text: str, code: str) -> None:
    assert detected(text)[0] == code


def test_controls_inside_a_text_do_not_hide_its_language() -> None:
    assert detected("This is a text\x00 in English\x1b so that it can be seen.")[0] == "en"


def test_no_code_point_is_refused_inside_a_text() -> None:
    planes = [chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF)]
    refused = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\ufdd0", "\ufdef", *planes]
    sentence = "This is a text in English so that its language can be seen{}in spite of it."
    assert {detected(sentence.format(char))[0] for char in refused} == {"en"}


def test_a_long_text_is_looked_at_from_its_start_to_its_end() -> None:
    english = "The lion lies down in the evening and sleeps until the sun is up again.\n" * 400
    german = "Der Löwe legt sich am Abend nieder und schläft, bis die Sonne aufgeht.\n" * 400
    code, share = detected(english + german + english)
    assert code == "en"
    assert 550_000 < share < 800_000
    chinese = "很长的中文文本,其字符由三个字节组成。"
    assert detected(chinese * 3000)[0] == detected(chinese)[0] == "zh"


@given(st.lists(st.text() | st.text(min_size=400).map(lambda text: text * 9), max_size=5))
@settings(deadline=None, max_examples=60)
def test_a_text_is_told_alike_wherever_it_stands(texts: list[str]) -> None:
    column = pa.array(["first", *texts, "last"], pa.large_string()).slice(1, len(texts))
    found = Language().apply(pa.table({"text": column})).signals["language"].to_pylist()
    assert found == [detected(text)[0] for text in texts]


@given(st.lists(st.text(), max_size=5))
@settings(deadline=None, max_examples=100)
def test_any_text_has_a_code_and_a_share(texts: list[str]) -> None:
    columns = Language().apply(pa.table({"text": pa.array(texts, pa.large_string())})).signals
    assert columns["language"].to_pylist() == [detected(text)[0] for text in texts]
    assert all(0 <= share <= 1_000_000 for share in columns["language_share"].to_pylist())


def test_the_section_names_codes() -> None:
    table = {"allowed": ["en", "pt"], "min_share": 0.5}
    assert language_spec(table, "news.toml") == LanguageSpec(("en", "pt"), 500_000)
    with pytest.raises(ConfigError, match="'english' is no code of a language"):
        language_spec({"allowed": ["english"]}, "news.toml")
