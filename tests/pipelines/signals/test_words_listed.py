"""Lists of words: what stands in a text is counted, in any case and any script."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
import unicodedata2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError, NotFound
from pipelines.rules.rule import Rule, Side
from pipelines.signals.words_listed import WordsListed, words_rules
from pipelines.spec.words import WordsSpec, words_specs

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
# Scripts without spaces that stand in these tests, and what is passed over.
ALONE = [(0x0E00, 0x0F00), (0x1000, 0x10A0), (0x3041, 0x3100), (0x4E00, 0xA000)]
PASSED = "\u00ad\u034f\u180e\u200b\u200c\u200d\u2060\ufeff"


def counted(root: Path, entries: list[str], texts: list[str]) -> list[tuple[int, int]]:
    (root / "bad.txt").write_text("\n".join(entries), "utf-8")
    act = WordsListed([WordsSpec("bad", "bad.txt")], root)
    table = pa.table({"text": pa.array(["before", *texts], pa.large_string()).slice(1)})
    signals = act.apply(table).signals
    columns = [signals[name].to_pylist() for name in ("words_bad", "words_bad_share")]
    return list(zip(*columns, strict=True))


def units(text: str) -> list[tuple[str, bool]]:
    """The units of a text, and whether anything stands before each: as the docstring says."""
    found: list[tuple[str, bool]] = []
    run, gap = "", False
    for char in [*text, " "]:
        folded = char.casefold() if len(char.casefold()) == 1 else char.lower()
        word = unicodedata2.category(char)[0] in "LMN"
        alone = word and any(low <= ord(char) < high for low, high in ALONE)
        if char in PASSED:
            continue
        if word and not alone:
            run += folded
            continue
        if run:
            found.append((run, gap))
            run, gap = "", False
        if alone:
            found.append((folded, gap))
        gap = not alone
    return found


def stands(phrase: list[tuple[str, bool]], words: list[tuple[str, bool]]) -> bool:
    """Whether words begin with a phrase; what stands before the first one does not matter."""
    return [phrase[0][0], *phrase[1:]] == [words[0][0], *words[1 : len(phrase)]]


def expected(entries: list[str], text: str) -> tuple[int, int]:
    phrases = [units(entry) for entry in entries]
    words, count, covered, at = units(text), 0, 0, 0
    while at < len(words):
        fits = [len(phrase) for phrase in phrases if stands(phrase, words[at:])]
        best = max(fits, default=0)
        count, covered, at = count + (best > 0), covered + best, at + max(best, 1)
    return count, 1_000_000 * covered // len(words) if words else 0


@pytest.mark.parametrize(
    ("entry", "text", "times"),
    [
        ("casino", "Casino! CASINO? casinos are none; a casino-goer, a_casino", 4),
        ("new york", "New York, new\n  york; New-York. Newyork new, yorker", 3),
        ("straße", "STRASSE is spelled otherwise, Straße and STRAẞE are not", 2),
        ("Ödipus", "o\u0308dipus is not in NFC, ödipus is", 1),
        ("赌场", "在赌场里,赌 场,赌场", 2),
        ("คาสิโน", "เล่นคาสิโนออนไลน์", 1),
        ("казино", "КАЗИНО казино казиношный", 2),
        ("don't", "Don't, don\u2019t, dont", 2),
        ("viagra", "via\u00adgra v\u200bi\u200da\u2060gra", 2),
        ("3d", "3D 3 d 33d", 1),
    ],
)
def test_a_word_is_found_where_it_stands_by_itself(
    tmp_path: Path, entry: str, text: str, times: int
) -> None:
    ((count, _),) = counted(tmp_path, [entry], [text])
    assert count == times


def test_the_longest_phrase_counts_and_none_inside_another(tmp_path: Path) -> None:
    entries = ["new", "new york", "york times", "new york times square"]
    texts = ["new york times", "a new york times square", "new new york york times"]
    found = counted(tmp_path, entries, texts)
    assert found == [(1, 666_666), (1, 800_000), (3, 1_000_000)]


WORDS = st.sampled_from(["a", "B", "ab", "É", "中", "文", "ก", "ß", "\u0301", " ", "-", "\u200b"])
TEXT = st.lists(WORDS, max_size=12).map("".join)
ENTRY = TEXT.map(str.strip).filter(lambda text: bool(units(text)) and not text.startswith("#"))


@given(st.lists(ENTRY, min_size=1, max_size=4), st.lists(TEXT, max_size=4))
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_counts_are_those_of_a_plain_search(
    tmp_path: Path, entries: list[str], texts: list[str]
) -> None:
    composed = [unicodedata2.normalize("NFC", entry) for entry in entries]
    assert counted(tmp_path, entries, texts) == [expected(composed, text) for text in texts]


def test_real_texts_are_counted_as_a_plain_search_counts_them(tmp_path: Path) -> None:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    texts = [json.loads(row)["text"][:1500] for row in rows[::12]]
    entries = ["the", "of the", "人", "人人", "право", "todo ser humano", "ทุก", "حق"]
    found = counted(tmp_path, entries, texts)
    assert found == [expected(entries, text) for text in texts]
    assert sum(count for count, _ in found) > 50


def test_each_list_has_its_own_signals_and_rules(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("two\none two\n")
    specs = (WordsSpec("a", "a.txt", 3), WordsSpec("b", "b.txt", None, 10_000))
    act = WordsListed(specs, tmp_path)
    signals = act.apply(pa.table({"text": pa.array(["one two"], pa.large_string())})).signals
    assert {name: column.to_pylist() for name, column in signals.items()} == {
        "words_a": [1],
        "words_a_share": [500_000],
        "words_b": [1],
        "words_b_share": [1_000_000],
    }
    assert [column.name for column in act.columns] == list(signals)
    assert list(words_rules(specs)) == [
        Rule("words.a.max", "words_a", Side.MAX, 3),
        Rule("words.b.max_share", "words_b_share", Side.MAX, 10_000),
    ]


def test_another_word_is_another_act_and_another_limit_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    act = WordsListed([WordsSpec("a", "a.txt", 3)], tmp_path)
    assert act.transform() == WordsListed([WordsSpec("a", "a.txt", 9)], tmp_path).transform()
    (tmp_path / "a.txt").write_text("# a comment\none\n")
    assert act.files == WordsListed([WordsSpec("a", "a.txt")], tmp_path).files
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    other = WordsListed([WordsSpec("a", "a.txt", 3)], tmp_path)
    assert other.transform() != act.transform()
    assert other.files != act.files


def test_what_is_no_word_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nope\.txt"):
        WordsListed([WordsSpec("a", "nope.txt")], tmp_path)
    with pytest.raises(ConfigError, match=r"bad\.txt: '!!!' has no letter or digit"):
        counted(tmp_path, ["one", "!!!"], [])
    with pytest.raises(ConfigError, match="is longer than 64"):
        counted(tmp_path, ["字" * 65], [])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, r"a list of tables \[\[words\]\] was expected"),
        ([{"name": "Bad", "file": "a"}], "'Bad' is no name of a list"),
        ([{"name": "a"}], "'file' is missing"),
        ([{"name": "a", "file": "a", "max_share": 2}], "2 is not between 0 and 1"),
        ([{"name": "a", "file": "a"}] * 2, "the name 'a' stands twice"),
        ([{"name": n, "file": "a"} for n in ("a", "a_share")], "the name 'a' stands twice, or"),
        ([{"name": "a", "file": "a", "maximum": 1}], "unknown key 'maximum'"),
    ],
)
def test_a_slip_in_the_section_is_an_error(tables: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        words_specs(tables, "news.toml")


def test_the_section_is_read() -> None:
    tables = [{"name": "bad", "file": "lists/bad.txt", "max": 3, "max_share": 0.01}]
    assert words_specs(tables, "news.toml") == (WordsSpec("bad", "lists/bad.txt", 3, 10_000),)
