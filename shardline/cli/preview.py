"""`shardline preview`: what a spec would do, on a sample, before a long build."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from shardline.cli.options import JsonOption, WorkspaceOption, open_workspace
from shardline.cli.output import row

if TYPE_CHECKING:
    from flows.preview import Preview


def preview(
    dataset: Annotated[str, typer.Argument(help="NAME of specs/NAME.toml.")],
    sample: Annotated[int, typer.Option(min=1, help="About so many documents.")] = 2000,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a spec on a sample of its sources; nothing is stored.

    Duplicates are those inside the sample, so a build finds more.
    """
    from flows.build.worker import spec_path
    from flows.preview import preview as tried
    from pipelines.spec.dataset import load_spec

    opened = open_workspace(workspace)
    found = tried(opened, load_spec(spec_path(opened, dataset)), sample)
    if as_json:
        print(json.dumps(found.to_json()))
        return
    for line in _lines(found):
        print(line)


def _lines(found: Preview) -> Iterator[str]:
    of_sources = ", ".join(f"{count:,} {name}" for name, count in found.source_documents.items())
    first = found.books.stage("ingest").in_.records
    yield row("sample", f"{first:,} records: {of_sources}")
    for book in found.books:
        for word, counts in (("quarantined", book.quarantined), ("dropped", book.dropped)):
            for rule, count in counts.items():
                share = 100 * count.records / first
                yield row(f"  {word}", f"{count.records:,} ({share:.1f} %) by {rule}")
        if book.stage == "clean" and found.evaluation is not None:
            for name, told in found.evaluation.lines():
                yield row(f"  {name}", told)
        if book.stage != "tokenize":
            share = 100 * book.kept.records / max(first, 1)
            yield row(book.stage, f"{book.kept.records:,} kept ({share:.1f} %)")
    yield row("time", f"{found.seconds:.1f} s")
