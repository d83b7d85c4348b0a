"""A build at the front: with progress on a person's terminal, through Prefect."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from flows.server import Server, start_server

if TYPE_CHECKING:
    from flows.build.plan import BuildPlan
    from flows.build.report import BuildReport
    from lineage.workspace import Workspace


def build_at_the_front(
    workspace: Workspace, dataset: str, workers: int, *, quiet: bool
) -> BuildReport:
    """Builds a dataset as a flow run.

    Server, plan and workers come up beside each other: each takes seconds of a core,
    most of it for imports, which is why they are late here.

    Raises:
        ShardlineError: as `flows.build.build.build_dataset`.
    """
    started = time.monotonic()
    # What goes wrong reaches the user as one error of ours; Prefect would print a traceback
    # at each of its layers besides, which only a schedule that nobody watches needs.
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    with start_server(workspace.state / "prefect", workspace.entropy) as server:
        from flows.build.plan import plan_build
        from flows.build.report import nothing_new

        plan = plan_build(workspace, dataset)
        planned = time.monotonic()
        if plan.nothing_new:
            return nothing_new(plan, planned - started)
        report = _build(workspace, plan, server, workers, quiet=quiet)
    around = time.monotonic() - planned - report.seconds
    return replace(report, seconds=report.seconds + planned - started, start_seconds=around)


def _build(
    workspace: Workspace, plan: BuildPlan, server: Server, workers: int, *, quiet: bool
) -> BuildReport:
    from flows.build.worker import worker_engine
    from flows.progress import Progress

    if not quiet:
        sys.stderr.write("starting Prefect; its first start in a workspace takes longest\n")
    with worker_engine(workspace, workers) as engine:
        # Prefect reads its settings when it is imported: after `start_server` has made them.
        from flows.build.flow import build_with_prefect

        with server.connected(), Progress(quiet=quiet) as progress:
            return build_with_prefect(workspace, plan, engine, progress)
