"""What was a model trained on: a run, and everything upstream of it."""

from __future__ import annotations

import json
from typing import Any

from lineage.audit.answer import Answer
from lineage.audit.index import LedgerIndex, Run
from lineage.audit.reading import Reading
from lineage.clock import time_text
from lineage.digest import Digest
from lineage.errors import NotFound
from lineage.side import read_side_object

_BUILD_FACTS = ("build", "spec", "python", "machine", "libraries")


def ask_run(reading: Reading, name: str) -> Answer:
    """Everything upstream of a run, its base checkpoints included.

    Raises:
        NotFound: there is no such run.
        AccessDenied: no grant for the audit of its dataset.
        IntegrityError: a manifest is not what the ledger names.
    """
    run = reading.index.run(name)
    return Answer(f"run {run.id}", _run_facts(reading, run, set()), reading.index.size)


def ask_runs(index: LedgerIndex) -> Answer:
    """All runs, oldest first."""
    runs = [
        {
            "run": run.id,
            "model": run.model,
            "version": f"{run.entry.body['dataset']}@v{run.entry.body['number']}",
            "begun": time_text(run.entry.time),
            "steps": sum(item.num_steps for item in run.consumptions),
            "checkpoints": len(run.checkpoints),
        }
        for run in index.runs.values()
    ]
    return Answer("runs", {"runs": runs}, index.size)


def _run_facts(reading: Reading, run: Run, seen: set[str]) -> dict[str, Any]:
    index, body = reading.index, run.entry.body
    version = index.version_of(run.version)
    content = reading.content(version)
    build = index.builds[version.build].body
    return {
        "run": run.id,
        "model": run.model,
        "begun": time_text(run.entry.time),
        "principal": run.entry.principal,
        "version": {
            "name": version.name,
            "manifest": str(version.manifest),
            "published": time_text(version.time),
            "ledger_position": version.position,
            "documents": content.num_documents,
            "tokens": content.num_tokens,
            "content_roots": [str(row.content_root) for row in content.segments],
        },
        "approved_when_read": body["approved"],
        "approvals": [
            {"approver": item.approver, "time": time_text(item.time), "entry": item.entry_id}
            for item in index.approvals_of(version.manifest)
        ],
        "sources": _sources(reading, run),
        "transforms": [dict(row) for row in content.transforms],
        "tokenizer": dict(content.tokenizer),
        "build": {name: build[name] for name in _BUILD_FACTS},
        "given": _given(run, content.sample_tokens),
        "checkpoints": [
            {"step": item.step, "checkpoint": str(item.digest), "time": time_text(item.time)}
            for item in run.checkpoints
        ],
        "keys_released": [entry.position for entry in index.accesses_of(run.id)],
        "environment": _environment(reading, run),
        "base_checkpoint": _base(reading, run, {*seen, run.id}),
    }


def _sources(reading: Reading, run: Run) -> list[dict[str, Any]]:
    content = reading.content(reading.index.version_of(run.version))
    rows = []
    for ordinal, source in enumerate(content.sources):
        documents, tokens = content.of_source(ordinal)
        rows.append(
            {
                "source": source.name,
                "licence": source.licence,
                "class": source.source_class,
                "collected": source.collected,
                "documents": documents,
                "tokens": tokens,
            }
        )
    return rows


def _given(run: Run, sample_tokens: int) -> dict[str, Any]:
    parts = run.consumptions
    return {
        "steps": sum(part.num_steps for part in parts),
        "samples": sum(part.num_samples_given() for part in parts),
        "tokens": sum(part.num_tokens_given(sample_tokens) for part in parts),
        "epochs_begun": 1 + max((r.epoch for part in parts for r in part.epochs()), default=-1),
    }


def _environment(reading: Reading, run: Run) -> dict[str, Any]:
    object_id = bytes.fromhex(run.entry.body["environment_object"])
    lease = reading.lease(run.entry.body["dataset"])
    facts: dict[str, Any] = json.loads(read_side_object(reading.workspace, object_id, lease))
    return facts


def _base(reading: Reading, run: Run, seen: set[str]) -> dict[str, Any] | None:
    """The checkpoint that a run started from, and the run that saved it, if it is recorded."""
    digest = run.base_checkpoint
    if digest is None:
        return None
    return {"checkpoint": str(digest), **_saved_by(reading, digest, seen)}


def _saved_by(reading: Reading, digest: Digest, seen: set[str]) -> dict[str, Any]:
    records = reading.index.checkpoints_of(digest)
    if not records:
        return {"recorded_here": False}
    saved = records[0]
    facts: dict[str, Any] = {"recorded_here": True, "run": saved.run, "step": saved.step}
    if saved.run not in seen:
        try:
            facts["upstream"] = _run_facts(reading, reading.index.runs[saved.run], seen)
        except NotFound as error:
            facts["upstream"] = {"missing": error.message}
    return facts
