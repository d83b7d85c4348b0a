from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.clock import parse_time, system_clock, time_text
from lineage.errors import IntegrityError


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_reads_back_to_the_second(moment: datetime) -> None:
    text = time_text(moment)
    assert len(text) == 20
    assert parse_time(text) == moment.replace(microsecond=0)


def test_other_zones_are_written_as_utc() -> None:
    moment = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert time_text(moment) == "2025-12-31T23:30:00Z"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        time_text(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    "text", ["", "2026-1-1T00:00:00Z", "2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "now"]
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(IntegrityError):
        parse_time(text)


def test_the_system_clock_knows_its_zone() -> None:
    assert system_clock().tzinfo is UTC
