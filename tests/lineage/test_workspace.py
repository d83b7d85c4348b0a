"""Opening a workspace: found upwards, never made, and used by one publisher at a time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.config import FILE_NAME
from lineage.errors import AccessDenied, ConfigError, Conflict, IntegrityError, NotFound
from lineage.workspace import Workspace, find_workspace

HOLDS_A_LOCK = """
import pathlib, sys
from lineage.workspace import Workspace
with Workspace(pathlib.Path(sys.argv[1])).locked("publish", "busy"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_workspace_is_found_from_any_folder_inside(workspace: Workspace) -> None:
    inside = workspace.root / "a" / "b"
    inside.mkdir(parents=True)
    assert find_workspace(inside) == find_workspace(workspace.root) == workspace.root


def test_the_nearest_workspace_is_found(workspace: Workspace) -> None:
    inner = workspace.root / "inner"
    inner.mkdir()
    shutil.copy(workspace.root / FILE_NAME, inner)
    assert find_workspace(inner) == inner


def test_where_none_is_the_way_out_is_named(tmp_path: Path) -> None:
    for look in (find_workspace, Workspace):
        with pytest.raises(NotFound) as caught:
            look(tmp_path)
        assert caught.value.hint == "make one with: shardline init DIR"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("lost", "use"),
    [
        ("ledger.db", lambda w: w.ledger),
        ("keys.db", lambda w: w.keys),
        ("keys/wrapping.key", lambda w: w.wrapping),
        ("keys/log.key", lambda w: w.ledger),
        ("keys/owner.key", lambda w: w.signer("owner")),
        ("keys/gate.key", lambda w: w.gate),
    ],
)
def test_a_lost_ledger_or_key_is_missed_and_never_made_anew(
    workspace: Workspace, lost: str, use: object
) -> None:
    workspace.close()
    (workspace.state / lost).unlink()
    with pytest.raises(NotFound, match=Path(lost).name):
        use(Workspace(workspace.root))  # type: ignore[operator]
    assert not (workspace.state / lost).exists()


def test_a_key_file_that_others_can_read_is_refused(workspace: Workspace) -> None:
    workspace.key_path("owner").chmod(0o640)
    with pytest.raises(AccessDenied, match="others can read") as caught:
        workspace.signer("owner")
    assert caught.value.hint.startswith("chmod 600")


def test_another_workspaces_wrapping_key_opens_nothing(workspace: Workspace) -> None:
    workspace.close()
    workspace.key_path("wrapping").write_text("ab" * 32)
    with pytest.raises(IntegrityError, match="wrong wrapping key"):
        _ = Workspace(workspace.root).ledger


@pytest.mark.parametrize("data", [b"", b"no database at all", b"SQLite format 3\0" + bytes(99)])
def test_a_damaged_key_table_is_one_clear_error(workspace: Workspace, data: bytes) -> None:
    workspace.close()
    for path in workspace.state.glob("keys.db*"):
        path.unlink()
    (workspace.state / "keys.db").write_bytes(data)
    with pytest.raises(IntegrityError, match=r"keys\.db"):
        _ = Workspace(workspace.root).ledger


def test_a_wrong_setting_is_found_at_its_first_use(workspace: Workspace) -> None:
    settings = workspace.root / FILE_NAME
    settings.write_text(settings.read_text().replace("workers = 0", "workers = 0\nspeed = 9"))
    with pytest.raises(ConfigError, match="unknown key 'speed'"):
        _ = Workspace(workspace.root).config


def test_keys_are_not_shown_by_what_is_printed(workspace: Workspace) -> None:
    seal, row = workspace.minter.mint("corpus", "processed")
    secrets = (
        seal.key,
        workspace.stage_key,
        bytes.fromhex(workspace.key_path("wrapping").read_text()),
    )
    shown = f"{seal!r} {row!r} {workspace.minter!r} {workspace.wrapping!r} {workspace!r}"
    for secret in secrets:
        assert secret.hex() not in shown
        assert repr(secret)[2:-1] not in shown


def test_a_lock_is_held_by_one_process_and_freed_by_its_death(workspace: Workspace) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LOCK, str(workspace.root)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with (
        pytest.raises(Conflict, match="somebody else"),
        workspace.locked("publish", "somebody else"),
    ):
        raise AssertionError("entered")
    with workspace.locked("other", "busy"):
        pass
    holder.kill()
    holder.communicate()
    with workspace.locked("publish", "somebody else", seconds=5):
        pass


def test_a_lock_is_freed_when_its_work_fails(workspace: Workspace) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), workspace.locked("publish", "busy"):
            raise KeyError
