"""`shardline report`: one page that shows what became of every document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shardline.cli.options import WorkspaceOption, open_workspace
from shardline.cli.output import row


def report(
    version: Annotated[str, typer.Argument(help="NAME@vN; NAME is its newest version.")],
    output: Annotated[Path | None, typer.Option(help="The file; NAME@vN.html by default.")] = None,
    texts: Annotated[bool, typer.Option(help="Show first words of example documents.")] = True,
    workspace: WorkspaceOption = None,
) -> None:
    """Write the report of a version: one page of HTML that stands by itself.

    The way of all records, drops by rule and source, histograms of every signal with the
    thresholds, languages, licences, duplicates, masked findings,
    evaluation items, examples.
    """
    from flows.storage import workspace_tiers
    from lineage.audit.reading import Reading
    from lineage.durable import replace_file
    from lineage.versions import find_version
    from shardline.report.page import report_page

    opened = open_workspace(workspace)
    found = find_version(opened.ledger.entries(predicates={"version"}), version)
    reading = Reading(opened, workspace_tiers(opened), "audit")
    page = report_page(reading, found, with_texts=texts)
    path = output if output is not None else Path(f"{found.name}.html")
    replace_file(path, page.encode("utf-8"))
    print(row("report", path))
