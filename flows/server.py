"""A Prefect server of our own, for people who have none.

It is Prefect's real server, started early so that it comes up while the build is
planned, on a loopback port, with a password of its own, on a SQLite file in the
workspace. It ends with us, however we end. People who name a server of theirs
(`flows.settings.has_own_server`) never get one.
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, Self

from flows.database import lay_database
from flows.settings import has_own_server, local_server_settings, quiet_prefect
from lineage.errors import Unavailable

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 10


class Server(Protocol):
    """A Prefect server to which flows report."""

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Inside, flows that are called report to this server; it has answered.

        Raises:
            Unavailable: the server does not come up.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class UsersServer:
    """The server that the user's own settings name; Prefect finds it by itself."""

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Inside, the server has answered.

        Raises:
            Unavailable: it does not answer.
        """
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            failure = client.api_healthcheck()
        if failure is not None:
            raise Unavailable(
                "your Prefect server does not answer",
                "start it, or unset PREFECT_API_URL to use one of our own",
            ) from failure
        yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


class LocalServer:
    """A server process that is starting, running, or stopped.

    Args:
        home: where its database and its log lie; made when missing.
        entropy: random bytes, for the server's password.
        schedules: whether it also fires schedules; a single build needs none.
    """

    def __init__(
        self, home: Path, entropy: Callable[[int], bytes], schedules: bool = False
    ) -> None:
        self._log = home / "server.log"
        self._password = f"shardline:{entropy(16).hex()}"
        self._ready = False
        _speak_directly_to_loopback(os.environ)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lay_database(home)
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            self._port: int = listener.getsockname()[1]
            self._process, self._lifeline = self._spawn(listener, home, schedules)

    @property
    def url(self) -> str:
        """Address of its API."""
        return f"http://127.0.0.1:{self._port}/api"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Inside, flows that are called report to this server; it has answered.

        Raises:
            Unavailable: the server does not come up; the error names its log.
        """
        # Prefect reads its environment once, at import: these settings hold either way.
        from prefect.settings import (
            PREFECT_API_AUTH_STRING,
            PREFECT_API_URL,
            temporary_settings,
        )

        self.wait_until_ready()
        updates = {PREFECT_API_URL: self.url, PREFECT_API_AUTH_STRING: self._password}
        with temporary_settings(updates):
            yield

    def wait_until_ready(self) -> None:
        """Returns when the server answers; it is asked once, and answers when it is up.

        Raises:
            Unavailable: it ended, or did not answer within two minutes.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=START_TIMEOUT_S)
        try:
            connection.request("GET", "/api/health")
            status = connection.getresponse().status
        except OSError as error:
            raise self._failure() from error
        finally:
            connection.close()
        if status != http.HTTPStatus.OK:
            raise self._failure()
        self._ready = True

    def stop(self) -> None:
        """Ends the server after it has written down what it knows.

        One that nobody asked yet knows nothing: it leaves by itself, and is not waited for.
        """
        self._lifeline.close()
        if not self._ready:
            return
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _spawn(
        self, listener: socket.socket, home: Path, schedules: bool
    ) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        fds = (listener.fileno(), theirs.fileno())
        mode = "schedules" if schedules else "build"
        command = [sys.executable, "-P", "-m", "flows.server_process", *map(str, fds), mode]
        environ = {**os.environ, **local_server_settings()}
        environ["PREFECT_SERVER_API_AUTH_STRING"] = self._password
        environ.setdefault("PREFECT_HOME", str(home.absolute()))
        # The server asks nobody: without this it would report to itself.
        environ.pop("PREFECT_API_URL", None)
        with theirs, self._log.open("wb") as log:
            process = subprocess.Popen(
                command,
                env=environ,
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C is for us: the server still has to note that the flow ended.
                start_new_session=True,
            )
        return process, ours

    def _failure(self) -> Unavailable:
        return Unavailable(
            f"the local Prefect server did not start; its log is {self._log}",
            "try again; or start one by `prefect server start` and set PREFECT_API_URL",
        )


def start_server(home: Path, entropy: Callable[[int], bytes], schedules: bool = False) -> Server:
    """The user's server, or else one of ours, which is starting when this returns.

    Call it early, and before anything imports Prefect: imports then run beside the
    server's start.

    Args:
        home: ``.shardline/prefect`` of the workspace.
        entropy: random bytes, for the server's password.
        schedules: whether it has to fire schedules.

    Raises:
        ConfigError: Prefect's own profiles file cannot be read.
    """
    quiet_prefect(home)
    if has_own_server():
        return UsersServer()
    return LocalServer(Path(os.environ["PREFECT_HOME"]), entropy, schedules)


def _speak_directly_to_loopback(environ: MutableMapping[str, str]) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        with suppress(KeyError):
            if "127.0.0.1" not in environ[name]:
                environ[name] += ",127.0.0.1"
    if "no_proxy" not in environ and "NO_PROXY" not in environ:
        environ["NO_PROXY"] = "127.0.0.1"
