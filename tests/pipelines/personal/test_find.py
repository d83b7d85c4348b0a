"""Findings: in order, apart from each other, and the same wherever a text stands."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.personal.counts import counts
from pipelines.personal.find import find
from pipelines.personal.kind import Kind
from pipelines.personal.registry import KINDS, own_kind
from pipelines.probe import PROBE_TEXTS
from tests.pipelines.personal.found import ALL, found, mixtures, pieces, texts_of

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"
SETTINGS = settings(max_examples=60, deadline=None)


@SETTINGS
@given(st.lists(mixtures(), max_size=6))
def test_findings_are_sorted_and_none_overlaps_another(texts: list[str]) -> None:
    findings = find(texts_of(*texts), ALL)
    spans = list(zip(findings.row, findings.start, findings.end, strict=True))
    assert spans == sorted(spans)
    for (row, _, end), (next_row, start, _) in pairwise(spans):
        assert row < next_row or end <= start
    for row, start, end in spans:
        assert 0 <= start < end <= len(texts[row].encode())
        texts[row].encode()[start:end].decode()


@SETTINGS
@given(st.lists(mixtures(), max_size=6), st.data())
def test_a_text_is_judged_alone(texts: list[str], data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(texts))] * 2)))
    part = texts_of(*texts).slice(low, high - low)
    alone = [
        (row, *piece[1:])
        for row, text in enumerate(texts[low:high])
        for piece in pieces(texts_of(text), find(texts_of(text), ALL))
    ]
    assert pieces(part, find(part, ALL)) == alone


def test_a_number_does_not_reach_into_the_next_text() -> None:
    texts = texts_of("CPF 529.982.", "247-25", "tel", "5551234", "a@example", ".org")
    assert len(find(texts, ALL)) == 0


def test_no_texts_and_no_kinds_have_no_findings() -> None:
    for texts in (texts_of(), texts_of("", ""), texts_of("a@example.org").slice(1)):
        assert len(find(texts, ALL)) == 0
    assert len(find(texts_of("a@example.org"), ())) == 0


def test_what_overlaps_is_one_finding_of_the_kind_that_stands_first() -> None:
    number = own_kind("number", r"[0-9]{4}-[0-9]{4}-9", None, 8, None)
    text = "card 4111-1111-1111-1111-9"
    assert found("5555-5555-5555-4444", KINDS["card"], number) == [("card", "5555-5555-5555-4444")]
    assert found(text, KINDS["card"], number) == [("number", "1111-1111-9")]
    tail = own_kind("tail", r"4444 cvc [0-9]{3}", "cvc", None, None)
    text = "5555-5555-5555-4444 cvc 123."
    assert found(text, KINDS["card"], tail) == [("card", "5555-5555-5555-4444 cvc 123")]
    assert found(text, tail, KINDS["card"]) == [("tail", "5555-5555-5555-4444 cvc 123")]


def test_clean_text_has_no_findings_but_the_one_address_that_stands_there() -> None:
    texts = texts_of(*PROBE_TEXTS)
    assert pieces(texts, find(texts, ALL)) == [(21, "email", "mail@example.org")]


def test_real_pages_have_addresses_and_nothing_made_up() -> None:
    lines = [line for path in sorted(SAMPLE.glob("*.jsonl")) for line in path.open("rb")]
    texts = texts_of(*(json.loads(line)["text"] for line in lines))
    names = Counter(name for _, name, _ in pieces(texts, find(texts, ALL)))
    # Authors of pages and of their translations; name servers and web servers of a handbook.
    assert names == {"email": 617, "ip": 13}


def test_counts_are_signals_of_every_kind_and_row() -> None:
    kinds = (KINDS["email"], KINDS["ip"])
    texts = texts_of("a@example.org b@example.org", "", "ip 8.20.30.40 a@example.org", "none")
    counted = counts(find(texts, kinds), len(texts))
    assert {name: values.tolist() for name, values in counted.items()} == {
        "personal_email": [2, 0, 1, 0],
        "personal_ip": [0, 0, 1, 0],
    }
    assert {str(values.dtype) for values in counted.values()} == {"int64"}


def test_a_long_text_of_anchors_takes_linear_time() -> None:
    heaps = ("-----BEGIN PRIVATE KEY-----", "a@", "4111 ", "secret:", "eyJa.", "://a:b@", "1.2.3.")
    texts = texts_of(*(heap * 30_000 for heap in heaps))
    assert isinstance(find(texts, ALL).row.tolist(), list)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_every_kind_says_what_it_is(kind: Kind) -> None:
    assert kind.signal.name == f"personal_{kind.name}"
    assert kind.placeholder.startswith("<")
    assert pa.scalar(kind.signal.what).as_py().endswith("found")
