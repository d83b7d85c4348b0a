"""`shardline adopt`: a corpus that exists already becomes a version."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from shardline.cli.build import run_build
from shardline.cli.options import JsonOption, WorkspaceOption, open_workspace


def adopt(
    dataset: Annotated[str, typer.Argument(help="NAME: specs/NAME.toml is written.")],
    paths: Annotated[list[Path], typer.Argument(help="Files, folders or globs; each a source.")],
    tokenizer: Annotated[Path, typer.Option(help="A tokenizer.json.")],
    end_of_document: Annotated[str, typer.Option(help="The token that ends each document.")],
    text: Annotated[
        str | None, typer.Option(help="Field of the text, or MDS column of ids.")
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Field of a record's own id.")] = None,
    dtype: Annotated[
        str | None, typer.Option(help="How ids are written in MDS and arrays, such as uint16.")
    ] = None,
    licence: Annotated[
        str, typer.Option(help="SPDX expression, if you know one.")
    ] = "LicenseRef-unknown-before-import",
    sample_tokens: Annotated[int, typer.Option(min=2, help="Tokens in a sample.")] = 2048,
    seed: Annotated[int, typer.Option(min=0, help="Of the global shuffle.")] = 0,
    workspace: WorkspaceOption = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 = as configured.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a version of an existing corpus.

    Its origin is "unknown before import"; texts and token ids are taken as they are. Writes a
    spec, never over another, and builds it.
    """
    from flows.adopt import Corpus
    from flows.adopt import adopt as adopted

    opened = open_workspace(workspace)
    corpus = Corpus(
        tuple(paths), tokenizer, end_of_document, text, id_, dtype, licence, sample_tokens, seed
    )
    path = adopted(opened, dataset, corpus)
    if not quiet and not as_json:
        sys.stderr.write(f"wrote {path.relative_to(opened.root)}\n")
    report = run_build(opened, dataset, workers, quiet=quiet or as_json)
    print(json.dumps(report.to_json()) if as_json else report.text())
