"""The ledger in the shape of questions: runs by any name, and who was given what."""

from __future__ import annotations

from typing import Any

import pytest

from lineage.approvals import approve
from lineage.audit.index import LedgerIndex
from lineage.audit.runs import ask_runs
from lineage.consumption import Consumption
from lineage.digest import Digest
from lineage.errors import ConfigError, NotFound
from lineage.keys.gate import AccessRequest
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from lineage.versions import Version
from lineage.workspace import Workspace
from tests.lineage.published import named, publish


def say(workspace: Workspace, predicate: str, body: dict[str, Any]) -> None:
    draft = Draft(predicate, (Subject("x", named("x")),), body, (workspace.signer("owner"),))
    workspace.ledger.append([draft])


def begin(
    workspace: Workspace,
    run: str,
    version: Version,
    model: str = "small",
    base: Digest | None = None,
) -> None:
    body = {"run": run, "model": model, "dataset": version.dataset, "number": version.number}
    more = {"version": version.manifest, "base_checkpoint": base, "seed": 7, "approved": False}
    say(workspace, "run", body | more)


def give(workspace: Workspace, run: str, version: Version, first: int, steps: int) -> None:
    given = Consumption(version.manifest, 7, 9, 2, True, 0, 2 * first, first, steps)
    say(workspace, "consumption", {"run": run, **given.to_json()})


def save(workspace: Workspace, run: str, step: int, weights: str) -> None:
    say(workspace, "checkpoint", {"run": run, "step": step, "checkpoint": named(weights)})


RUN, OTHER = "aaaa1111" + "0" * 24, "aaaa2222" + "0" * 24


def test_a_run_is_found_by_its_id_its_start_and_its_models_name(workspace: Workspace) -> None:
    version = publish(workspace)
    begin(workspace, RUN, version)
    begin(workspace, OTHER, version, "large")
    index = LedgerIndex(workspace.ledger.entries())
    assert index.run(RUN).id == index.run("aaaa1").id == index.run("small").id == RUN
    assert index.run("large").id == OTHER


def test_the_newest_run_of_a_model_is_meant_by_its_name(workspace: Workspace) -> None:
    version = publish(workspace)
    begin(workspace, RUN, version)
    begin(workspace, OTHER, version)
    assert LedgerIndex(workspace.ledger.entries()).run("small").id == OTHER


def test_a_start_of_several_ids_is_refused_and_an_unknown_name_not_found(
    workspace: Workspace,
) -> None:
    version = publish(workspace)
    begin(workspace, RUN, version)
    begin(workspace, OTHER, version)
    index = LedgerIndex(workspace.ledger.entries())
    with pytest.raises(ConfigError, match="2 runs start so"):
        index.run("aaaa")
    for name in ("aaa", "nobody", ""):
        with pytest.raises(NotFound, match="no run is called"):
            index.run(name)


def test_what_a_run_was_given_and_saved_stands_in_order(workspace: Workspace) -> None:
    version = publish(workspace)
    begin(workspace, RUN, version)
    begin(workspace, OTHER, version)
    give(workspace, RUN, version, 0, 2)
    save(workspace, RUN, 2, "first")
    give(workspace, OTHER, version, 0, 1)
    give(workspace, RUN, version, 2, 1)
    save(workspace, RUN, 3, "second")
    run = LedgerIndex(workspace.ledger.entries()).run(RUN)
    recorded = [(part.first_step, part.num_steps) for _, part in run.records]
    assert recorded == [(0, 2), (2, 1)]
    assert [(part.first_step, part.num_steps) for part in run.consumptions] == [(0, 3)]
    assert [(item.step, item.digest) for item in run.checkpoints] == [
        (2, named("first")),
        (3, named("second")),
    ]
    places = [place for place, _ in run.records] + [item.position for item in run.checkpoints]
    assert len(set(places)) == 4


def test_a_checkpoint_leads_to_the_runs_that_saved_it(workspace: Workspace) -> None:
    version = publish(workspace)
    begin(workspace, RUN, version)
    save(workspace, RUN, 5, "weights")
    begin(workspace, OTHER, version, base=named("weights"))
    index = LedgerIndex(workspace.ledger.entries())
    assert index.run(OTHER).base_checkpoint == named("weights")
    assert index.run(RUN).base_checkpoint is None
    assert [item.run for item in index.checkpoints_of(named("weights"))] == [RUN]
    assert index.checkpoints_of(named("unknown")) == []


def test_versions_approvals_and_accesses_are_found(workspace: Workspace) -> None:
    version = publish(workspace)
    approve(workspace, version, "looked at it")
    request = AccessRequest(
        workspace.signer("owner"), "corpus", "approved", "train", RUN, version.manifest
    )
    lease = workspace.gate.release(request)
    index = LedgerIndex(workspace.ledger.entries())
    assert index.size == workspace.ledger.size
    assert index.version_of(version.manifest) == version
    assert len(index.approvals_of(version.manifest)) == 1
    assert index.approvals_of(named("other")) == []
    assert [entry.position for entry in index.accesses_of(RUN)] == [lease.position]
    with pytest.raises(NotFound, match="no version has the content manifest"):
        index.version_of(named("other"))


def test_all_runs_are_told_of_with_what_they_were_given(workspace: Workspace) -> None:
    version = publish(workspace)
    begin(workspace, RUN, version)
    give(workspace, RUN, version, 0, 2)
    give(workspace, RUN, version, 2, 1)
    save(workspace, RUN, 3, "weights")
    answer = ask_runs(LedgerIndex(workspace.ledger.entries()))
    (told,) = answer.facts["runs"]
    assert (told["run"], told["model"], told["version"]) == (RUN, "small", "corpus@v1")
    assert (told["steps"], told["checkpoints"]) == (3, 1)
    assert (answer.tree_size, answer.complete) == (workspace.ledger.size, True)
    assert answer.to_json()["mode"] == "self-attested"
