"""Lines and paragraphs that stand elsewhere too are taken out, against a plain Python oracle."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError
from pipelines.clean.nfc import replaced
from pipelines.dedup.parts import parts_of
from pipelines.dedup.repeated import (
    REMOVED,
    Repeated,
    part_pairs,
    repeated_transform,
    without_repeated,
)
from pipelines.dedup.tally import Counting
from pipelines.spec.repeated import RepeatedSpec, repeated_spec
from tests.pipelines.signals.oracle import shown

EVERY_LINE = RepeatedSpec(min_chars=1)
EVERY_PARAGRAPH = RepeatedSpec("paragraph", min_chars=1)
UNITS = (EVERY_LINE, EVERY_PARAGRAPH)
WORDS = st.sampled_from(
    [
        "a",
        "b",
        " a",
        "a\u200bb",
        "longer words",
        "a  b",
        "a\tb",
        "\u00e9\u4e00",
        "\u4e00 \u4e00",
        "",
        " ",
    ]
)
TEXTS = st.lists(st.lists(WORDS, max_size=12).map("\n".join), max_size=6)


def array(texts: list[str]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def folded(text: str) -> str:
    return " ".join("".join(char if shown(char) else " " for char in text).split())


def parts(text: str, spec: RepeatedSpec) -> list[tuple[list[int], str]]:
    """Each part: the lines that it is made of, and its text with white space folded."""
    rows = text.split("\n")
    showing = [bool(shown(row)) for row in rows]
    runs = [
        [i for i, _ in group]
        for shows, group in groupby(enumerate(showing), key=lambda item: item[1])
        if shows
    ]
    lines = runs if spec.unit == "paragraph" else [[i] for run in runs for i in run]
    return [(part, folded(" ".join(rows[i] for i in part))) for part in lines]


def left(text: str, spec: RepeatedSpec, repeated: set[str]) -> tuple[str, int]:
    """What a text becomes, and how many parts leave."""
    seen: set[str] = set()
    gone: set[int] = set()
    removed = 0
    for lines, part in parts(text, spec):
        before = spec.within and part in seen
        seen.add(part)
        if len(part) >= spec.min_chars and (before or part in repeated):
            gone |= set(lines)
            removed += 1
    if not removed:
        return text, 0
    rows = text.split("\n")
    kept = [i for i, row in enumerate(rows) if shown(row) and i not in gone]
    if not kept:
        return "", removed
    found = [] if min(gone) < kept[0] else rows[: kept[0]]
    for this, following in zip(kept, [*kept[1:], len(rows)], strict=True):
        between = range(this + 1, following)
        found.append(rows[this])
        if not gone & set(between):
            found += [rows[i] for i in between]
        elif following < len(rows) and any(i not in gone for i in between):
            found.append("")
    return "\n".join(found), removed


def repeated_in(texts: list[str], spec: RepeatedSpec) -> np.ndarray:
    """The hashes of the parts that stand in too many documents."""
    counting = Counting(spec.max_documents or 0)
    counting.add(part_pairs(array(texts), spec))
    return counting.repeated()


def after(texts: list[str], spec: RepeatedSpec, repeated: np.ndarray) -> list[str]:
    edited = without_repeated(array(texts), spec, repeated)
    whole: list[str] = replaced(array(texts), edited.places, edited.texts).to_pylist()
    return whole


@pytest.mark.parametrize("spec", UNITS)
@given(texts=TEXTS)
@settings(deadline=None)
def test_parts_are_the_same_when_their_texts_are_white_space_aside(
    texts: list[str], spec: RepeatedSpec
) -> None:
    whole = parts_of(array(texts), spec.unit)
    found = [set(whole.hashes[a:b].tolist()) for a, b in pairwise(whole.starts)]
    plain = [{part for _, part in parts(text, spec)} for text in texts]
    for one, a in zip(found, plain, strict=True):
        for two, b in zip(found, plain, strict=True):
            assert (len(one), len(one & two)) == (len(a), len(a & b))


@pytest.mark.parametrize("unit", ["line", "paragraph"])
@given(texts=TEXTS, within=st.booleans(), most=st.integers(1, 3), min_chars=st.integers(1, 4))
@settings(deadline=None)
def test_what_stands_in_too_many_documents_leaves_and_the_rest_is_not_touched(
    texts: list[str], unit: str, within: bool, most: int, min_chars: int
) -> None:
    spec = RepeatedSpec(unit, min_chars, most, within)
    # Documents of the same parts count once.
    documents = {tuple(sorted(part for _, part in parts(text, spec))) for text in texts}
    counts = Counter(part for document in documents for part in set(document))
    repeated = {part for part, count in counts.items() if count > most}
    wanted = [left(text, spec, repeated) for text in texts]
    edited = without_repeated(array(texts), spec, repeated_in(texts, spec))
    assert edited.removed.tolist() == [removed for _, removed in wanted]
    assert edited.places.tolist() == [i for i, (_, removed) in enumerate(wanted) if removed]
    assert edited.texts.to_pylist() == [text for text, removed in wanted if removed]


def test_a_footer_leaves_every_page_that_bears_it() -> None:
    footer = "All rights reserved, and then some."
    pages = [f"Page {n} has a text of its own.\n\n{footer}\n" for n in range(3)]
    spec = RepeatedSpec(max_documents=2)
    repeated = repeated_in(pages, spec)
    assert len(repeated) == 1
    assert after(pages, spec, repeated) == [f"Page {n} has a text of its own." for n in range(3)]


def test_copies_of_a_document_repeat_nothing() -> None:
    pages = ["A line of some length.\nAnother line of some length."] * 5
    assert len(repeated_in(pages, RepeatedSpec(max_documents=1))) == 0
    other = "A line of some length.\nIt goes on in another way."
    assert len(repeated_in([*pages, other], RepeatedSpec(max_documents=1))) == 1


def test_a_paragraph_is_the_same_however_it_is_wrapped() -> None:
    wrapped = (
        "It was a dark night,\nand it\nrained.\n\nIt was\n a dark night, and it rained.\n\nEnd."
    )
    spec = RepeatedSpec("paragraph", within=True)
    assert after([wrapped], spec, np.zeros(0, np.uint64)) == [
        "It was a dark night,\nand it\nrained.\n\nEnd."
    ]


def test_a_slice_of_a_column_gives_what_its_texts_give_alone() -> None:
    texts = ["x\ny", "one\ntwo\none", "", "two\none\n"]
    spec = RepeatedSpec(min_chars=1, within=True)
    cut = array(texts).slice(1, 3)
    alone = [parts_of(array([text]), spec.unit).hashes.tolist() for text in texts[1:]]
    found = parts_of(cut, spec.unit)
    assert [found.hashes[a:b].tolist() for a, b in pairwise(found.starts)] == alone
    assert without_repeated(cut, spec).texts.to_pylist() == ["one\ntwo"]


def test_no_texts_are_no_parts() -> None:
    assert len(part_pairs(array([]), EVERY_LINE).parts) == 0
    assert without_repeated(array([]), EVERY_LINE).texts.to_pylist() == []


def test_the_act_takes_out_what_stood_before_in_the_same_document() -> None:
    act = Repeated(RepeatedSpec(min_chars=5, within=True))
    effect = act.apply(pa.table({"text": array(["title\ntext\ntitle\ntext", "title"])}))
    assert effect.texts.to_pylist() == ["title\ntext\ntext"]
    assert effect.signals[REMOVED].to_pylist() == [1, 0]


def test_the_act_takes_out_what_the_corpus_repeats() -> None:
    spec, texts = RepeatedSpec(min_chars=5, max_documents=1), ["a title\none", "two\na title"]
    act = Repeated(spec, repeated_in(texts, spec))
    assert act.apply(pa.table({"text": array(texts)})).texts.to_pylist() == ["one", "two"]


def test_a_build_key_knows_what_is_taken_out() -> None:
    lines, paragraphs = (repeated_transform(spec) for spec in UNITS)
    assert lines.behaviour != paragraphs.behaviour
    assert lines.digest() == repeated_transform(EVERY_LINE).digest()
    assert repeated_transform(RepeatedSpec(min_chars=2)).digest() != lines.digest()
    # What the corpus repeats is known by the partitions that hold it.
    assert repeated_transform(RepeatedSpec(min_chars=1, max_documents=3)).digest() == (
        lines.digest()
    )


def test_the_section_says_what_is_taken_out() -> None:
    table = {"unit": "paragraph", "max_documents": 10, "min_chars": 30}
    assert repeated_spec(table, "a.toml") == RepeatedSpec("paragraph", 30, 10)
    assert repeated_spec({"within": True}, "a.toml") == RepeatedSpec(within=True)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"unit": "word", "within": True}, "'word' is none of line, paragraph"),
        ({"max_documents": 0}, "0 is not between"),
        ({"min_chars": 10}, "max_documents: it is missing"),
        ({"most": 3}, "unknown key 'most'"),
    ],
)
def test_a_section_that_cannot_be_is_refused(table: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        repeated_spec(table, "a.toml")
