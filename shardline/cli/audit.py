"""`shardline audit`, `why` and `quarantine`: answers with how far they reach."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lineage.errors import ConfigError, IntegrityError, NotFound, Unavailable
from shardline.cli.options import JsonOption, WorkspaceOption, open_workspace
from shardline.cli.output import show
from shardline.cli.texts import (
    diff_text,
    documents_text,
    quarantine_text,
    run_text,
    runs_text,
    verify_text,
    why_text,
)

if TYPE_CHECKING:
    from lineage.audit.answer import Answer
    from lineage.audit.reading import Reading
    from lineage.workspace import Workspace

app = typer.Typer(help="Ask what a model was trained on, and verify all.")


@app.command("run")
def audit_run(
    run: Annotated[str, typer.Argument(help="A run's id, its start, or a model's name.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a run was trained on.

    Versions, sources, licences, transforms, approvals, environment, base checkpoint.
    """
    from lineage.audit.runs import ask_run

    opened = open_workspace(workspace)
    show(ask_run(_reading(opened, "audit"), run), as_json, run_text)


@app.command("runs")
def audit_runs(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List all runs."""
    from lineage.audit.index import LedgerIndex
    from lineage.audit.runs import ask_runs

    opened = open_workspace(workspace)
    show(ask_runs(LedgerIndex(opened.ledger.entries())), as_json, runs_text)


@app.command("document")
def audit_document(
    id: Annotated[str | None, typer.Option(help="A document id or a record's own id.")] = None,  # noqa: A002
    text_file: Annotated[Path | None, typer.Option(help="A file with the exact text.")] = None,
    where: Annotated[str | None, typer.Option(help="SQL condition over the decisions.")] = None,
    dataset: Annotated[str | None, typer.Option(help="One dataset only.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most documents told of.")] = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell where a document is, and who was given it.

    Its versions and shards, the runs that were given it, and the first checkpoint of each.
    """
    from lineage.audit.documents import ask_documents
    from lineage.audit.search import Wanted

    opened = open_workspace(workspace)
    wanted = Wanted(id, None if text_file is None else _text(text_file), where)
    reading = _reading(opened, "lookup" if text_file is not None else "audit")
    show(ask_documents(reading, wanted, dataset, limit), as_json, documents_text)


@app.command("verify")
def audit_verify(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Verify everything.

    Tree, signatures, keys, manifests, every object's digest on both tiers, roots, books.
    """
    answer = verify(open_workspace(workspace))
    show(answer, as_json, verify_text)
    if not answer.facts["sound"]:
        raise typer.Exit(IntegrityError.exit_code)


def quarantine(
    version: Annotated[str, typer.Argument(help="NAME@vN; NAME is its newest version.")],
    limit: Annotated[int, typer.Option(min=1, help="Most records told of.")] = 100,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what could not be read, each with file, position and reason."""
    from lineage.audit.quarantine import ask_quarantine

    opened = open_workspace(workspace)
    show(ask_quarantine(_reading(opened, "audit"), version, limit), as_json, quarantine_text)


def diff(
    old: Annotated[str, typer.Argument(help="NAME@vN, the older version.")],
    new: Annotated[str, typer.Argument(help="NAME@vN, the newer version.")],
    limit: Annotated[int, typer.Option(min=0, help="Most documents listed of each kind.")] = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what changed between two versions.

    Documents added, removed and changed, by reason and source.
    """
    from lineage.audit.diff import ask_diff

    opened = open_workspace(workspace)
    show(ask_diff(_reading(opened, "audit"), old, new, limit), as_json, diff_text)


def why(
    dataset: Annotated[str, typer.Argument(help="NAME of a dataset.")],
    document: Annotated[str, typer.Argument(help="A document id or a record's own id.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell why a document is in a dataset, or is not.

    Every decision on it, the document that stands for it, and where it lies.
    """
    from lineage.audit.documents import ask_why

    opened = open_workspace(workspace)
    show(ask_why(_reading(opened, "audit"), dataset, document), as_json, why_text)


def verify(workspace: Workspace) -> Answer:
    """Every check over one workspace."""
    from flows.storage import workspace_dvc, workspace_tiers
    from lineage.audit.verify import ask_verify
    from pipelines.books import Books

    return ask_verify(
        workspace,
        workspace_tiers(workspace),
        check_books=lambda books: Books.parse(list(books)).balance(),
        check_lists=workspace_dvc(workspace).findings,
    )


def _reading(workspace: Workspace, purpose: str) -> Reading:
    from flows.storage import workspace_tiers
    from lineage.audit.reading import Reading

    return Reading(workspace, workspace_tiers(workspace), purpose)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such file") from None
    except (UnicodeDecodeError, IsADirectoryError):
        raise ConfigError(f"{path}: not a file of UTF-8 text") from None
    except OSError as error:
        raise Unavailable(f"{path}: cannot be read: {error.strerror}") from None
