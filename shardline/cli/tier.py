"""`shardline tier`: what lies where, and moving it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from shardline.cli.options import JsonOption, WorkspaceOption, open_workspace

app = typer.Typer(help="Show and move a version between hot and cold.")
VersionArgument = Annotated[str, typer.Argument(help="NAME@vN.")]


@app.command()
def status(
    version: VersionArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Count a version's objects and bytes on each tier."""
    from flows.tiering import version_status

    found = version_status(open_workspace(workspace), version)
    if as_json:
        facts = {name: getattr(found, name) for name in found.__slots__}
        print(json.dumps(facts))
        return
    print(f"hot        {found.num_hot} objects, {found.hot_size_bytes:,} bytes")
    print(f"cold       {found.num_cold} objects, {found.cold_size_bytes:,} bytes")
    for name in found.missing:
        print(f"missing    {name}")


@app.command()
def promote(version: VersionArgument, workspace: WorkspaceOption = None) -> None:
    """Bring a version to the hot tier, verified."""
    from flows.tiering import promote_version

    report = promote_version(open_workspace(workspace), version)
    print(f"promoted   {report.num_moved} objects, {report.moved_size_bytes:,} bytes")
    print(f"already    {report.num_already} objects were on hot")


@app.command()
def demote(version: VersionArgument, workspace: WorkspaceOption = None) -> None:
    """Take a version off the hot tier.

    Each object is verified on cold before it leaves hot.
    """
    from flows.tiering import demote_version

    report, num_shared = demote_version(open_workspace(workspace), version)
    print(f"demoted    {report.num_moved} objects, {report.moved_size_bytes:,} bytes")
    print(f"already    {report.num_already} objects were off hot")
    if num_shared:
        print(f"shared     {num_shared} objects stay: the newest version has them too")
