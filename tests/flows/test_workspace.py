"""Making a workspace ready: Git, DVC and both tiers, also where a crash stopped it halfway."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from flows.workspace import create_workspace
from lineage.clock import system_clock
from lineage.errors import ConfigError, Conflict, Unavailable
from lineage.founding import found_workspace
from lineage.workspace import Workspace
from storage_tiers.git import GitRepository


def create(root: Path, **tiers: str) -> Workspace:
    workspace = create_workspace(root, os.urandom, system_clock, **tiers)
    workspace.close()
    return workspace


def tracked(root: Path) -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, check=True)
    return set(listed.stdout.decode().split())


def test_a_new_workspace_is_committed_without_its_secrets(tmp_path: Path) -> None:
    root = create(tmp_path / "deep" / "new").root
    expected = {"shardline.toml", "treehead", ".gitignore", ".dvcignore"}
    assert tracked(root) == expected | {".dvc/config", ".dvc/.gitignore"}
    assert not GitRepository(root).is_dirty()
    assert {path.name for path in root.iterdir()} >= {"specs", "datasets", "manifests"}


def test_tiers_may_lie_on_other_disks(tmp_path: Path) -> None:
    create(tmp_path / "new", hot=str(tmp_path / "nvme"), cold=str(tmp_path / "store"))
    assert (tmp_path / "nvme").is_dir()
    assert (tmp_path / "store").is_dir()
    workspace = Workspace(tmp_path / "new")
    assert (workspace.hot, workspace.cold) == (tmp_path / "nvme", tmp_path / "store")


def test_a_workspace_is_made_once(tmp_path: Path) -> None:
    root = create(tmp_path / "new").root
    head = GitRepository(root).head()
    with pytest.raises(Conflict, match="a workspace already"):
        create(root)
    assert GitRepository(root).head() == head


def test_a_workspace_that_a_crash_left_unfinished_is_finished_with_its_own_keys(
    tmp_path: Path,
) -> None:
    founded = found_workspace(tmp_path, ".shardline/hot", "cold", os.urandom, system_clock)
    founded.close()
    finished = create(tmp_path)
    assert finished.config == founded.config
    assert (tmp_path / "cold").is_dir()
    assert "treehead" in tracked(tmp_path)
    with pytest.raises(Conflict):
        create(tmp_path)


def test_a_folder_with_a_repository_of_its_own_keeps_its_commits(tmp_path: Path) -> None:
    GitRepository(tmp_path).create()
    (tmp_path / "train.py").write_text("print()")
    first = GitRepository(tmp_path).commit([tmp_path / "train.py"], "training")
    create(tmp_path)
    log = subprocess.run(
        ["git", "log", "--format=%H"], cwd=tmp_path, capture_output=True, check=True
    )
    assert log.stdout.decode().split()[-1] == first


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="a file, not a folder"):
        create(tmp_path / "file")
    with pytest.raises(Unavailable):
        create(Path("/proc/shardline"))
