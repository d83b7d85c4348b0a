"""Grants: default deny, and only what was granted, until it ends or is revoked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.keys.grants import EVERY_DATASET, PURPOSES, ZONES, Grant, standing_grants
from lineage.ledger.entry import Entry

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
GRANT = Grant("e1", "ann", "corpus", ("raw", "processed"), ("build",), NOW + timedelta(hours=1))
asked = st.tuples(
    st.sampled_from(["ann", "bob"]),
    st.sampled_from(["corpus", "other", EVERY_DATASET]),
    st.sampled_from(ZONES),
    st.sampled_from(PURPOSES),
    st.integers(-2, 2).map(lambda hours: NOW + timedelta(hours=hours)),
)


def entry(predicate: str, entry_id: str, body: dict[str, Any]) -> Entry:
    found = SimpleNamespace(predicate=predicate, entry_id=entry_id, body=body)
    return cast(Entry, found)


def granted(grant: Grant) -> Entry:
    return entry("grant", grant.entry_id, grant.body())


@given(asked)
def test_what_a_grant_covers_is_all_of_its_parts_together(
    wanted: tuple[str, str, str, str, datetime],
) -> None:
    principal, dataset, zone, purpose, now = wanted
    expected = (
        principal == "ann"
        and dataset == "corpus"
        and zone in ("raw", "processed")
        and purpose == "build"
        and now < NOW + timedelta(hours=1)
    )
    assert GRANT.covers(*wanted) == expected


def test_a_grant_on_every_dataset_covers_each() -> None:
    grant = Grant("e1", "ann", EVERY_DATASET, ZONES, PURPOSES, None)
    assert grant.covers("ann", "any name", "approved", "train", NOW + timedelta(days=9999))
    assert not grant.covers("bob", "any name", "approved", "train", NOW)


def test_the_moment_at_which_it_expires_is_over() -> None:
    assert GRANT.covers("ann", "corpus", "raw", "build", NOW + timedelta(minutes=59, seconds=59))
    assert not GRANT.covers("ann", "corpus", "raw", "build", NOW + timedelta(hours=1))


@pytest.mark.parametrize("expires", [None, NOW])
def test_a_grant_reads_back_from_its_entry(expires: datetime | None) -> None:
    grant = Grant("e1", "ann", "corpus", ("raw",), ("audit", "lookup"), expires)
    assert standing_grants([granted(grant)]) == [grant]


def test_no_entry_grants_nothing() -> None:
    assert standing_grants([]) == []
    assert standing_grants([entry("access", "e9", {"grant": "e1"})]) == []


def test_a_revoked_grant_no_longer_stands_and_the_others_do() -> None:
    other = Grant("e2", "bob", "corpus", ("raw",), ("build",), None)
    entries = [granted(GRANT), granted(other), entry("revoke", "e3", {"grant": "e1"})]
    assert standing_grants(entries[:2]) == [GRANT, other]
    assert standing_grants(entries) == [other]
    assert standing_grants([*entries, entry("revoke", "e4", {"grant": "unknown"})]) == [other]


def test_a_grant_given_again_after_it_was_revoked_stands() -> None:
    again = Grant("e5", *(getattr(GRANT, name) for name in Grant.__slots__[1:]))
    entries = [granted(GRANT), entry("revoke", "e3", {"grant": "e1"}), granted(again)]
    assert standing_grants(entries) == [again]
