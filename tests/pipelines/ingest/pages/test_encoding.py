"""Encodings: what is known is read, what is guessed is told, what is damaged is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.ingest.pages.encoding import Decoded, decoded
from pipelines.ingest.refused import Refused

GERMAN = "Der Fluß fließt über die Brücke, und die Mühle mahlt das Korn für die Bäcker. " * 6
FRENCH = "Les élèves étaient déjà arrivés à l'école où ils préféraient être à l'abri. " * 6
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 6
POLISH = "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. " * 6
GREEK = "Η ελληνική γλώσσα είναι μία από τις παλαιότερες που γράφονται και σήμερα. " * 6
JAPANESE = "日本語のテキストは文字コードの判定がむずかしいことで知られている。" * 6
CHINESE = "自然语言处理需要大量的文本，而文本的编码各不相同，必须先弄清楚才能使用。" * 6
KOREAN = "한국어 문서는 오래전부터 여러 가지 문자 집합으로 저장되어 왔습니다. " * 6


def reason_of(data: bytes, declared: str = "detect") -> str:
    with pytest.raises(Refused) as refused:
        decoded(data, declared)
    return refused.value.reason


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        (GERMAN, "latin-1", "cp1252"),
        (FRENCH, "cp1252", "cp1252"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8-r"),
        (POLISH, "iso8859-2", "iso8859-2"),
        (GREEK, "iso8859-7", "iso8859-7"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (JAPANESE, "iso2022_jp", "iso2022_jp"),
        (CHINESE, "gb2312", "gb18030"),
        (KOREAN, "euc_kr", "cp949"),
    ],
)
def test_what_bytes_look_like_is_detected_and_told(text: str, encoding: str, found: str) -> None:
    assert decoded(text.encode(encoding), "detect") == Decoded(text, found)


@pytest.mark.parametrize("text", [GERMAN, CHINESE + "\n", RUSSIAN, KOREAN])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_with_a_mark_and_without(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    mark = "\ufeff".encode(encoding)
    assert decoded(mark + data, "detect") == Decoded(text, encoding)
    assert decoded(data, "detect") == Decoded(text, encoding)


def test_a_mark_goes_before_everything_and_is_no_part_of_the_text() -> None:
    assert decoded(b"\xef\xbb\xbfa", "latin-1", ["koi8-r"]) == Decoded("a", None)
    assert decoded("\ufeffä".encode("utf-32-be"), "detect") == Decoded("ä", "utf-32-be")
    assert reason_of(b"\xff\xfea") == "unknown_encoding"
    assert reason_of(b"\xef\xbb\xbfa\xff") == "invalid_utf8"
    assert reason_of("\ufeffä".encode("utf-16"), "utf-8") == "invalid_utf8"


def test_utf8_goes_before_what_a_spec_or_a_page_says() -> None:
    data = "café".encode()
    assert decoded(data, "latin-1") == Decoded("café", None)
    assert decoded(data, "detect", ["windows-1251"]) == Decoded("café", None)


def test_the_encoding_of_the_spec_is_not_second_guessed() -> None:
    data = RUSSIAN.encode("cp1251")
    assert decoded(data, "koi8-r", ["windows-1251"]).encoding == "koi8-r"
    assert reason_of(b"\x81\xff", "shift_jis") == "unknown_encoding"
    assert reason_of(data, "utf-8") == "invalid_utf8"


def test_names_on_the_web_mean_their_supersets_and_wrong_ones_are_passed_over() -> None:
    quotes = "“wörtlich” – €".encode("cp1252")
    assert decoded(quotes, "detect", ["ISO-8859-1"]) == Decoded("“wörtlich” – €", "cp1252")
    wrong = ["no-such-name", "unicode_escape", "punycode", "utf-7", "hex", "utf-8", ""]
    assert decoded(quotes, "detect", [*wrong, "latin1"]).encoding == "cp1252"


@pytest.mark.parametrize("text", [GERMAN, RUSSIAN, JAPANESE, KOREAN])
def test_damaged_utf8_is_never_read_as_something_else(text: str) -> None:
    data = text.encode()
    for broken in (data + b"\xff", b"\xc3" + data, data[:-1] + b"\xe3\x81"):
        assert reason_of(broken) == "invalid_utf8"
        with pytest.raises(Refused, match="invalid_utf8"):
            decoded(broken, "detect", ["windows-1252"])


def test_bytes_that_are_no_text_are_refused() -> None:
    assert reason_of(b"a\0b") == "nul_character"
    assert reason_of(bytes(range(256)) * 40) in ("unknown_encoding", "nul_character")
    jpeg = b"\xff\xd8\xff\xe0\x10JFIF\x01\x02\x01" + bytes(range(1, 256)) * 3
    assert reason_of(jpeg) == "unknown_encoding"


def test_a_text_whose_first_other_letter_comes_late_is_detected() -> None:
    text = "plain words and nothing else. " * 10_000 + RUSSIAN
    assert decoded(text.encode("cp1251"), "detect") == Decoded(text, "cp1251")


def test_the_guess_does_not_hang_on_the_seed_of_hashes() -> None:
    code = (
        "from pipelines.ingest.pages.encoding import decoded\n"
        "for n in range(8, 200, 7):\n"
        "    data = ('Größe, %d: naïve façade' % n * 3)[:n].encode('cp1252')\n"
        "    print(decoded(data, 'detect').encoding)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\x1b\ufeff"), max_size=60))
@settings(deadline=None, max_examples=100)
def test_utf8_is_read_as_it_is(text: str) -> None:
    for declared in ("utf-8", "detect", "cp1252"):
        assert decoded(text.encode(), declared) == Decoded(text, None)


@given(st.binary(max_size=80))
@settings(deadline=None, max_examples=100)
def test_any_bytes_are_a_text_that_tokenizers_can_see_or_refused(data: bytes) -> None:
    try:
        found = decoded(data, "detect", ["gbk"])
    except Refused:
        return
    assert "\0" not in found.text
    found.text.encode("utf-8")
