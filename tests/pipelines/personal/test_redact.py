"""Redaction: a placeholder a finding, everything else untouched, and nothing left to find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.clean.nfc import replaced
from pipelines.personal.action import Action
from pipelines.personal.find import find
from pipelines.personal.redact import redact
from pipelines.personal.registry import KINDS, own_kind
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


def test_what_a_finding_hid_is_redacted_with_it() -> None:
    texts = texts_of("a@example.org-DE89 3704 0044 0532 0130 00", "b@example.version 36.20.40.30")
    findings = find(texts, ALL)
    assert len(findings) == 2
    _, redacted = redact(texts, findings, REDACT_ALL)
    assert redacted.to_pylist() == ["<EMAIL>-<IBAN>", "<EMAIL> <IP_ADDRESS>"]


def test_an_own_kind_may_match_its_own_placeholder() -> None:
    staff = own_kind("staff", r"<?STAFF(?:-[0-9]+)?", "STAFF", None, None)
    texts = texts_of("see STAFF-17 and <STAFF>, STAFF")
    _, redacted = redact(texts, find(texts, (staff,)), {"staff": Action.REDACT})
    assert redacted.to_pylist() == ["see <STAFF> and <STAFF>, <STAFF>"]


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
