"""Git as the publishing flow uses it."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lineage.errors import ConfigError, Conflict, NotFound, Unavailable
from storage_tiers.git import GitRepository


def plain_git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "safe.directory=*"]
    command = ["git", *identity, *arguments]
    return subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def git(tmp_path: Path) -> GitRepository:
    root = tmp_path / "workspace"
    root.mkdir()
    repository = GitRepository(root)
    repository.create()
    return repository


def test_a_new_repository_has_a_branch_main_and_no_commit(git: GitRepository) -> None:
    assert git.head() is None
    assert not git.is_dirty()
    assert (git.root / ".git/HEAD").read_text() == "ref: refs/heads/main\n"


def test_a_commit_holds_its_paths_and_nothing_else_that_is_staged(git: GitRepository) -> None:
    for name in ("a.toml", "b.toml", "c.toml"):
        (git.root / name).write_text("x")
    plain_git(git.root, "add", "b.toml")
    commit = git.commit([git.root / "a.toml"], "first")
    assert commit == git.head() == plain_git(git.root, "rev-parse", "HEAD")
    assert plain_git(git.root, "ls-tree", "--name-only", "HEAD") == "a.toml"
    assert plain_git(git.root, "status", "--porcelain") == "A  b.toml\n?? c.toml"
    assert git.is_dirty()


def test_nothing_changed_is_no_commit(git: GitRepository) -> None:
    (git.root / "a.toml").write_text("x")
    first = git.commit([Path("a.toml")], "first")
    (git.root / "b.toml").write_text("x")
    plain_git(git.root, "add", "b.toml")
    assert git.commit([Path("a.toml")], "again") is None
    assert git.commit([], "none") is None
    assert git.head() == first


def test_folders_and_deleted_files_are_committed(git: GitRepository) -> None:
    folder = git.root / "specs"
    folder.mkdir()
    for name in ("[a].toml", "ü b.toml"):
        (folder / name).write_text("x")
    git.commit([folder], "both")
    (folder / "[a].toml").unlink()
    assert git.is_dirty()
    assert git.commit([folder / "[a].toml"], "one") is not None
    assert plain_git(git.root, "ls-tree", "-rz", "--name-only", "HEAD") == "specs/ü b.toml\0"
    (folder / "ü b.toml").write_text("y")
    assert git.commit([git.root], "all of it") is not None
    assert not git.is_dirty()


def test_two_commits_of_the_same_state_and_time_have_the_same_id(tmp_path: Path) -> None:
    commits = []
    for name in ("one", "two"):
        root = tmp_path / name
        root.mkdir()
        (root / "a").write_text("x")
        repository = GitRepository(root)
        repository.create()
        commits.append(repository.commit([Path("a")], "m", datetime(2026, 11, 30, tzinfo=UTC)))
    assert commits[0] == commits[1] is not None


def test_a_workspace_inside_another_repository_gets_its_own(tmp_path: Path) -> None:
    plain_git(tmp_path, "init", "-q")
    root = tmp_path / "inner"
    root.mkdir()
    inner = GitRepository(root)
    with pytest.raises(NotFound, match="not a Git repository"):
        inner.head()
    with pytest.raises(NotFound, match="not a Git repository"):
        inner.commit([Path("a")], "m")
    inner.create()
    inner.create()
    (root / "a").write_text("x")
    assert inner.commit([Path("a")], "m") is not None
    assert plain_git(tmp_path, "status", "--porcelain") == "?? inner/"
    assert plain_git(tmp_path, "rev-list", "--all") == ""


def test_hooks_signing_and_variables_of_the_user_have_no_say(
    git: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hook = git.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    plain_git(git.root, "config", "commit.gpgsign", "true")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = someone\n[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    (git.root / "a").write_text("one\r\n")
    assert git.commit([Path("a")], "m") is not None
    monkeypatch.undo()
    assert plain_git(git.root, "log", "-1", "--format=%an") == "shardline"
    assert plain_git(git.root, "show", "HEAD:a") == "one"
    assert plain_git(git.root, "cat-file", "-s", "HEAD:a") == "5"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_works_on_a_folder_of_another_owner(git: GitRepository) -> None:
    (git.root / "a").write_text("x")
    for path in (git.root, *git.root.rglob("*")):
        os.chown(path, 12345, 12345)
    assert git.commit([Path("a")], "m") is not None


def test_paths_that_cannot_be_committed_are_named(git: GitRepository) -> None:
    with pytest.raises(ConfigError, match="outside the workspace"):
        git.commit([Path("../other")], "m")
    with pytest.raises(NotFound, match="nothing-there"):
        git.commit([Path("nothing-there")], "m")
    (git.root / ".gitignore").write_text("/secret\n")
    (git.root / "secret").write_text("x")
    with pytest.raises(ConfigError, match="ignored"):
        git.commit([Path("secret")], "m")
    assert git.head() is None


def test_another_git_at_work_is_a_conflict(git: GitRepository) -> None:
    (git.root / "a").write_text("x")
    lock = git.root / ".git/index.lock"
    lock.touch()
    with pytest.raises(Conflict, match=r"index\.lock"):
        git.commit([Path("a")], "m")
    lock.unlink()
    assert git.commit([Path("a")], "m") is not None


def test_a_merge_that_is_half_done_is_a_conflict(git: GitRepository) -> None:
    (git.root / "a").write_text("x")
    git.commit([Path("a")], "m")
    (git.root / ".git/MERGE_HEAD").write_text(f"{git.head()}\n")
    (git.root / "a").write_text("y")
    with pytest.raises(Conflict, match="merge"):
        git.commit([Path("a")], "m")


def test_a_missing_git_is_said_with_the_way_out(
    git: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"git is not installed .*install git"):
        git.head()
    with pytest.raises(NotFound, match="no such folder"):
        GitRepository(tmp_path / "gone").create()


def test_a_full_disk_is_unavailable(small_disk: Path) -> None:
    root = small_disk / "w"
    root.mkdir()
    git = GitRepository(root)
    git.create()
    (root / "a").write_bytes(os.urandom(700_000))
    with pytest.raises(Unavailable, match="git add"):
        git.commit([Path("a")], "m")
    assert git.head() is None
