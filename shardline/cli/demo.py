"""`shardline demo`: the whole way on a bundled sample, with nothing to set up."""

from __future__ import annotations

import json
import os
import shutil
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lineage.errors import Conflict
from shardline.cli.build import run_build

if TYPE_CHECKING:
    from lineage.workspace import Workspace

DATASET = "sample"
# The Universal Declaration of Human Rights in Portuguese, by the record's own id.
_DOCUMENT = "udhr/por_BR"


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo's workspace is made.")] = Path(
        "shardline-demo"
    ),
) -> None:
    """Go the whole way on a bundled sample.

    Build it, train a small model on it, and ask what the model was trained on.
    """
    workspace = _workspace(folder)
    languages = _count_languages(workspace.root / "sample")
    _title(f"1  Build: real text in {languages} languages becomes sealed shards")
    report = run_build(workspace, DATASET, 0, quiet=False)
    print(report.text())
    _approve(workspace, report.version.name)
    run = _train(workspace, report.version.name)
    _ask(workspace, run)
    _next(folder)


def _workspace(folder: Path) -> Workspace:
    from flows.workspace import create_workspace
    from lineage.clock import system_clock
    from lineage.config import FILE_NAME
    from lineage.workspace import Workspace

    if (folder / FILE_NAME).is_file():
        workspace = Workspace(folder)
    elif folder.is_dir() and any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty", "choose another with --folder")
    else:
        workspace = create_workspace(folder, os.urandom, system_clock)
    with resources.as_file(resources.files("shardline") / "data" / "sample") as sample:
        shutil.copytree(sample, workspace.root / "sample", dirs_exist_ok=True)
    shutil.copy(workspace.root / "sample" / "sample.toml", workspace.root / "specs")
    return workspace


def _approve(workspace: Workspace, version: str) -> None:
    from lineage.approvals import approve
    from lineage.keys.approvals import is_approved
    from lineage.versions import find_version

    _title("2  Approve: a person signs the digest of what was built")
    entries = list(workspace.ledger.entries())
    found = find_version(entries, version)
    if not is_approved(entries, found.manifest):
        approve(workspace, found, "the demo's own sample")
    print(f"approved     {found.name}  {found.manifest}")


def _train(workspace: Workspace, version: str) -> str:
    from shardline.cli.training import train

    _title("3  Train: a small model reads every sample once, keys released by the gate")
    checkpoint = workspace.root / "demo-model.npz"
    run, losses = train(workspace.root, version, checkpoint)
    third = max(1, len(losses) // 3)
    early, late = sum(losses[:third]) / third, sum(losses[-third:]) / third
    print(f"run          {run}")
    steps = f"in the first third of {len(losses)} steps"
    print(f"loss         {early:.2f} {steps}, {late:.2f} in the last")
    print(f"checkpoint   {checkpoint.name}")
    return run


def _ask(workspace: Workspace, run: str) -> None:
    from flows.storage import workspace_tiers
    from lineage.audit.documents import ask_documents
    from lineage.audit.reading import Reading
    from lineage.audit.runs import ask_run
    from lineage.audit.search import Wanted
    from shardline.cli.audit import verify
    from shardline.cli.output import show
    from shardline.cli.texts import documents_text, run_text, verify_text

    tiers = workspace_tiers(workspace)
    _title("4  Ask: what was this model trained on?")
    show(ask_run(Reading(workspace, tiers, "audit"), run), False, run_text)
    _title(f"5  Ask: where is document {_DOCUMENT}, and which checkpoint saw it first?")
    reading = Reading(workspace, tiers, "audit")
    show(ask_documents(reading, Wanted(id=_DOCUMENT), DATASET, 1), False, documents_text)
    _title("6  Verify: ledger, signatures, keys, every stored byte, the books")
    show(verify(workspace), False, verify_text)


def _count_languages(sample: Path) -> int:
    """Languages of the rows' labels, which spell some of them in several ways."""
    lines = (line for file in sample.glob("*.jsonl") for line in file.open(encoding="utf-8"))
    labels = (str(json.loads(line)["lang"]) for line in lines)
    return len({label.replace("_", "-").partition("-")[0].lower() for label in labels})


def _next(folder: Path) -> None:
    _title("Next")
    print(". .venv/bin/activate                  if make made the environment")
    print(f"cd {folder}")
    print(f"shardline why sample {_DOCUMENT}      why a document is in, or is not")
    print("shardline tier status sample@v1       what lies on hot and on cold")
    print("shardline build sample                nothing new, so nothing is published")


def _title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)
