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

from lineage.errors import ConfigError, IntegrityError, NotFound, Unavailable
from lineage.manifests.storage import StoredObject
from storage_tiers.dvc import MAX_FILES, DvcWriter
from storage_tiers.git import GitRepository
from storage_tiers.local import LocalStore
from storage_tiers.stored import measure, oid_name, store_name

FILES = {"shard-0": b"first sealed bytes", "shard-1": os.urandom(3000), "spans/a": b"spans"}


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


def commit(workspace: Any, dvc_file: Path) -> None:
    shared = [Path(".dvc/config"), Path(".dvc/.gitignore"), Path(".dvcignore")]
    workspace.git.commit([*shared, dvc_file, dvc_file.with_name(".gitignore")], "publish")


def read_back(workspace: Any, dvc_file: Path) -> dict[str, bytes]:
    hot = LocalStore(workspace.hot)
    return {
        name: hot.path(oid_name(md5)).read_bytes()
        for name, md5 in workspace.dvc.objects(dvc_file).items()
    }


def test_an_added_folder_lies_on_hot_alone(workspace: Any) -> None:
    folder = workspace.write("segment-0001", FILES)
    dvc_file = workspace.dvc.add(folder)
    assert dvc_file == folder.with_name("segment-0001.dvc")
    assert not folder.exists()
    assert read_back(workspace, dvc_file) == FILES
    for md5 in workspace.dvc.objects(dvc_file).values():
        status = LocalStore(workspace.hot).path(oid_name(md5)).stat()
        assert status.st_nlink == 1
        assert status.st_mode & 0o777 == 0o444
    assert list(LocalStore(workspace.cold).names()) == []


def test_the_list_has_the_addresses_that_we_measure(workspace: Any, tmp_path: Path) -> None:
    folder = workspace.write("segment-0001", FILES)
    measured = {name: measure(folder / name).md5 for name in FILES}
    assert workspace.dvc.objects(workspace.dvc.add(folder)) == measured


def test_the_dvc_file_is_the_same_bytes_for_the_same_content(workspace: Any) -> None:
    files = {"a": b"one", "b/c": b"two"}
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", files))
    # The list is JSON with a blank after each colon and comma, in the order of paths.
    rows = (
        b'[{"md5": "f97c5d29941bfb1b2fdab0874906ab82", "relpath": "a"}, '
        b'{"md5": "b8a9f715dbb64fd5c56e7783c6820a61", "relpath": "b/c"}]'
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
    assert workspace.dvc.add(workspace.write("segment-0001", files)) == dvc_file
    assert dvc_file.read_text() == expected


def test_plain_dvc_pull_in_a_clone_brings_equal_bytes(workspace: Any, tmp_path: Path) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    workspace.dvc.push(dvc_file)
    commit(workspace, dvc_file)
    clone = clone_of(workspace, tmp_path / "clone")
    plain_dvc(clone, "pull")
    pulled = clone / "datasets/news/segment-0001"
    assert {name: (pulled / name).read_bytes() for name in FILES} == FILES


def test_a_folder_that_git_ignores_already_can_be_added(workspace: Any) -> None:
    (workspace.root / ".gitignore").write_text("segment-*/\n")
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    assert not dvc_file.with_name(".gitignore").exists()
    assert read_back(workspace, dvc_file) == FILES


def keep_on_hot(workspace: Any, files: dict[str, bytes], scratch: Path) -> list[StoredObject]:
    """Puts files on hot as a build does, and returns their rows of the storage manifest."""
    scratch.mkdir()
    rows = []
    for number, (name, data) in enumerate(files.items()):
        path = scratch / str(number)
        path.write_bytes(data)
        size_bytes, sha256, md5 = measure(path)
        rows.append(StoredObject(f"seg/{name}", bytes(16), "key", size_bytes, sha256, md5))
        LocalStore(workspace.hot).put(store_name(rows[-1]), path)
    return rows


def test_tracking_stored_objects_gives_the_bytes_that_adding_gives(
    workspace: Any, tmp_path: Path
) -> None:
    files = {"b": b"two", "a": b"one", "c": b""}
    folder = workspace.root / "datasets/news/segment-0001"
    folder.parent.mkdir(parents=True)
    rows = keep_on_hot(workspace, files, tmp_path / "scratch")
    tracked = workspace.dvc.track(folder, rows)
    text, ignored = tracked.read_bytes(), tracked.with_name(".gitignore").read_bytes()
    added = workspace.dvc.add(workspace.write("segment-0001", files))
    assert added == tracked
    assert added.read_bytes() == text
    assert added.with_name(".gitignore").read_bytes() == ignored
    assert workspace.dvc.objects(tracked) == {
        row.name.removeprefix("seg/"): row.md5 for row in rows
    }


def test_tracked_objects_may_lie_on_cold_alone_and_plain_dvc_gets_them(
    workspace: Any, tmp_path: Path
) -> None:
    files = {"a": b"one", "b": b"two"}
    folder = workspace.root / "datasets/news/segment-0001"
    folder.parent.mkdir(parents=True)
    rows = keep_on_hot(workspace, files, tmp_path / "scratch")
    workspace.dvc.push(workspace.dvc.track(folder, rows))
    LocalStore(workspace.hot).delete(store_name(rows[0]))
    more = keep_on_hot(workspace, {"c": b"three"}, tmp_path / "more")
    dvc_file = workspace.dvc.track(folder, [*rows, *more])
    workspace.dvc.push(dvc_file)
    commit(workspace, dvc_file)
    clone = clone_of(workspace, tmp_path / "clone")
    plain_dvc(clone, "pull")
    pulled = clone / "datasets/news/segment-0001"
    assert {path.name: path.read_bytes() for path in pulled.iterdir()} == {**files, "c": b"three"}


def test_objects_that_cannot_be_one_folder_are_refused(workspace: Any, tmp_path: Path) -> None:
    rows = keep_on_hot(workspace, {"a": b"one", "x/a": b"two"}, tmp_path / "scratch")
    folder = workspace.root / "segment-0001"
    with pytest.raises(ConfigError, match="two objects would be one file"):
        workspace.dvc.track(folder, rows)
    for place, objects in ((folder, []), (folder, rows * 2501), (tmp_path / "other", rows[:1])):
        with pytest.raises(ConfigError, match="cannot be one folder"):
            workspace.dvc.track(place, objects)
    assert not folder.with_name("segment-0001.dvc").exists()


def test_local_settings_stay_out_of_git(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    commit(workspace, dvc_file)
    tracked = plain(workspace.root, "git", "ls-files").split()
    assert ".dvc/config" in tracked
    assert not {name for name in tracked if "local" in name or "tmp" in name}
    assert str(workspace.hot) not in (workspace.root / ".dvc/config").read_text()
    assert not (workspace.root / ".dvc/cache").exists()


def test_a_changed_folder_keeps_the_objects_of_its_earlier_state(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    old_file, old = dvc_file.read_bytes(), workspace.dvc.objects(dvc_file)
    changed = {**FILES, "shard-1": b"with a hole"}
    assert workspace.dvc.add(workspace.write("segment-0001", changed)) == dvc_file
    new = workspace.dvc.objects(dvc_file)
    assert [name for name in FILES if old[name] != new[name]] == ["shard-1"]
    workspace.dvc.push(dvc_file)
    dvc_file.write_bytes(old_file)
    assert read_back(workspace, dvc_file) == FILES


def test_creating_again_changes_nothing_and_a_clone_gets_its_own_hot_tier(
    workspace: Any, tmp_path: Path
) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    workspace.dvc.push(dvc_file)
    commit(workspace, dvc_file)
    before = (workspace.root / ".dvc/config").read_bytes()
    workspace.dvc.create()
    assert (workspace.root / ".dvc/config").read_bytes() == before
    clone = clone_of(workspace, tmp_path / "clone")
    writer = DvcWriter(clone, tmp_path / "hot-of-clone", workspace.cold)
    writer.create()
    cloned_file = clone / dvc_file.relative_to(workspace.root)
    writer.fetch(cloned_file)
    hot = LocalStore(tmp_path / "hot-of-clone")
    found = {name: hot.path(oid_name(md5)) for name, md5 in writer.objects(cloned_file).items()}
    assert {name: path.read_bytes() for name, path in found.items()} == FILES


def test_a_moved_workspace_goes_on(workspace: Any, tmp_path: Path) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    moved = workspace.root.rename(tmp_path / "moved")
    writer = DvcWriter(moved, moved / ".shardline/hot", workspace.cold)
    writer.push(moved / dvc_file.relative_to(workspace.root))
    (moved / "datasets/news/segment-0002").mkdir()
    (moved / "datasets/news/segment-0002/a").write_bytes(b"x")
    writer.add(moved / "datasets/news/segment-0002")
    assert not workspace.root.exists()


def test_the_workspace_holds_what_dvc_remembers_and_nothing_is_printed(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from storage_tiers.dvc import DvcWriter
from storage_tiers.git import GitRepository
root = Path(sys.argv[1])
GitRepository(root).create()
writer = DvcWriter(root, root / ".shardline/hot", root / ".shardline/cold")
writer.create()
(root / "segment").mkdir()
(root / "segment/a").write_bytes(b"x" * 3_000_000)
dvc_file = writer.add(root / "segment")
writer.push(dvc_file)
writer.fetch(dvc_file)
"""
    root = tmp_path / "w"
    root.mkdir()
    screen, end = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DVC")}
    command = [sys.executable, "-c", script, str(root)]
    process = subprocess.Popen(command, stdout=end, stderr=end, env=environment | {"TERM": "xterm"})
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
    assert list((root / ".shardline/dvc-site").rglob("*.db"))


def test_a_second_push_moves_nothing_and_heals_what_dvc_does_not_see(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    workspace.dvc.push(dvc_file)
    workspace.dvc.push(dvc_file)
    cold = LocalStore(workspace.cold)
    lost = oid_name(workspace.dvc.objects(dvc_file)["shard-1"])
    cold.delete(lost)
    # DVC takes the list on cold for everything in it: it would report success.
    workspace.dvc.push(dvc_file)
    with cold.open(lost) as file:
        assert file.read() == FILES["shard-1"]


def test_a_push_without_the_bytes_anywhere_is_not_found(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    LocalStore(workspace.hot).delete(oid_name(workspace.dvc.objects(dvc_file)["shard-1"]))
    with pytest.raises((NotFound, Unavailable)):
        workspace.dvc.push(dvc_file)


def test_fetch_brings_back_an_evicted_segment(workspace: Any) -> None:
    dvc_file = workspace.dvc.add(workspace.write("segment-0001", FILES))
    workspace.dvc.push(dvc_file)
    hot = LocalStore(workspace.hot)
    for name in list(hot.names("files/")):
        hot.delete(name)
    workspace.dvc.fetch(dvc_file)
    assert read_back(workspace, dvc_file) == FILES


def test_folders_that_cannot_be_added_are_refused_and_kept(workspace: Any, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder"):
        workspace.dvc.add(workspace.root / "datasets/nothing")
    empty = workspace.root / "datasets/empty"
    empty.mkdir(parents=True)
    with pytest.raises(ConfigError, match="holds no file"):
        workspace.dvc.add(empty)
    linked = workspace.write("linked", {"a": b"x"})
    (linked / "b").symlink_to(linked / "a")
    with pytest.raises(ConfigError, match="symbolic link"):
        workspace.dvc.add(linked)
    with pytest.raises(ConfigError, match="outside the workspace"):
        workspace.dvc.add(tmp_path)
    many = workspace.root / "datasets/many"
    many.mkdir()
    for number in range(MAX_FILES + 1):
        (many / str(number)).touch()
    with pytest.raises(ConfigError, match="more than 5000 files"):
        workspace.dvc.add(many)
    hidden = workspace.write("hidden", {"a": b"x", "b.tmp": b"y"})
    with (workspace.root / ".dvcignore").open("a") as file:
        file.write("*.tmp\n")
    with pytest.raises(ConfigError, match="DVC leaves out"):
        workspace.dvc.add(hidden)
    assert all(folder.is_dir() for folder in (empty, linked, many, hidden))


def test_a_missing_or_foreign_repository_is_said(tmp_path: Path, workspace: Any) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    with pytest.raises(NotFound, match="not a Git repository"):
        DvcWriter(bare, tmp_path / "h", tmp_path / "c").create()
    GitRepository(bare).create()
    (bare / "segment").mkdir()
    (bare / "segment/a").touch()
    with pytest.raises(NotFound, match="no DVC repository"):
        DvcWriter(bare, tmp_path / "h", tmp_path / "c").add(bare / "segment")
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
    folder = workspace.write("segment-0001", FILES)
    for path in (workspace.root, *workspace.root.rglob("*")):
        os.chown(path, 12345, 12345)
    workspace.dvc.push(workspace.dvc.add(folder))


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
