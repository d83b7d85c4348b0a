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
