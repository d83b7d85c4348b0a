"""A build at the front: with progress on a person's terminal, through Prefect."""

from __future__ import annotations

import importlib
import os
import sys
import time
from dataclasses import replace

from flows.build.plan import plan_build
from flows.build.report import BuildReport, nothing_new
from flows.progress import Progress
from flows.server import start_server
from lineage.workspace import Workspace


def build_at_the_front(
    workspace: Workspace, dataset: str, workers: int, *, quiet: bool
) -> BuildReport:
    """Builds a dataset as a flow run.

    The plan is made first: where nothing is new, Prefect is not even started.

    Raises:
        ShardlineError: as `flows.build.build.build_dataset`.
    """
    started = time.monotonic()
    plan = plan_build(workspace, dataset)
    planned = time.monotonic()
    if plan.nothing_new:
        return nothing_new(plan, planned - started)
    # What goes wrong reaches the user as one error of ours; Prefect would print a traceback
    # at each of its layers besides, which only a schedule that nobody watches needs.
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    if not quiet:
        sys.stderr.write("starting Prefect; its first start in a workspace takes longest\n")
    with start_server(workspace.state / "prefect", workspace.entropy) as server:
        # Imported while the server starts; Prefect reads its settings at import.
        flow = importlib.import_module("flows.build.flow")
        with server.connected(), Progress(quiet=quiet) as progress:
            report: BuildReport = flow.build_with_prefect(workspace, plan, workers, progress)
    around = time.monotonic() - planned - report.seconds
    return replace(report, seconds=report.seconds + planned - started, start_seconds=around)
