"""`shardline schedule` and `shardline scheduler`."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from lineage.errors import ConfigError, NotFound
from shardline.cli.options import WorkspaceOption, open_workspace


def schedule(
    dataset: Annotated[str | None, typer.Argument(help="NAME; all are listed without.")] = None,
    cron: Annotated[str | None, typer.Option(help='When, such as "0 3 * * *".')] = None,
    timezone: Annotated[str, typer.Option(help="Of the cron line.")] = "UTC",
    remove: Annotated[bool, typer.Option("--remove", help="Remove the schedule.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Add, list or remove schedules of builds."""
    from flows.schedules import add_schedule, read_schedules, remove_schedule

    opened = open_workspace(workspace)
    if dataset is not None and remove:
        remove_schedule(opened.root, dataset)
        print(f"removed    {dataset}")
    elif dataset is not None and cron is not None:
        if not (opened.root / "specs" / f"{dataset}.toml").is_file():
            raise NotFound(f"specs/{dataset}.toml: there is no such spec", "write it first")
        added = add_schedule(opened.root, dataset, cron, timezone)
        print(f"scheduled  {added.dataset}  {added.cron}  {added.timezone}")
        print(f"next       {added.next_after(opened.now()).isoformat()}")
        print("served by  shardline scheduler")
    elif dataset is not None:
        raise ConfigError("a schedule needs its time", 'add --cron "0 3 * * *", or --remove')
    else:
        for item in read_schedules(opened.root):
            print(f"{item.dataset}  {item.cron}  {item.timezone}")


def scheduler(workspace: WorkspaceOption = None) -> None:
    """Serve all schedules until stopped.

    A restart finds them again.
    """
    from flows.deployments import serve

    opened = open_workspace(workspace)
    print(f"serving the schedules of {opened.root}; Ctrl-C stops", flush=True)
    serve(opened.root, lambda: importlib.import_module("flows.build.flow").build_flow)
