"""DVC when something breaks: tiers that refuse, killed and parallel writers, changed bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import IntegrityError, NotFound, Unavailable
from storage_tiers.local import LocalStore
from storage_tiers.stored import oid_name

FILES = {"shard-0": b"first sealed bytes", "shard-1": os.urandom(3000)}


def name_of_list(hot: Path) -> str:
    (name,) = [name for name in LocalStore(hot).names() if name.endswith(".dir")]
    return name


def test_a_changed_or_lost_list_is_refused(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    path = workspace.hot / name_of_list(workspace.hot)
    path.chmod(0o644)
    path.write_text("[]")
    for use in (workspace.dvc.objects, workspace.dvc.push):
        with pytest.raises(IntegrityError, match="has other bytes"):
            use(dvc_file)
    path.unlink()
    for use in (workspace.dvc.objects, workspace.dvc.push):
        with pytest.raises(NotFound, match="on no tier"):
            use(dvc_file)


def test_a_push_refuses_a_list_on_cold_that_is_none(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    path = workspace.cold / name_of_list(workspace.hot)
    path.parent.mkdir(parents=True)
    path.write_text("[{")
    path.chmod(0o444)
    with pytest.raises(IntegrityError, match="cannot push segment-0001.dvc to the cold tier"):
        workspace.dvc.push(dvc_file)


@pytest.mark.parametrize("state", ["read-only", "full", "away"])
def test_a_cold_tier_that_does_not_take_bytes_is_one_error(
    tmp_path: Path,
    workspace_with_tiers: Callable[[Path, Path], Any],
    small_disk: Path,
    read_only: Callable[[Path], None],
    state: str,
) -> None:
    hot, cold = tmp_path / "hot", small_disk / "cold"
    workspace = workspace_with_tiers(hot, cold)
    if state == "read-only":
        read_only(small_disk)
    data = os.urandom(2_000_000 if state == "full" else 10)
    dvc_file = workspace.track("segment-0001", {"a": data})
    if state == "away":
        cold.rmdir()
    with pytest.raises(Unavailable) as caught:
        workspace.dvc.push(dvc_file)
    assert str(cold) in str(caught.value)
    assert LocalStore(hot).exists(oid_name(workspace.dvc.objects(dvc_file)["a"]))


def test_a_hot_tier_that_is_full_names_nothing(
    tmp_path: Path, workspace_with_tiers: Callable[[Path, Path], Any], small_disk: Path
) -> None:
    workspace = workspace_with_tiers(small_disk / "hot", tmp_path / "cold")
    rows, folder = workspace.keep(FILES), workspace.root / "segment"
    with pytest.raises(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    with pytest.raises(Unavailable, match="full") as caught:
        workspace.dvc.track(folder, rows)
    assert str(small_disk) in str(caught.value)
    assert not folder.with_name("segment.dvc").exists()
    # With room for it, tracking again finishes.
    (small_disk / "filler").unlink()
    assert workspace.dvc.objects(workspace.dvc.track(folder, rows)).keys() == FILES.keys()


def test_pushes_in_threads_wait_for_each_other(workspace: Any) -> None:
    tracked = [workspace.track(f"segment-{n}", {"a": os.urandom(9)}) for n in range(3)]
    errors: list[BaseException] = []

    def push(dvc_file: Path) -> None:
        try:
            workspace.dvc.push(dvc_file)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=push, args=(dvc_file,)) for dvc_file in tracked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list(LocalStore(workspace.cold).names("files/md5/"))) == 6


@pytest.mark.parametrize("reached", ["segment.dvc", ".shardline/cold/files/md5/*/*"])
def test_a_killed_track_or_push_is_finished_by_doing_it_again(
    tmp_path: Path, workspace_with_tiers: Callable[[Path, Path], Any], reached: str
) -> None:
    tiers = tmp_path / "workspace/.shardline"
    workspace = workspace_with_tiers(tiers / "hot", tiers / "cold")
    contents = {f"shard-{number}": os.urandom(1_000_000) for number in range(4)}
    files = tmp_path / "files"
    files.mkdir()
    for name, data in contents.items():
        (files / name).write_bytes(data)
    # It would wait for its input's end, so it is still there to be killed.
    with subprocess.Popen(workspace.publish_command(files), stdin=subprocess.PIPE) as process:
        while process.poll() is None and not any(workspace.root.glob(reached)):
            time.sleep(0.001)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    dvc_file = workspace.dvc.track(workspace.root / "segment", workspace.keep(contents))
    workspace.dvc.push(dvc_file)
    for name, md5 in workspace.dvc.objects(dvc_file).items():
        assert LocalStore(workspace.cold).path(oid_name(md5)).read_bytes() == contents[name]


def test_what_a_killed_dvc_left_in_its_lock_file_blocks_no_push(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    tmp = workspace.root / ".dvc/tmp"
    tmp.mkdir(exist_ok=True)
    (tmp / "rwlock").write_text('{"write": {')
    workspace.dvc.push(dvc_file)
