"""DVC when something breaks: tiers that refuse, killed and parallel writers, changed bytes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import IntegrityError, NotFound, Unavailable
from storage_tiers.dvc import DvcWriter
from storage_tiers.git import GitRepository
from storage_tiers.local import LocalStore
from storage_tiers.stored import oid_name

FILES = {"shard-0": b"first sealed bytes", "shard-1": os.urandom(3000), "spans/a": b"spans"}


def read_back(workspace: Any, dvc_file: Path) -> dict[str, bytes]:
    hot = LocalStore(workspace.hot)
    return {
        name: hot.path(oid_name(md5)).read_bytes()
        for name, md5 in workspace.dvc.objects(dvc_file).items()
    }


def test_a_flipped_byte_on_cold_does_not_stay_on_hot(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    workspace.dvc.push(dvc_file)
    hot, cold = LocalStore(workspace.hot), LocalStore(workspace.cold)
    name = oid_name(workspace.dvc.objects(dvc_file)["shard-1"])
    hot.delete(name)
    path = cold.path(name)
    path.chmod(0o644)
    path.write_bytes(b"?" + FILES["shard-1"][1:])
    path.chmod(0o444)
    with pytest.raises(IntegrityError, match="on the cold tier has other bytes"):
        workspace.dvc.fetch(dvc_file)
    assert not hot.exists(name)


def test_a_changed_list_is_refused(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    (name,) = [name for name in LocalStore(workspace.hot).names() if name.endswith(".dir")]
    path = LocalStore(workspace.hot).path(name)
    path.chmod(0o644)
    path.write_text("[]")
    with pytest.raises(IntegrityError, match="has other bytes"):
        workspace.dvc.objects(dvc_file)
    path.unlink()
    with pytest.raises(NotFound, match="on no tier"):
        workspace.dvc.objects(dvc_file)


@pytest.mark.parametrize("state", ["read-only", "full", "away"])
def test_a_cold_tier_that_does_not_take_bytes_is_one_error(
    tmp_path: Path, small_disk: Path, read_only: Callable[[Path], None], state: str
) -> None:
    root, cold = tmp_path / "w", small_disk / "cold"
    root.mkdir()
    git, writer = GitRepository(root), DvcWriter(root, root / ".shardline/hot", cold)
    git.create()
    writer.create()
    folder = root / "segment"
    folder.mkdir()
    (folder / "a").write_bytes(os.urandom(2_000_000 if state == "full" else 10))
    if state == "read-only":
        read_only(small_disk)
    dvc_file = writer.add(folder)
    if state == "away":
        cold.rmdir()
    with pytest.raises(Unavailable) as caught:
        writer.push(dvc_file)
    assert str(cold) in str(caught.value)
    assert LocalStore(root / ".shardline/hot").exists(oid_name(writer.objects(dvc_file)["a"]))


def test_a_hot_tier_that_is_full_keeps_the_folder(tmp_path: Path, small_disk: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    GitRepository(root).create()
    writer = DvcWriter(root, small_disk / "hot", tmp_path / "cold")
    writer.create()
    folder = root / "segment"
    folder.mkdir()
    (folder / "a").write_bytes(os.urandom(2_000_000))
    (folder / "b").write_bytes(b"small")
    with pytest.raises(Unavailable) as caught:
        writer.add(folder)
    assert str(small_disk) in str(caught.value)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    # With room for it, adding again finishes.
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert sorted(writer.objects(writer.add(folder))) == ["a", "b"]
    assert not folder.exists()


def test_writers_in_threads_wait_for_each_other(workspace: Any) -> None:
    folders = [workspace.write(f"segment-{number}", {"a": os.urandom(9)}) for number in range(4)]
    errors: list[BaseException] = []

    def publish(folder: Path) -> None:
        try:
            workspace.dvc.push(workspace.dvc.add(folder))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=publish, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list(LocalStore(workspace.cold).names("files/md5/"))) == 8


WRITER = """
import sys
from pathlib import Path
from storage_tiers.dvc import DvcWriter
root, hot, cold, folder = map(Path, sys.argv[1:])
writer = DvcWriter(root, hot, cold)
print("ready", flush=True)
writer.push(writer.add(folder))
"""


@pytest.mark.parametrize("delay_s", [0.2, 0.6])
def test_a_killed_add_or_push_is_finished_by_doing_it_again(workspace: Any, delay_s: float) -> None:
    files = {f"shard-{number:02}": os.urandom(2_000_000) for number in range(8)}
    folder = workspace.write("segment-0001", files)
    places = [str(path) for path in (workspace.root, workspace.hot, workspace.cold, folder)]
    process = subprocess.Popen([sys.executable, "-c", WRITER, *places], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay_s)
        process.kill()
    dvc_file = folder.with_name("segment-0001.dvc")
    if folder.is_dir():
        dvc_file = workspace.dvc.add(workspace.write("segment-0001", files))
    workspace.dvc.push(dvc_file)
    assert read_back(workspace, dvc_file) == files
    cold = LocalStore(workspace.cold)
    for name, md5 in workspace.dvc.objects(dvc_file).items():
        with cold.open(oid_name(md5)) as file:
            assert file.read() == files[name]


def test_what_a_killed_writer_left_in_the_lock_file_blocks_nobody(workspace: Any) -> None:
    folder = workspace.write("segment-0001", FILES)
    tmp = workspace.root / ".dvc/tmp"
    tmp.mkdir(exist_ok=True)
    (tmp / "rwlock").write_text('{"write": {')
    workspace.dvc.add(folder)
