"""Our own Prefect server is real, needs a password, and ends with us."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from lineage.errors import Unavailable

_WAIT_S = 60.0

# A flow as the product has it: the server starts first, Prefect is imported beside it.
_SCRIPT = """
import json, os, sys
from pathlib import Path
from flows.server import start_server

with start_server(Path(sys.argv[1]), os.urandom) as server:
    from prefect import flow, task

    @task
    def square(number):
        return number * number

    @flow
    def squares():
        return [square(number) for number in range(3)]

    with server.connected():
        result = squares()
        print(json.dumps({"url": server.url, "result": result}), flush=True)
        if len(sys.argv) > 2:
            sys.stdin.read()
"""


def _start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    environ = {name: value for name, value in os.environ.items() if "PREFECT" not in name}
    return subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "prefect"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)},
    )


def _rows(tmp_path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(tmp_path / "prefect" / "prefect.db")) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.slow
def test_a_flow_and_its_tasks_are_recorded_and_nothing_else_is_said(tmp_path: Path) -> None:
    process = _start(tmp_path)
    said, complaints = process.communicate(timeout=_WAIT_S * 2)
    assert complaints == ""
    assert json.loads(said)["result"] == [0, 1, 4]
    assert _rows(tmp_path, "SELECT state_type FROM flow_run") == [("COMPLETED",)]
    assert _rows(tmp_path, "SELECT state_type FROM task_run") == [("COMPLETED",)] * 3
    assert (tmp_path / "prefect" / "server.log").read_text() == ""


@pytest.mark.slow
def test_the_server_refuses_strangers_and_leaves_when_we_are_killed(tmp_path: Path) -> None:
    process = _start(tmp_path, "wait")
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    with urllib.request.urlopen(f"{url}/health") as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{url}/admin/version")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + _WAIT_S
    while _answers(url) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _answers(url)


@pytest.mark.slow
def test_a_server_that_does_not_come_up_is_one_error_that_names_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.server import LocalServer

    # A setting that Prefect itself refuses.
    monkeypatch.setenv("PREFECT_SERVER_API_KEEPALIVE_TIMEOUT", "soon")
    with (
        LocalServer(tmp_path, os.urandom) as server,
        pytest.raises(Unavailable, match=r"server\.log"),
    ):
        server.wait_until_ready()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/health", timeout=1).close()
    except OSError:
        return False
    return True
