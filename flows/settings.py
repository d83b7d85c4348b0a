"""Prefect's settings: quiet, quick, offline, and the user's own server first.

Prefect reads its environment when it is imported, so `quiet_prefect` runs before
that. Nothing here imports Prefect, and nothing the user has set is overwritten.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import MutableMapping
from pathlib import Path

from lineage.errors import ConfigError

# What the user would otherwise see, wait for, or send: one line a setting.
_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    # Should anybody persist a result: never by pickle, which runs code when read.
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
}

# For a server of our own only: a user's server keeps its own settings.
_LOCAL_SERVER = {
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    # A whole second: Prefect cuts it to an integer, and 0 spins a core for as long as it runs.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_UI_ENABLED": "false",
}


def quiet_prefect(home: Path, environ: MutableMapping[str, str] = os.environ) -> None:
    """Makes Prefect silent and lets it keep its own files under `home`.

    Call it before anything imports Prefect. A user who names a server
    (``PREFECT_API_URL``, or an active profile that has one) or a ``PREFECT_HOME``
    keeps it; every setting that is already in the environment wins.

    Args:
        home: ``.shardline/prefect`` of the workspace; made when missing.
        environ: the environment to change.

    Raises:
        ConfigError: Prefect's own profiles file cannot be read.
    """
    for name, value in _QUIET.items():
        environ.setdefault(name, value)
    if has_own_server(environ) or "PREFECT_HOME" in environ:
        return
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    environ["PREFECT_HOME"] = str(home.absolute())


def has_own_server(environ: MutableMapping[str, str] = os.environ) -> bool:
    """Whether the user has a Prefect server, by environment or by active profile.

    Raises:
        ConfigError: Prefect's own profiles file cannot be read.
    """
    return bool(environ.get("PREFECT_API_URL")) or _profile_names_server(environ)


def local_server_settings() -> dict[str, str]:
    """Environment of a server that we start ourselves: only what a build needs."""
    return dict(_LOCAL_SERVER)


def _profile_names_server(environ: MutableMapping[str, str]) -> bool:
    home = Path(environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    file = Path(environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    if not file.is_file():
        return False
    try:
        profiles = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"Prefect's profiles file {file} cannot be read",
            "mend or remove it, or name your server in PREFECT_API_URL",
        ) from error
    name = environ.get("PREFECT_PROFILE") or profiles.get("active")
    profile = profiles.get("profiles", {}).get(name, {})
    return bool(profile.get("PREFECT_API_URL"))
