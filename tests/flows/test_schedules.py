"""Schedules are kept in the workspace, and a wrong one is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.schedules import FILE_NAME, Schedule, add_schedule, read_schedules, remove_schedule
from lineage.errors import ConfigError, NotFound


def test_a_schedule_is_read_back_as_it_was_added(tmp_path: Path) -> None:
    assert read_schedules(tmp_path) == ()
    web = add_schedule(tmp_path, "web", "0 3  * * *")
    books = add_schedule(tmp_path, "books", "*/15 1-5 * * MON", "Europe/Oslo")
    assert read_schedules(tmp_path) == (books, web)
    assert web.cron == "0 3 * * *"


def test_adding_again_replaces_and_removing_leaves_the_others(tmp_path: Path) -> None:
    add_schedule(tmp_path, "web", "0 3 * * *")
    books = add_schedule(tmp_path, "books", "0 4 * * *")
    later = add_schedule(tmp_path, "web", "0 5 * * *")
    assert read_schedules(tmp_path) == (books, later)
    remove_schedule(tmp_path, "web")
    assert read_schedules(tmp_path) == (books,)
    with pytest.raises(NotFound, match="web"):
        remove_schedule(tmp_path, "web")


@pytest.mark.parametrize(
    ("cron", "named"),
    [
        ("61 * * * *", "'61' is no minute"),
        ("0 25 * * *", "'25' is no hour"),
        ("0 0 32 * *", "'32' is no day of month"),
        ("0 0 1 XYZ *", "'XYZ' is no month"),
        ("0 0 * * 9", "'9' is no day of week"),
        ("0 3 30 2 *", "no day that exists"),
        ("0 3 * *", "4 fields"),
        ("0 0 3 * * *", "6 fields"),
        ('0 3 * * "', "is no day of week"),
    ],
)
def test_a_wrong_cron_line_is_refused_by_the_name_of_its_field(
    tmp_path: Path, cron: str, named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        add_schedule(tmp_path, "web", cron)
    assert not (tmp_path / FILE_NAME).exists()


def test_a_wrong_time_zone_and_a_wrong_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Mars/Base is no time zone|'Mars/Base'"):
        add_schedule(tmp_path, "web", "0 3 * * *", "Mars/Base")
    with pytest.raises(ConfigError, match="no dataset name"):
        add_schedule(tmp_path, 'web"]', "0 3 * * *")


def test_an_edited_file_is_read_strictly(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_text('[schedules.web]\ncron = "0 3 * * *"\ntimzone = "UTC"\n')
    with pytest.raises(ConfigError, match="timzone"):
        read_schedules(tmp_path)
    file.write_text('[schedules.web]\ncron = "0 33 * * *"\n')
    with pytest.raises(ConfigError, match=r"schedules\.toml .*'33' is no hour"):
        read_schedules(tmp_path)


def test_the_next_time_follows_the_time_zone() -> None:
    before = datetime(2026, 7, 1, 0, 0, tzinfo=UTC)
    oslo = Schedule("web", "0 3 * * *", "Europe/Oslo")
    assert oslo.next_after(before) == datetime(2026, 7, 1, 1, 0, tzinfo=UTC)


@given(st.text(max_size=20))
def test_any_text_is_a_schedule_or_a_config_error(cron: str) -> None:
    try:
        Schedule("web", cron)
    except ConfigError:
        return
    assert len(cron.split()) == 5
