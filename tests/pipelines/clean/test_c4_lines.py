"""Lines leave as for C4, against a plain Python oracle, and what stays is not touched."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError
from pipelines.clean.c4_lines import REMOVED, C4Lines, without_lines
from pipelines.clean.nfc import replaced
from pipelines.signals import characters
from pipelines.spec.lines import C4LinesSpec, c4_lines_spec
from tests.pipelines.signals.oracle import is_word, kind, marked, shown, tokens

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
PUBLISHED = C4LinesSpec()
NOTHING = C4LinesSpec(False, None, None, False, False, False)
CITATION = re.compile(r"\[[0-9]*\]|\[edit\]|\[citation needed\]")
PHRASES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies")


def leaves(line: str, spec: C4LinesSpec) -> bool:
    """Whether a line leaves; its citations are out, and something shows in it."""
    lower = line.lower().encode("ascii", "replace").decode()
    last = shown(line)[-1]
    ends = marked(last, characters.TERMINAL) or marked(last, characters.QUOTE)
    dots = re.search("(?:\u2026|\\.\\.\\.)\\Z", line[: line.rindex(last) + 1])
    runs = "".join(
        " " if kind(char) in (characters.SPACE, characters.IDEOGRAPH) else "x" for char in line
    )
    return (
        (spec.terminal and bool(not ends or dots))
        or sum(map(is_word, tokens(line))) < (spec.min_words or 0)
        or max(map(len, runs.split(" "))) > (spec.max_word_length or len(line))
        or (spec.javascript and "javascript" in lower)
        or (spec.policy and any(phrase in lower for phrase in (*PHRASES, "use cookies")))
    )


def left(text: str, spec: C4LinesSpec) -> tuple[str, int]:
    """What a text becomes, and how many lines leave."""
    rows = text.split("\n")
    bare = [CITATION.sub("", row) if spec.citations else row for row in rows]
    blank = [not shown(row) for row in rows]
    gone = [not blank[i] and (not shown(row) or leaves(row, spec)) for i, row in enumerate(bare)]
    kept = [i for i in range(len(rows)) if not blank[i] and not gone[i]]
    if not kept:
        return ("" if any(gone) else text), sum(gone)
    found = [] if any(gone[: kept[0]]) else rows[: kept[0]]
    for this, following in zip(kept, [*kept[1:], len(rows)], strict=True):
        between = range(this + 1, following)
        found.append(bare[this])
        if not any(gone[i] for i in between):
            found += [rows[i] for i in between]
        elif following < len(rows) and any(blank[i] for i in between):
            found.append("")
    return "\n".join(found), sum(gone)


def taken(texts: list[str], spec: C4LinesSpec = PUBLISHED) -> list[tuple[str, int]]:
    effect = C4Lines(spec).apply(pa.table({"text": pa.array(texts, pa.large_string())}))
    column = replaced(pa.array(texts, pa.large_string()), effect.places, effect.texts)
    return list(zip(column.to_pylist(), effect.signals[REMOVED].to_pylist(), strict=True))


def sample_texts() -> list[str]:
    rows = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.open("rb")]
    return [json.loads(row)["text"] for row in rows]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Home\nAbout us\n\nThis is a text.\n", "This is a text.\n"),
        ("One is here.\nmenu\nTwo is here.", "One is here.\nTwo is here."),
        ("One is here.\n\nmenu\n\n\nTwo is here.", "One is here.\n\nTwo is here."),
        ("One is here.\n\n\nTwo is here.\n\n", "One is here.\n\n\nTwo is here.\n\n"),
        ("It goes on and on...\nAnd ends here.", "And ends here."),
        ("It was so[12], they say[citation needed].", "It was so, they say."),
        ("This is a text.[1]\n[edit]\n[2]", "This is a text."),
        ("Please enable JavaScript to see.", ""),
        ("You accept our Terms of Use here.", ""),
        ("This site uses cookies, as all do.", ""),
        (
            "Two words.\nA quotation ends \u201cas this\u201d",
            "A quotation ends \u201cas this\u201d",
        ),
        (
            "\u4e2d\u6587\u3002\n\u8fd9\u662f\u4e2d\u6587\u3002",
            "\u8fd9\u662f\u4e2d\u6587\u3002",
        ),
        (
            "\u092f\u0939 \u090f\u0915 \u0939\u0948\u0964\nmenu",
            "\u092f\u0939 \u090f\u0915 \u0939\u0948\u0964",
        ),
        ("x" * 1001 + " is too long.\nThis is a text.", "This is a text."),
        ("x" * 1000 + " is not too long.", "x" * 1000 + " is not too long."),
        ("\u4e2d" * 1500 + "\u3002", "\u4e2d" * 1500 + "\u3002"),
        ("", ""),
        ("\n \n", "\n \n"),
    ],
)
def test_lines_leave_and_the_others_stay_as_they_are(text: str, after: str) -> None:
    assert taken([text])[0][0] == after
    assert left(text, PUBLISHED)[0] == after


SPECS = [
    PUBLISHED,
    NOTHING,
    C4LinesSpec(terminal=False),
    C4LinesSpec(terminal=False, min_words=None, max_word_length=9, policy=False),
    C4LinesSpec(False, 5, None, False, True, False),
]


@pytest.mark.parametrize("spec", SPECS)
def test_real_text_in_57_languages_becomes_what_the_oracle_says(spec: C4LinesSpec) -> None:
    texts = [text[:1200] for text in sample_texts()]
    for text, found in zip(texts, taken(texts, spec), strict=True):
        assert found == left(text, spec), text[:80]


PIECES = st.sampled_from(
    [
        *"aZ9\u00e9\u0301\u4e2d\u304b#-.'\"\u201d\u2026[]12\n\n\n\n",
        *" \t\u00a0\u200d\u3000\u3002!\u0e01\x01",
        "...",
        "a few words here.",
        "\n\n",
        "[1]",
        "[edit]",
        "[citation needed]",
        "[citation",
        "JavaScript",
        "use cookies",
        "uses cookies",
        "Privacy Policy",
        "terms of use",
        "0123456789",
    ]
)
texts_of_pieces = st.lists(PIECES, max_size=40).map("".join)


@given(st.lists(st.text() | texts_of_pieces, max_size=6), st.sampled_from(SPECS))
@settings(deadline=None, max_examples=300)
def test_any_text_becomes_what_the_oracle_says(texts: list[str], spec: C4LinesSpec) -> None:
    assert taken(texts, spec) == [left(text, spec) for text in texts]


@given(st.lists(texts_of_pieces, min_size=1, max_size=6))
@settings(deadline=None, max_examples=100)
def test_a_text_becomes_the_same_wherever_it_stands(texts: list[str]) -> None:
    array = pa.array(["before", *texts, "behind"], pa.large_string()).slice(1, len(texts))
    places, others, removed = without_lines(array, PUBLISHED)
    found = zip(replaced(array, places, others).to_pylist(), removed.tolist(), strict=True)
    assert list(found) == taken(texts)


@given(st.text() | texts_of_pieces)
@settings(deadline=None, max_examples=150)
def test_taking_out_twice_is_taking_out_once(text: str) -> None:
    # A bracket around a citation makes another one.
    once, _ = taken([text.replace("[[", "")])[0]
    assert taken([once], C4LinesSpec(citations=False))[0] == (once, 0)


def test_what_is_switched_off_changes_nothing() -> None:
    effect = C4Lines(NOTHING).apply(pa.table({"text": pa.array(sample_texts(), pa.large_string())}))
    assert len(effect.places) == 0 and len(effect.texts) == 0


def test_each_option_is_part_of_the_acts_identity() -> None:
    usual = C4Lines(PUBLISHED).transform()
    others = [
        C4LinesSpec(terminal=False),
        C4LinesSpec(min_words=None),
        C4LinesSpec(max_word_length=None),
        C4LinesSpec(javascript=False),
        C4LinesSpec(policy=False),
        C4LinesSpec(citations=False),
    ]
    behaviours = {C4Lines(spec).transform().behaviour for spec in others}
    assert len(behaviours | {usual.behaviour}) == 7


def test_the_section_is_a_word_or_a_table() -> None:
    assert c4_lines_spec(True, "news.toml") == PUBLISHED
    assert c4_lines_spec(False, "news.toml") is None
    own = c4_lines_spec({"terminal": False, "min_words": False, "max_word_length": 50}, "news.toml")
    assert own == C4LinesSpec(terminal=False, min_words=None, max_word_length=50)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"min_word": 3}, "unknown key 'min_word'"),
        ({"min_words": 0}, "0 is not between"),
        ({"min_words": True}, "an integer was expected, not bool"),
        ({"policy": "no"}, "true or false was expected"),
        (3, "a table was expected, not int"),
    ],
)
def test_a_slip_is_an_error(table: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        c4_lines_spec(table, "news.toml")
