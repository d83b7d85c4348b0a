"""`shardline build` and `shardline versions`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from lineage.errors import NotFound
from shardline.cli.options import JsonOption, WorkspaceOption, open_workspace

if TYPE_CHECKING:
    from flows.build.report import BuildReport
    from lineage.workspace import Workspace


def build(
    dataset: Annotated[str, typer.Argument(help="NAME of specs/NAME.toml.")],
    workspace: WorkspaceOption = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 = as configured.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a dataset, and publish what is new.

    Ingest, clean, tokenize, shard and publish a version; with nothing new it says so.
    """
    report = run_build(open_workspace(workspace), dataset, workers, quiet=quiet or as_json)
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        print(report.text())


def run_build(workspace: Workspace, dataset: str, workers: int, *, quiet: bool) -> BuildReport:
    """Runs the build flow, showing progress on standard error."""
    from flows.build.front import build_at_the_front

    return build_at_the_front(workspace, dataset, workers, quiet=quiet)


def versions(
    dataset: Annotated[str | None, typer.Argument(help="One dataset; all when left out.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the published versions."""
    from lineage.clock import time_text
    from lineage.keys.approvals import approvals
    from lineage.versions import published_versions

    entries = list(open_workspace(workspace).ledger.entries(predicates={"version", "approval"}))
    approved = {item.manifest for item in approvals(entries)}
    rows = [
        {
            "version": item.name,
            "published": time_text(item.time),
            "manifest": str(item.manifest),
            "approved": item.manifest in approved,
        }
        for item in published_versions(entries)
        if dataset in (None, item.dataset)
    ]
    if not rows:
        of = "" if dataset is None else f" of {dataset}"
        raise NotFound(f"no version{of} was published yet", "shardline build NAME")
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        mark = "approved" if row["approved"] else "not approved"
        print(f"{row['version']}  {row['published']}  {mark}  {row['manifest']}")
