"""Redaction: a placeholder a finding, everything else untouched, and nothing left to find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.clean.nfc import replaced
from pipelines.personal.action import Action
from pipelines.personal.find import find
from pipelines.personal.redact import redact
from pipelines.personal.registry import KINDS
from tests.pipelines.personal.found import ALL, mixtures, texts_of

REDACT_ALL = dict.fromkeys(KINDS, Action.REDACT)
SETTINGS = settings(max_examples=100, deadline=None)


def test_placeholders_say_the_kind() -> None:
    texts = texts_of(
        "clean",
        "mail a@example.org, call +1 415 321 9500.",
        "from 8.20.30.40 with 4111 1111 1111 1111 é",
    )
    places, redacted = redact(texts, find(texts, ALL), REDACT_ALL)
    assert places.tolist() == [1, 2]
    assert redacted.to_pylist() == [
        "mail <EMAIL>, call <PHONE>.",
        "from <IP_ADDRESS> with <CARD> é",
    ]


def test_only_kinds_to_be_redacted_are() -> None:
    texts = texts_of("a@example.org at 8.20.30.40", "ip 8.20.30.40")
    actions = {"email": Action.REDACT, "ip": Action.COUNT, "card": Action.DROP}
    places, redacted = redact(texts, find(texts, ALL), actions)
    assert (places.tolist(), redacted.to_pylist()) == ([0], ["<EMAIL> at 8.20.30.40"])


def test_clean_texts_are_not_touched() -> None:
    texts = texts_of("nothing", "here", "").slice(1)
    places, redacted = redact(texts, find(texts, ALL), REDACT_ALL)
    assert (len(places), len(redacted), redacted.type) == (0, 0, texts.type)


@SETTINGS
@given(st.lists(mixtures(), max_size=4))
def test_redacting_again_finds_nothing(texts: list[str]) -> None:
    before = texts_of(*texts)
    findings = find(before, ALL)
    after = replaced(before, *redact(before, findings, REDACT_ALL))
    after.validate(full=True)
    assert len(find(after, ALL)) == 0


@SETTINGS
@given(mixtures(), st.sets(st.sampled_from(sorted(KINDS))))
def test_of_the_kinds_that_were_redacted_none_is_left(text: str, names: set[str]) -> None:
    # As the act does it: what is redacted stands before what is only counted.
    kinds = sorted(ALL, key=lambda kind: kind.name not in names)
    before = texts_of(text)
    actions = dict.fromkeys(names, Action.REDACT)
    after = replaced(before, *redact(before, find(before, kinds), actions))
    left = find(after, kinds)
    assert not names & {kinds[place].name for place in left.kind}
