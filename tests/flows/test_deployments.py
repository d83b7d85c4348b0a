"""Served schedules fire, survive a restart and a kill, and leave no process behind."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from flows.deployments import serve
from flows.schedules import add_schedule, remove_schedule
from lineage.errors import ConfigError, Conflict

# One minute of cron, the start of a server, and a process of its own for the build.
_FIRES_WITHIN_S = 150.0
_ENDS_WITHIN_S = 30.0

_FLOW = """
import os, time
from pathlib import Path
from prefect import flow, task
from flows.deployments import follow_runner

@task
def mark(workspace, dataset):
    with (Path(workspace) / "fired").open("a") as file:
        file.write(f"{dataset} {os.getpid()}\\n")
    while (Path(workspace) / "hold").exists():
        time.sleep(0.1)

@flow
def tiny(workspace: str, dataset: str):
    follow_runner()
    mark(workspace, dataset)
"""
_SERVE = """
import sys
from pathlib import Path
from flows.deployments import serve

def make_flow():
    from tiny_flow import tiny
    return tiny

if __name__ == "__main__":
    serve(Path(sys.argv[1]), make_flow)
"""


def _no_flow() -> object:
    raise AssertionError("nothing is served")


def test_nothing_to_serve_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no schedule"):
        serve(tmp_path, _no_flow)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_schedule_fires_again_after_a_stop_and_after_a_kill(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    add_schedule(workspace, "books", "* * * * *")
    add_schedule(workspace, "never", "0 0 29 2 *")

    with _serving(tmp_path, workspace) as server:
        _wait_for_firing(workspace, 1)
        with pytest.raises(Conflict, match="served already"):
            serve(workspace, _no_flow)  # type: ignore[arg-type]
        server.send_signal(signal.SIGTERM)
        assert server.wait(_ENDS_WITHIN_S) == 0
    assert not _processes_of(tmp_path)
    assert _names(workspace) == ["books", "never"]

    remove_schedule(workspace, "never")
    (workspace / "hold").touch()
    with _serving(tmp_path, workspace) as server:
        _wait_for_firing(workspace, 2)
        server.send_signal(signal.SIGKILL)
        server.wait()
    # The server and the build that was running leave with it.
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while _processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not _processes_of(tmp_path)
    assert _names(workspace) == ["books"]

    (workspace / "hold").unlink()
    with _serving(tmp_path, workspace) as server:
        _wait_for_firing(workspace, 3)
        assert _states(workspace, "CRASHED") == 1
        server.send_signal(signal.SIGINT)
        assert server.wait(_ENDS_WITHIN_S) == 0
    assert not _processes_of(tmp_path)


@contextmanager
def _serving(tmp_path: Path, workspace: Path) -> Iterator[subprocess.Popen[bytes]]:
    (tmp_path / "tiny_flow.py").write_text(_FLOW)
    script = tmp_path / "serve.py"
    script.write_text(_SERVE)
    environ = {name: value for name, value in os.environ.items() if "PREFECT" not in name}
    environ |= {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "HOME": str(tmp_path)}
    with (tmp_path / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, str(script), str(workspace)],
            env=environ,
            cwd=tmp_path,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_for_firing(workspace: Path, times: int) -> None:
    fired = workspace / "fired"
    deadline = time.monotonic() + _FIRES_WITHIN_S
    while time.monotonic() < deadline:
        if fired.exists() and len(fired.read_text().splitlines()) >= times:
            return
        time.sleep(0.2)
    pytest.fail(f"did not fire: {(workspace.parent / 'serve.log').read_text()}")


def _processes_of(tmp_path: Path) -> list[str]:
    """Commands of living processes whose home is this test's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environ = (process / "environ").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if f"HOME={tmp_path}\0".encode() in environ and state != "Z":
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def _query(workspace: Path, query: str, *arguments: str) -> list[tuple[object, ...]]:
    database = workspace / ".shardline" / "prefect" / "prefect.db"
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query, arguments).fetchall()


def _names(workspace: Path) -> list[str]:
    rows = _query(workspace, "SELECT name FROM deployment ORDER BY name")
    return [str(name).partition("@")[0] for (name,) in rows]


def _states(workspace: Path, state: str) -> int:
    rows = _query(workspace, "SELECT id FROM flow_run WHERE state_type = ?", state)
    return len(rows)
