"""Prefect is quiet, lives in the workspace, and yields to the user's own settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.settings import has_own_server, quiet_prefect
from lineage.errors import ConfigError


def _user(tmp_path: Path, profiles: str) -> dict[str, str]:
    """An environment whose Prefect profiles hold this text."""
    file = tmp_path / "profiles.toml"
    file.write_text(profiles)
    return {"PREFECT_PROFILES_PATH": str(file)}


def test_without_any_setting_prefect_lives_in_the_workspace_and_says_and_sends_nothing(
    tmp_path: Path,
) -> None:
    environ = _user(tmp_path, "")
    quiet_prefect(tmp_path / "prefect", environ)
    assert environ["PREFECT_HOME"] == str(tmp_path / "prefect")
    assert (tmp_path / "prefect").is_dir()
    assert environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert environ["DO_NOT_TRACK"] == "1"
    assert environ["PREFECT_LOGGING_LEVEL"] == "WARNING"


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    environ = {"PREFECT_HOME": str(tmp_path / "mine"), "PREFECT_LOGGING_LEVEL": "DEBUG"}
    quiet_prefect(tmp_path / "prefect", environ)
    assert environ["PREFECT_HOME"] == str(tmp_path / "mine")
    assert environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"


def test_a_server_in_the_environment_is_the_users_own(tmp_path: Path) -> None:
    environ = {"PREFECT_API_URL": "http://prefect.example:4200/api"}
    quiet_prefect(tmp_path / "prefect", environ)
    assert has_own_server(environ)
    assert "PREFECT_HOME" not in environ


@pytest.mark.parametrize(("active", "expected"), [("team", True), ("local", False)])
def test_a_server_in_the_active_profile_is_the_users_own(
    tmp_path: Path, active: str, expected: bool
) -> None:
    environ = _user(
        tmp_path,
        f'active = "{active}"\n[profiles.local]\n[profiles.team]\n'
        'PREFECT_API_URL = "http://prefect.example:4200/api"\n',
    )
    assert has_own_server(environ) is expected


def test_a_broken_profiles_file_is_named(tmp_path: Path) -> None:
    environ = _user(tmp_path, "active = ")
    with pytest.raises(ConfigError, match=r"profiles\.toml"):
        has_own_server(environ)
