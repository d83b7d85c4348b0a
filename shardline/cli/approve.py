"""`shardline approve`."""

from __future__ import annotations

from typing import Annotated

import typer

from shardline.cli.options import WorkspaceOption, open_workspace


def approve(
    version: Annotated[str, typer.Argument(help="NAME@vN.")],
    reason: Annotated[str, typer.Option(help="Why; kept sealed beside the ledger.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Approve a version for training.

    Signs the digest of its content manifest.
    """
    from lineage.approvals import approve as give
    from lineage.versions import find_version

    opened = open_workspace(workspace)
    found = find_version(opened.ledger.entries(predicates={"version"}), version)
    approval = give(opened, found, reason)
    print(f"approved   {found.name}  {found.manifest}")
    print(f"entry      {approval.entry_id}, by principal {approval.approver}")
