"""Approving: a person signs the digest of a content manifest, once."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pytest

from lineage.approvals import approve
from lineage.errors import AccessDenied, Conflict
from lineage.keys.approvals import approvals, is_approved
from lineage.keys.keytable import committed_head
from lineage.keys.trust import workspace_trust
from lineage.ledger.verify import verify_ledger
from lineage.side import read_side_object
from lineage.versions import find_version
from lineage.workspace import Workspace
from tests.lineage.published import lease_of, publish


def test_an_approval_stands_in_the_ledger_signed_by_the_owner(workspace: Workspace) -> None:
    version = publish(workspace)
    assert not is_approved(workspace.ledger.entries(), version.manifest)
    given = approve(workspace, version, "looked at a sample of it")
    assert is_approved(workspace.ledger.entries(), version.manifest)
    assert approvals(workspace.ledger.entries()) == [given]
    assert (given.dataset, given.number, given.manifest) == ("corpus", 1, version.manifest)
    assert given.approver == workspace.config.principals["owner"]
    assert not verify_ledger(workspace.ledger, workspace_trust(workspace.config))


def test_the_reason_is_sealed_and_the_entry_only_names_it(workspace: Workspace) -> None:
    given = approve(workspace, publish(workspace), "looked at a sample of it")
    entry = workspace.ledger.find(given.entry_id)
    assert entry is not None
    assert b"sample" not in entry.envelope
    object_id = bytes.fromhex(entry.body["reason_object"])
    reason = read_side_object(workspace, object_id, lease_of(workspace))
    assert reason == b"looked at a sample of it"
    assert committed_head(workspace.ledger.entries()) == workspace.keys.head()


def test_a_second_approval_of_the_same_version_is_a_conflict(workspace: Workspace) -> None:
    version = publish(workspace)
    approve(workspace, version, "first")
    size, keys = workspace.ledger.size, workspace.keys.head()
    with pytest.raises(Conflict, match="corpus@v1 is approved already"):
        approve(workspace, version, "second")
    assert (workspace.ledger.size, workspace.keys.head()) == (size, keys)


def test_an_approval_is_of_one_version_only(workspace: Workspace) -> None:
    first, second = publish(workspace), publish(workspace, number=2)
    approve(workspace, first, "first")
    assert not is_approved(workspace.ledger.entries(), second.manifest)
    approve(workspace, second, "second")
    assert [given.number for given in approvals(workspace.ledger.entries())] == [1, 2]


def test_who_builds_does_not_approve(workspace: Workspace) -> None:
    version = publish(workspace)
    shutil.copy(workspace.key_path("builder"), workspace.key_path("owner"))
    settings = workspace.root / "shardline.toml"
    principals = workspace.config.principals
    written = settings.read_text().replace(principals["owner"], principals["builder"])
    settings.write_text(written)
    with pytest.raises(AccessDenied, match="who builds does not approve"):
        approve(Workspace(workspace.root), version, "my own work")


def _approve_once(root: Path) -> str:
    opened = Workspace(root)
    try:
        approve(opened, find_version(opened.ledger.entries(), "corpus"), "at once")
    except Conflict:
        return "conflict"
    return "approved"


def test_two_who_approve_at_once_give_one_entry(workspace: Workspace) -> None:
    publish(workspace)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        outcomes = pool.map(_approve_once, [workspace.root] * 2, chunksize=1)
    assert sorted(outcomes) == ["approved", "conflict"]
    assert len(approvals(workspace.ledger.entries())) == 1
