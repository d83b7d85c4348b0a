"""Founding a workspace: once, whole, with its first entries and nothing secret in the open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.config import FILE_NAME
from lineage.errors import Conflict, NotFound
from lineage.founding import ROLES, found_workspace
from lineage.keys.grants import standing_grants
from lineage.keys.keytable import committed_head
from lineage.keys.trust import workspace_trust
from lineage.ledger.verify import verify_ledger
from lineage.workspace import Workspace
from tests.lineage.ledger.world import Chance, Clock

DIES_BEFORE_THE_SETTINGS = """
import os, pathlib, sys
import lineage.founding as founding
from tests.lineage.ledger.world import Chance, Clock
founding.replace_file = lambda *_: os._exit(9)
founding.found_workspace(pathlib.Path(sys.argv[1]), "hot", "cold", Chance(), Clock())
"""


def found(root: Path) -> Workspace:
    return found_workspace(root, ".shardline/hot", ".shardline/cold", Chance(), Clock())


def test_the_first_entries_are_genesis_principals_and_grants(workspace: Workspace) -> None:
    entries = list(workspace.ledger.entries())
    assert [entry.predicate for entry in entries] == [
        "genesis",
        *["principal"] * len(ROLES),
        *["grant"] * 2,
    ]
    genesis = entries[0].body
    assert genesis["workspace_id"] == workspace.config.workspace_id
    assert genesis["log_key"] == workspace.config.log_key
    assert genesis["root_keys"][0]["key"] == workspace.config.root_key
    assert committed_head(entries) == workspace.keys.head()


def test_a_new_workspace_is_sound_from_the_start(workspace: Workspace) -> None:
    trust = workspace_trust(workspace.config)
    assert not verify_ledger(workspace.ledger, trust, workspace.ledger.tree_head())


def test_the_owner_may_all_and_the_builder_only_build(workspace: Workspace) -> None:
    grants = {grant.principal: grant for grant in standing_grants(workspace.ledger.entries())}
    owner, builder = (grants[workspace.config.principals[role]] for role in ("owner", "builder"))
    now = workspace.now()
    assert owner.covers(owner.principal, "any", "approved", "train", now)
    assert builder.covers(builder.principal, "any", "raw", "build", now)
    assert not builder.covers(builder.principal, "any", "processed", "train", now)
    assert not builder.covers(builder.principal, "any", "approved", "build", now)
    assert set(grants) == {owner.principal, builder.principal}


def test_secrets_are_for_their_owner_alone_and_stand_nowhere_else(workspace: Workspace) -> None:
    keys = sorted((workspace.state / "keys").iterdir())
    assert [path.name for path in keys] == sorted(f"{n}.key" for n in (*ROLES, "log", "wrapping"))
    assert {path.stat().st_mode & 0o777 for path in keys} == {0o600}
    assert (workspace.state / "keys").stat().st_mode & 0o077 == 0
    secret = bytes.fromhex((workspace.state / "keys" / "wrapping.key").read_text())
    others = [p for p in workspace.root.rglob("*") if p.is_file() and p.parent.name != "keys"]
    assert not any(
        secret in p.read_bytes() or secret.hex().encode() in p.read_bytes() for p in others
    )


def test_two_workspaces_share_nothing(tmp_path: Path) -> None:
    seen: set[object] = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made = found_workspace(tmp_path / name, "hot", "cold", os.urandom, Clock())
        config = made.config
        seen |= {config.workspace_id, config.log_id, config.root_key, config.log_key}
        seen |= {made.wrapping.id, made.stage_key, *config.principals.values()}
        made.close()
    assert len(seen) == 2 * (6 + len(ROLES))


def test_a_second_founding_is_refused_and_changes_nothing(workspace: Workspace) -> None:
    files = [path for path in workspace.root.rglob("*") if path.is_file() and "-" not in path.name]
    before = {path: path.read_bytes() for path in files}
    with pytest.raises(Conflict, match="a workspace already"):
        found(workspace.root)
    assert {path: path.read_bytes() for path in files} == before


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print()")
    found(tmp_path).close()
    assert (tmp_path / "train.py").read_text() == "print()"


def test_what_a_crash_left_half_made_is_no_workspace_and_is_never_built_upon(
    tmp_path: Path,
) -> None:
    died = subprocess.run([sys.executable, "-c", DIES_BEFORE_THE_SETTINGS, str(tmp_path)],
                          check=False, cwd=Path(__file__).parents[2])  # fmt: skip
    assert died.returncode == 9
    assert not (tmp_path / FILE_NAME).exists()
    with pytest.raises(NotFound, match="no workspace here"):
        Workspace(tmp_path)
    with pytest.raises(Conflict, match="move it away"):
        found(tmp_path)
    (tmp_path / ".shardline").rename(tmp_path / "half-made")
    assert found(tmp_path).ledger.size == 3 + len(ROLES)
