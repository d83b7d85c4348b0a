"""A build in this process alone, without Prefect: for benchmarks and for embedding."""

from __future__ import annotations

from flows.build.announcer import Announcer
from flows.build.build import build_dataset
from flows.build.conductor import PlainConductor
from flows.build.report import BuildReport
from flows.build.worker import worker_engine
from lineage.workspace import Workspace


def build_without_prefect(
    workspace: Workspace, dataset: str, workers: int, announce: Announcer
) -> BuildReport:
    """Builds a dataset with the same steps, workers and result as the flow."""
    with worker_engine(workspace, workers) as engine:
        return build_dataset(workspace, dataset, PlainConductor(engine), workers, announce)
