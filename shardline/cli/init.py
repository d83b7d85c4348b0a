"""`shardline init`: makes a workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(help="The folder; it is made when missing.")],
    hot: Annotated[str, typer.Option(help="Folder of the hot tier.")] = ".shardline/hot",
    cold: Annotated[str, typer.Option(help="Folder of the cold tier.")] = ".shardline/cold",
) -> None:
    """Make a new workspace: settings, keys, ledger, Git and DVC."""
    from flows.workspace import create_workspace
    from lineage.clock import system_clock

    workspace = create_workspace(folder, os.urandom, system_clock, hot, cold)
    print(f"workspace  {workspace.root}")
    print(f"keys       {workspace.key_path('wrapping').parent}  (back them up; never in Git)")
    print(f"ledger     {workspace.ledger.size} entries, log {workspace.config.log_id}")
    print("next       write specs/NAME.toml, then: shardline build NAME")
