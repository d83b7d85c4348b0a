"""The build as a Prefect flow: its steps are task runs, a batch of partitions each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.build.announcer import Announcer, Silence
from flows.build.build import build_dataset
from flows.build.plan import BuildPlan
from flows.build.report import BuildReport
from flows.deployments import follow_runner
from flows.engine import Engine, LocalEngine
from lineage.workspace import Workspace

A = TypeVar("A")
T = TypeVar("T")


# A plan that is made already, and who is told of progress: not parameters of the flow,
# since Prefect stores parameters.
_planned: ContextVar[BuildPlan | None] = ContextVar("planned", default=None)
_announce: ContextVar[Announcer] = ContextVar("announce", default=Silence())  # noqa: B039


class PrefectConductor:
    """Runs each step as a task run; the engine's workers do the work.

    A task run is given a number and nothing else, so no path, table or key reaches
    Prefect's database; results stay in memory.

    Args:
        engine: where mapped steps run.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def call(self, name: str, function: Callable[[], T]) -> T:
        def step() -> T:
            return function()

        return task(name=name, cache_policy=NO_CACHE, persist_result=False)(step)()

    def map(self, name: str, function: Callable[[A], T], items: Sequence[A]) -> Iterator[T]:
        def step(number: int) -> T:
            return self._engine.submit(function, items[number]).result()

        run = task(name=name, cache_policy=NO_CACHE, persist_result=False)(step)
        futures = [run.submit(number) for number in range(len(items))]
        for future in as_completed(futures):
            yield future.result()


@flow(
    name="shardline-build",
    flow_run_name="build {dataset}",
    task_runner=ThreadPoolTaskRunner(max_workers=64),  # type: ignore[arg-type]
    persist_result=False,
    validate_parameters=False,
)
def build_flow(workspace: str, dataset: str, workers: int = 0) -> BuildReport:
    """Builds a dataset of a workspace and publishes a version if something is new.

    Args:
        workspace: its folder.
        workers: processes; 0 means what the workspace's settings say.
    """
    follow_runner()
    opened = Workspace(Path(workspace))
    count = num_workers(opened, workers)
    with LocalEngine(count, preload=("flows.build.kernels",)) as engine:
        conductor = PrefectConductor(engine)
        announce, planned = _announce.get(), _planned.get()
        return build_dataset(opened, dataset, conductor, count, announce, planned)


def build_with_prefect(
    workspace: Workspace, plan: BuildPlan, workers: int, announce: Announcer
) -> BuildReport:
    """Runs the flow here and now, with a plan that was just made, telling of progress."""
    told, planned = _announce.set(announce), _planned.set(plan)
    try:
        return build_flow(str(workspace.root), plan.spec.name, workers)
    finally:
        _announce.reset(told)
        _planned.reset(planned)


def num_workers(workspace: Workspace, wanted: int) -> int:
    """Worker processes of a build: as wanted, else as configured, else one a core."""
    return wanted or workspace.config.num_workers or len(os.sched_getaffinity(0))
