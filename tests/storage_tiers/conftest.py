"""What the tests of this room share: objects, tiers, a workspace and a small disk."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from lineage.manifests.storage import StoredObject
from storage_tiers.dvc import DvcWriter
from storage_tiers.git import GitRepository
from storage_tiers.local import LocalStore
from storage_tiers.stored import measure, store_name
from storage_tiers.tiers import Tiers


def stored(name: str, path: Path) -> StoredObject:
    size_bytes, sha256, md5 = measure(path)
    return StoredObject(name, hashlib.md5(name.encode()).digest(), "key", size_bytes, sha256, md5)


@dataclass(frozen=True)
class Shelf:
    """Two local tiers and three objects that lie on both."""

    tiers: Tiers
    hot: LocalStore
    cold: LocalStore
    objs: tuple[StoredObject, ...]

    def bytes_on_hot(self) -> list[bool]:
        return [self.hot.exists(store_name(obj)) for obj in self.objs]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    for name in ("hot", "cold"):
        (tmp_path / name).mkdir()
    hot, cold = LocalStore(tmp_path / "hot"), LocalStore(tmp_path / "cold")
    objs = []
    for number in range(3):
        path = tmp_path / f"shard-{number}"
        path.write_bytes(f"sealed bytes of shard {number} ".encode() * 2000)
        objs.append(stored(f"segment-0001/{path.name}", path))
        for store in (hot, cold):
            store.put(store_name(objs[-1]), path)
    return Shelf(Tiers(hot, cold, os.urandom), hot, cold, tuple(objs))


@dataclass(frozen=True)
class Workspace:
    """A folder with Git, DVC, and tiers beside it."""

    root: Path
    hot: Path
    cold: Path
    git: GitRepository
    dvc: DvcWriter

    def keep(self, files: dict[str, bytes]) -> list[StoredObject]:
        """Puts files on hot as a build does; returns their rows of the storage manifest."""
        rows = []
        with tempfile.TemporaryDirectory(dir=self.root.parent) as scratch:
            for name, data in files.items():
                path = Path(scratch) / name.replace("/", "-")
                path.write_bytes(data)
                rows.append(stored(f"segment/{name}", path))
                LocalStore(self.hot).put(store_name(rows[-1]), path)
        return rows

    def track(self, segment: str, files: dict[str, bytes]) -> Path:
        folder = self.root / "datasets/news" / segment
        folder.parent.mkdir(parents=True, exist_ok=True)
        return self.dvc.track(folder, self.keep(files))

    def publish_command(self, files: Path) -> list[str]:
        """A process that keeps, tracks as ``segment``, pushes, and waits for its input's end."""
        places = (self.root, self.hot, self.cold, files)
        return [sys.executable, "-c", PUBLISH, *map(str, places)]


PUBLISH = """
import sys
from pathlib import Path
from lineage.manifests.storage import StoredObject
from storage_tiers.dvc import DvcWriter
from storage_tiers.local import LocalStore
from storage_tiers.stored import measure, store_name
root, hot, cold, files = map(Path, sys.argv[1:])
rows = []
for path in files.iterdir():
    rows.append(StoredObject(f"segment/{path.name}", bytes(16), "key", *measure(path)))
    LocalStore(hot).put(store_name(rows[-1]), path)
writer = DvcWriter(root, hot, cold)
writer.push(writer.track(root / "segment", rows))
sys.stdin.read()
"""


def make_workspace(root: Path, hot: Path, cold: Path) -> Workspace:
    root.mkdir()
    git, dvc = GitRepository(root), DvcWriter(root, hot, cold)
    git.create()
    dvc.create()
    return Workspace(root, hot, cold, git, dvc)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    return make_workspace(root, root / ".shardline/hot", tmp_path / "cold")


@pytest.fixture
def workspace_with_tiers(tmp_path: Path) -> Callable[[Path, Path], Workspace]:
    return partial(make_workspace, tmp_path / "workspace")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB, mounted on a folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def read_only() -> Callable[[Path], None]:
    def remount(folder: Path) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)

    return remount
