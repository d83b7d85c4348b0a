"""Serves schedules: one long-running command that builds datasets when they are due."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from flows.leftovers import tidy_up
from flows.schedules import FILE_NAME, Schedule, read_schedules
from flows.server import start_server
from lineage.errors import ConfigError, Conflict

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.deployments.runner import RunnerDeployment

_HOME = Path(".shardline") / "prefect"
_POLL_S = 5
_WATCH_S = 1.0


def serve(
    workspace_root: Path,
    make_flow: Callable[[], Flow[..., Any]],
    entropy: Callable[[int], bytes] = os.urandom,
) -> None:
    """Serves the workspace's schedules until it is told to stop (SIGTERM or Ctrl-C).

    For the main thread of a command.

    Each schedule is a Prefect deployment; one build runs at a time, in a process of
    its own. Deployments, schedules and past runs lie in the user's Prefect server, or
    in ours under ``.shardline/prefect``, and are there again after a restart. Of the
    builds that were due meanwhile one is made up for: it takes in all that is new.

    Args:
        workspace_root: the workspace's folder.
        make_flow: imports and returns the flow; it takes ``workspace`` and ``dataset``
            and lies at the top level of an installed module.
        entropy: random bytes, for the local server's password.

    Raises:
        ConfigError: there is no schedule, or one is wrong.
        Conflict: another process serves this workspace.
        Unavailable: the Prefect server does not come up.
    """
    root = workspace_root.resolve()
    schedules = read_schedules(root)
    if not schedules:
        raise ConfigError(
            f"{root / FILE_NAME} has no schedule", 'add one: shardline schedule NAME --cron "…"'
        )
    with _alone(root), _stoppable():
        # A flow run starts in the current folder, whose files must not stand in for modules.
        os.environ["PYTHONSAFEPATH"] = "1"
        with start_server(root / _HOME, entropy, schedules=True) as server:
            flow = make_flow()
            with server.connected():
                _run(root, schedules, flow)


def follow_runner() -> None:
    """Ends this process when the command that started it is gone, also by kill -9.

    For the first line of a flow that is served: without it, a build would go on
    alone, beside the one that the next start begins. Elsewhere it does nothing.
    """
    if "PREFECT__FLOW_RUN_ID" in os.environ:
        threading.Thread(target=_leave_when_orphaned, args=(os.getppid(),), daemon=True).start()


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    (root / _HOME).mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with FileLock(root / _HOME / "serve.lock", blocking=False):
            yield
    except Timeout:
        raise Conflict(
            f"the schedules of {root} are served already", "stop the other process first"
        ) from None


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM and Ctrl-C both leave the block in good order, without an error."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    # While Prefect's runner runs it takes SIGTERM itself, and then ends its flow runs;
    # on Ctrl-C alone it would wait for them.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _terminate)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(root: Path, schedules: Sequence[Schedule], flow: Flow[..., Any]) -> None:
    from prefect.client.orchestration import get_client
    from prefect.runner import Runner

    tag = f"shardline-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"
    runner = Runner(name=tag, limit=1, pause_on_shutdown=False, query_seconds=_POLL_S)
    with get_client(sync_client=True) as client:
        tidy_up(client, tag, {_name(root, schedule, tag) for schedule in schedules})
    for schedule in schedules:
        runner.add_deployment(_deployment(root, schedule, flow, tag))
    asyncio.run(runner.start())


def _deployment(root: Path, schedule: Schedule, flow: Flow[..., Any], tag: str) -> RunnerDeployment:
    from prefect.deployments.runner import RunnerDeployment
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    return RunnerDeployment.from_flow(
        flow,
        name=_name(root, schedule, tag),
        schedule=Cron(schedule.cron, timezone=schedule.timezone),
        parameters={"workspace": str(root), "dataset": schedule.dataset},
        tags=[tag],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )


def _name(root: Path, schedule: Schedule, tag: str) -> str:
    # A team's server may know many workspaces, and names there are unique.
    return f"{schedule.dataset}@{root.name}-{tag[-12:]}"


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _terminate(_number: int, _frame: FrameType | None) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _leave_when_orphaned(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    # The build keeps finished outputs under their keys: the next one finds them.
    os._exit(1)
