"""The build as a Prefect flow: its steps are task runs, a batch of partitions each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
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
from flows.build.worker import worker_engine
from flows.deployments import follow_runner
from flows.engine import Engine
from lineage.workspace import Workspace

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Front:
    """What whoever calls the flow has at hand: a plan, workers, and who is told of progress."""

    plan: BuildPlan
    engine: Engine
    announce: Announcer


# Not parameters of the flow, since Prefect stores parameters.
_front: ContextVar[_Front | None] = ContextVar("front", default=None)


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
    opened, front = Workspace(Path(workspace)), _front.get()
    if front is None:
        with worker_engine(opened, workers) as engine:
            return _build(opened, dataset, engine, Silence())
    return _build(opened, dataset, front.engine, front.announce, front.plan)


def build_with_prefect(
    workspace: Workspace, plan: BuildPlan, engine: Engine, announce: Announcer
) -> BuildReport:
    """Runs the flow here and now, with a plan that was just made, telling of progress."""
    token = _front.set(_Front(plan, engine, announce))
    try:
        return build_flow(str(workspace.root), plan.spec.name, engine.num_workers)
    finally:
        _front.reset(token)


def _build(
    workspace: Workspace,
    dataset: str,
    engine: Engine,
    announce: Announcer,
    plan: BuildPlan | None = None,
) -> BuildReport:
    conductor = PrefectConductor(engine)
    return build_dataset(workspace, dataset, conductor, engine.num_workers, announce, plan)
