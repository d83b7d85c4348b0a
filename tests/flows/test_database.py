"""Prefect's empty database is copied into a workspace, and never over one that is there."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from flows.database import lay_database, make_template, template_path


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that has no empty database yet."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return template_path()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_without_an_empty_database_prefect_makes_its_own(environment: Path, home: Path) -> None:
    assert not environment.exists()
    lay_database(home)
    assert list(home.iterdir()) == []


def test_a_workspace_without_a_database_gets_a_copy(environment: Path, home: Path) -> None:
    environment.parent.mkdir(parents=True)
    environment.write_bytes(b"empty")
    lay_database(home)
    assert [path.name for path in home.iterdir()] == ["prefect.db"]
    assert (home / "prefect.db").read_bytes() == b"empty"


def test_a_database_that_is_there_stays(environment: Path, home: Path) -> None:
    environment.parent.mkdir(parents=True)
    environment.write_bytes(b"empty")
    (home / "prefect.db").write_bytes(b"runs of a year")
    lay_database(home)
    assert (home / "prefect.db").read_bytes() == b"runs of a year"


@pytest.mark.slow
def test_prefect_makes_the_empty_database_once(environment: Path) -> None:
    make_template()
    with closing(sqlite3.connect(environment)) as connection:
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM flow_run").fetchone() == (0,)
    written = environment.stat().st_mtime_ns
    make_template()
    assert environment.stat().st_mtime_ns == written
