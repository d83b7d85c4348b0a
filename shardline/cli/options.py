"""Options that many commands share, and how they open a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lineage.workspace import Workspace

WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        "-w",
        envvar="SHARDLINE_WORKSPACE",
        help="The workspace's folder; the nearest one from here upwards when left out.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def open_workspace(folder: Path | None) -> Workspace:
    """The workspace that a command works on.

    Raises:
        NotFound: there is none.
    """
    # Late, as everything heavy in these modules: `shardline --help` must answer at once.
    from lineage.workspace import Workspace, find_workspace

    return Workspace(folder if folder is not None else find_workspace(Path.cwd()))
