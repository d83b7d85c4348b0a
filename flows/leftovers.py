"""What an earlier serving of schedules left in Prefect: cleared when serving begins."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun, StateType

_MANY = 200


def tidy_up(client: SyncPrefectClient, tag: str, wanted: Collection[str]) -> None:
    """Removes a workspace's old deployments and runs that can no longer be right.

    Only the one process that serves a workspace calls this, before it takes up work.

    Args:
        client: of the server that is used.
        tag: on all deployments of the workspace.
        wanted: names of the deployments that still have a schedule.
    """
    _remove_deployments(client, tag, wanted)
    _end_interrupted(client, tag)
    _keep_one_overdue(client, tag)


def _remove_deployments(client: SyncPrefectClient, tag: str, wanted: Collection[str]) -> None:
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags

    tagged = DeploymentFilter(tags=DeploymentFilterTags(all_=[tag]))
    for deployment in client.read_deployments(deployment_filter=tagged, limit=_MANY):
        if deployment.name not in wanted:
            client.delete_deployment(deployment.id)


def _end_interrupted(client: SyncPrefectClient, tag: str) -> None:
    from prefect.client.schemas.objects import State, StateType
    from prefect.states import Crashed

    # The process that ran these is gone, or a lock would have kept us from here.
    for run in _runs(client, tag, [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]):
        ended: State[None] = Crashed(message="The command that served this schedule ended.")
        client.set_flow_run_state(run.id, ended, force=True)


def _keep_one_overdue(client: SyncPrefectClient, tag: str) -> None:
    from prefect.client.schemas.objects import StateType

    overdue: set[object] = set()
    for run in _runs(client, tag, [StateType.SCHEDULED]):
        due = run.next_scheduled_start_time
        if due is None or due > datetime.now(UTC):
            continue
        if run.deployment_id in overdue:
            client.delete_flow_run(run.id)
        else:
            overdue.add(run.deployment_id)


def _runs(client: SyncPrefectClient, tag: str, states: list[StateType]) -> list[FlowRun]:
    from prefect.client.schemas.filters import (
        DeploymentFilter,
        DeploymentFilterTags,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )

    return client.read_flow_runs(
        deployment_filter=DeploymentFilter(tags=DeploymentFilterTags(all_=[tag])),
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=states))
        ),
        limit=_MANY,
    )
