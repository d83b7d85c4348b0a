"""DVC as we use it: real repositories, real tiers, and plain `dvc` as the judge."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import ConfigError, IntegrityError, NotFound
from storage_tiers.dvc import DvcWriter
from storage_tiers.git import GitRepository
from storage_tiers.local import LocalStore
from storage_tiers.stored import oid_name, store_name

FILES = {"shard-0": b"first sealed bytes", "shard-1": os.urandom(3000), "spans": b"", "a": b"x"}
SEGMENT = Path("datasets/news/segment-0001")


def plain(root: Path, *command: str) -> str:
    environment = os.environ | {"DVC_SITE_CACHE_DIR": str(root.parent / "site")}
    return subprocess.run(
        [*command], cwd=root, env=environment, check=True, capture_output=True, text=True
    ).stdout


def plain_dvc(root: Path, *arguments: str) -> str:
    return plain(root, sys.executable, "-m", "dvc", *arguments)


def clone_of(workspace: Any, into: Path) -> Path:
    plain(workspace.root, "git", "clone", "-q", str(workspace.root), str(into))
    return into


def commit(workspace: Any, *dvc_files: Path) -> None:
    shared = [Path(".dvc/config"), Path(".dvc/.gitignore"), Path(".dvcignore")]
    ignores = [dvc_file.with_name(".gitignore") for dvc_file in dvc_files]
    workspace.git.commit([*shared, *dvc_files, *ignores], "publish")


def objects_on(tier: Path, files: dict[str, str]) -> dict[str, bytes]:
    return {name: (tier / oid_name(md5)).read_bytes() for name, md5 in files.items()}


def test_a_tracked_segment_is_named_and_lies_on_hot_alone(workspace: Any) -> None:
    rows = workspace.keep(FILES)
    dvc_file = workspace.track("segment-0001", FILES)
    assert dvc_file == workspace.root / f"{SEGMENT}.dvc"
    assert not (workspace.root / SEGMENT).exists()
    files = workspace.dvc.objects(dvc_file)
    assert files == {Path(row.name).name: row.md5 for row in rows}
    assert objects_on(workspace.hot, files) == FILES
    assert list(LocalStore(workspace.cold).names()) == []
    workspace.track("segment-0000", {"a": b"x"})
    assert dvc_file.with_name(".gitignore").read_text() == "/segment-0000\n/segment-0001\n"


def test_plain_dvc_add_makes_the_same_bytes(workspace: Any, tmp_path: Path) -> None:
    commit(workspace)
    clone = clone_of(workspace, tmp_path / "clone")
    (clone / SEGMENT).mkdir(parents=True)
    for name, data in FILES.items():
        (clone / SEGMENT / name).write_bytes(data)
    plain_dvc(clone, "add", str(SEGMENT))
    tracked = workspace.track("segment-0001", FILES)
    for name in (tracked.name, ".gitignore"):
        assert (
            tracked.with_name(name).read_bytes() == (clone / SEGMENT).with_name(name).read_bytes()
        )
    (listed,) = [name for name in LocalStore(workspace.hot).names() if name.endswith(".dir")]
    added = clone / ".dvc/cache" / listed
    assert (workspace.hot / listed).read_bytes() == added.read_bytes()


def test_the_dvc_file_is_the_same_bytes_for_the_same_content(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", {"c": b"two", "a": b"one"})
    # The list is JSON with a blank after each colon and comma, in the order of paths.
    rows = (
        b'[{"md5": "f97c5d29941bfb1b2fdab0874906ab82", "relpath": "a"}, '
        b'{"md5": "b8a9f715dbb64fd5c56e7783c6820a61", "relpath": "c"}]'
    )
    expected = (
        "outs:\n"
        f"- md5: {hashlib.md5(rows).hexdigest()}.dir\n"
        "  size: 6\n"
        "  nfiles: 2\n"
        "  hash: md5\n"
        "  path: segment-0001\n"
    )
    assert dvc_file.read_text() == expected
    assert workspace.track("segment-0001", {"a": b"one", "c": b"two"}) == dvc_file
    assert dvc_file.read_text() == expected


def test_plain_dvc_pull_in_a_clone_brings_what_may_lie_on_cold_alone(
    workspace: Any, tmp_path: Path
) -> None:
    rows = workspace.keep(FILES)
    workspace.dvc.push(workspace.track("segment-0001", FILES))
    LocalStore(workspace.hot).delete(store_name(rows[0]))
    more = workspace.keep({"b": b"a new shard"})
    dvc_file = workspace.dvc.track(workspace.root / SEGMENT, [*rows, *more])
    workspace.dvc.push(dvc_file)
    assert not LocalStore(workspace.hot).exists(store_name(rows[0]))
    commit(workspace, dvc_file)
    clone = clone_of(workspace, tmp_path / "clone")
    plain_dvc(clone, "pull")
    pulled = {path.name: path.read_bytes() for path in (clone / SEGMENT).iterdir()}
    assert pulled == {**FILES, "b": b"a new shard"}


def test_objects_that_cannot_be_one_folder_are_refused(workspace: Any, tmp_path: Path) -> None:
    rows = workspace.keep({"a": b"one", "x/a": b"two"})
    folder = workspace.root / "segment-0001"
    with pytest.raises(ConfigError, match="two objects would be one file"):
        workspace.dvc.track(folder, rows)
    for place, objects in ((folder, []), (folder, rows * 2501), (tmp_path / "other", rows[:1])):
        with pytest.raises(ConfigError, match="cannot be one folder"):
            workspace.dvc.track(place, objects)
    assert not folder.with_name("segment-0001.dvc").exists()


def test_local_settings_stay_out_of_git(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    workspace.dvc.push(dvc_file)
    commit(workspace, dvc_file)
    tracked = plain(workspace.root, "git", "ls-files").split()
    assert ".dvc/config" in tracked
    assert not {name for name in tracked if "local" in name or "tmp" in name}
    assert plain(workspace.root, "git", "status", "--porcelain", ".dvc") == ""
    assert str(workspace.hot) not in (workspace.root / ".dvc/config").read_text()
    assert not (workspace.root / ".dvc/cache").exists()


def test_a_changed_segment_keeps_the_objects_of_its_earlier_state(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    old_file, old = dvc_file.read_bytes(), workspace.dvc.objects(dvc_file)
    workspace.dvc.push(dvc_file)
    assert workspace.track("segment-0001", {**FILES, "shard-1": b"with a hole"}) == dvc_file
    new = workspace.dvc.objects(dvc_file)
    assert [name for name in FILES if old[name] != new[name]] == ["shard-1"]
    workspace.dvc.push(dvc_file)
    dvc_file.write_bytes(old_file)
    assert workspace.dvc.objects(dvc_file) == old
    for tier in (workspace.hot, workspace.cold):
        assert objects_on(tier, old) == FILES


def test_creating_again_changes_nothing_and_a_clone_gets_its_own_hot_tier(
    workspace: Any, tmp_path: Path
) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    workspace.dvc.push(dvc_file)
    commit(workspace, dvc_file)
    settings = [workspace.root / ".dvc" / name for name in ("config", "config.local")]
    before = [path.read_bytes() for path in settings]
    workspace.dvc.create()
    assert [path.read_bytes() for path in settings] == before
    clone, hot = clone_of(workspace, tmp_path / "clone"), tmp_path / "hot-of-clone"
    writer = DvcWriter(clone, hot, workspace.cold)
    writer.create()
    assert plain(clone, "git", "status", "--porcelain", "--untracked-files=no") == ""
    # The list is on cold alone for the clone, until plain `dvc` brings all to its hot tier.
    files = writer.objects(clone / f"{SEGMENT}.dvc")
    plain_dvc(clone, "fetch")
    assert objects_on(hot, files) == FILES


def test_a_moved_workspace_goes_on(workspace: Any, tmp_path: Path) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    rows = workspace.keep(FILES)
    moved = workspace.root.rename(tmp_path / "moved")
    writer = DvcWriter(moved, moved / ".shardline/hot", workspace.cold)
    writer.push(moved / dvc_file.relative_to(workspace.root))
    writer.push(writer.track(moved / SEGMENT.with_name("segment-0002"), rows[:1]))
    assert len(list(LocalStore(workspace.cold).names("files/md5/"))) == len(FILES) + 2
    assert not workspace.root.exists()


def test_the_workspace_holds_what_dvc_remembers_and_nothing_is_printed(
    workspace: Any, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a").write_bytes(b"x" * 3_000_000)
    screen, end = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DVC")}
    process = subprocess.Popen(
        workspace.publish_command(files),
        stdin=subprocess.DEVNULL,
        stdout=end,
        stderr=end,
        env=environment | {"TERM": "xterm"},
    )
    assert process.wait() == 0
    os.close(end)
    os.set_blocking(screen, False)
    try:
        shown = os.read(screen, 4000)
    except OSError:
        shown = b""
    os.close(screen)
    # At its end tqdm, which DVC imports, sets the style of a terminal back: not to be seen.
    assert shown.removesuffix(b"\x1b[0m") == b""
    assert list((workspace.root / ".shardline/dvc-site").rglob("*.db"))


def test_a_second_push_moves_nothing_and_heals_what_dvc_does_not_see(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    workspace.dvc.push(dvc_file)
    cold = LocalStore(workspace.cold)
    before = {name: cold.path(name).stat().st_ino for name in cold.names()}
    workspace.dvc.push(dvc_file)
    assert {name: cold.path(name).stat().st_ino for name in cold.names()} == before
    lost = oid_name(workspace.dvc.objects(dvc_file)["shard-1"])
    cold.delete(lost)
    # DVC takes the list on cold for everything in it: it would report success.
    workspace.dvc.push(dvc_file)
    assert cold.path(lost).read_bytes() == FILES["shard-1"]


def test_a_push_without_the_bytes_anywhere_is_not_found(workspace: Any) -> None:
    dvc_file = workspace.track("segment-0001", FILES)
    LocalStore(workspace.hot).delete(oid_name(workspace.dvc.objects(dvc_file)["shard-1"]))
    with pytest.raises(NotFound, match="no such file"):
        workspace.dvc.push(dvc_file)


def test_a_missing_or_foreign_repository_is_said(tmp_path: Path, workspace: Any) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    writer = DvcWriter(bare, workspace.hot, workspace.cold)
    with pytest.raises(NotFound, match="not a Git repository"):
        writer.create()
    GitRepository(bare).create()
    dvc_file = writer.track(bare / "segment", workspace.keep({"a": b"x"}))
    with pytest.raises(NotFound, match="no DVC repository"):
        writer.push(dvc_file)
    with pytest.raises(ConfigError, match="names another"):
        DvcWriter(workspace.root, workspace.hot, tmp_path / "other").create()
    with pytest.raises(ConfigError, match="absolute"):
        DvcWriter(Path("here"), workspace.hot, workspace.cold)
    with pytest.raises(NotFound, match="no such file"):
        workspace.dvc.push(workspace.root / "nothing.dvc")
    (workspace.root / "broken.dvc").write_text("outs: [\n")
    with pytest.raises(IntegrityError, match="not a file of DVC"):
        workspace.dvc.objects(workspace.root / "broken.dvc")
    (workspace.root / ".dvc/config").write_text("[core\n")
    with pytest.raises(ConfigError, match="mend"):
        workspace.dvc.create()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_works_in_a_workspace_of_another_owner(workspace: Any) -> None:
    rows = workspace.keep(FILES)
    for path in (workspace.root, *workspace.root.rglob("*")):
        os.chown(path, 12345, 12345)
    dvc_file = workspace.dvc.track(workspace.root / "segment-0001", rows)
    workspace.dvc.push(dvc_file)
    assert objects_on(workspace.cold, workspace.dvc.objects(dvc_file)) == FILES


def test_the_feed_needs_no_dvc() -> None:
    script = """
import sys
import storage_tiers.local, storage_tiers.memory, storage_tiers.moves, storage_tiers.store
import storage_tiers.stored, storage_tiers.tiers
heavy = {"dvc", "dvc_data", "dvc_objects", "prefect", "duckdb", "numba", "fsspec", "tokenizers"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert done.stdout == b"[]\n"
