"""DVC: versions of sealed segments, and their bytes on hot and cold. Its only importer.

DVC moves bytes and is no proof of them: it trusts read-only files, believes its lists
and counts, and syncs nothing. So its word is never taken here; `storage_tiers.tiers`
verifies by SHA-256. Its ``gc`` is never called: it deletes what other versions need.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from dvc.config import Config
from dvc.config import ConfigError as DvcConfigError
from dvc.exceptions import DvcException, FileTransferError, NotDvcRepoError
from dvc.lock import LockError
from dvc.repo import Repo
from dvc.utils.serialize import dumps_yaml, load_yaml
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.meta import Meta
from dvc_data.hashfile.tree import Tree
from dvc_objects.errors import ObjectDBError, ObjectFormatError
from scmrepo.exceptions import SCMError

from lineage.durable import disk_error, replace_file, sync_file, sync_folder
from lineage.errors import ConfigError, IntegrityError, NotFound, Unavailable
from lineage.finding import Finding
from lineage.manifests.storage import StoredObject
from storage_tiers.files import disk_border, require_file
from storage_tiers.local import LocalStore
from storage_tiers.stored import measure, oid_name

MAX_FILES = 5_000
_SITE = Path(".shardline/dvc-site")
_IGNORED_BY_GIT = "/config.local\n/tmp\n/cache\n"
# DVC walks the workspace for its files; ledger, stage store and tiers are not its matter.
_IGNORED_BY_DVC = "/.shardline\n"

# Its command line alone would call home; this keeps even a started `dvc` from it.
os.environ.setdefault("DVC_NO_ANALYTICS", "1")
# It reports on the screen what we say in our own words; its loggers also turn its
# progress bars on and off. Not by the call: calls of several threads overlap.
for _name in ("dvc", "dvc_data", "dvc_objects"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class DvcWriter:
    """The one writer of a workspace's DVC repository.

    A segment is one ``.dvc`` file, named for a folder that need not exist, to be
    committed to Git together with the ``.gitignore`` beside it. Its objects are put on
    hot first (`LocalStore.put`), then named (`track`), then copied to cold (`push`);
    `Tiers` brings them back. Pushes from any threads and processes wait for each other,
    and each opens the repository anew; of tracks in one folder the caller MUST see that
    they come one by one.

    Args:
        root: the workspace, absolute, a Git repository of its own.
        hot: the folder of DVC's cache, absolute.
        cold: the folder of DVC's remote, absolute.
    """

    def __init__(self, root: Path, hot: Path, cold: Path) -> None:
        for path in (root, hot, cold):
            if not path.is_absolute():
                raise ConfigError(f"{path} is not an absolute path")
        self.root = root
        self.hot = hot
        self.cold = cold

    def create(self) -> None:
        """Makes the DVC repository and both tiers' folders; safe to repeat.

        ``.dvc/config`` names the cold tier and is committed, so that ``dvc pull`` works
        in a clone; ``.dvc/config.local`` names the hot tier and stays here. In a clone
        of a workspace this writes the second and leaves the first as it is.

        Raises:
            NotFound: `root` is not the top of a Git repository.
            ConfigError: the repository names another cold tier.
            Unavailable: a folder cannot be made or written.
        """
        if not (self.root / ".git").exists():
            raise NotFound(f"{self.root} is not a Git repository", "make one there first")
        folder = self.root / ".dvc"
        with self._border("make the DVC repository"):
            for path in (self.hot, self.cold, folder, self.root / _SITE):
                path.mkdir(parents=True, exist_ok=True)
            _write_once(folder / ".gitignore", _IGNORED_BY_GIT)
            _write_once(self.root / ".dvcignore", _IGNORED_BY_DVC)
            if not (folder / "config").exists():
                self._write_config(folder)
            self._write_local_config(folder)
        self._require_created()

    def track(self, folder: Path, objects: Sequence[StoredObject]) -> Path:
        """Names objects that lie on a tier already as the files of a folder.

        Nothing is copied, hashed or checked out: of a segment of which one shard was
        rewritten, only the list is new. Each object's file is called by the last part of
        its name.

        Args:
            folder: below `root`; it need not exist, the one above it must.
            objects: 1 to 5,000.

        Returns:
            Path of the ``.dvc`` file beside the folder.

        Raises:
            ConfigError: outside the workspace, no object, too many, or two of one name.
            Unavailable: hot or the workspace is full, read-only or away.
        """
        if not 1 <= len(objects) <= MAX_FILES or not folder.is_relative_to(self.root):
            raise ConfigError(f"{folder.name}: {len(objects)} objects cannot be one folder of DVC")
        tree = Tree.from_list([])
        for stored in objects:
            tree.add((PurePosixPath(stored.name).name,), Meta(), HashInfo("md5", stored.md5))
        if len(tree) != len(objects):
            raise ConfigError(f"{folder.name}: two objects would be one file of it")
        tree.digest()
        with disk_border(self.root), self._scratch() as scratch:
            listed = Path(scratch) / "list"
            listed.write_bytes(tree.as_bytes())
            LocalStore(self.hot).put(oid_name(str(tree.oid)), listed)
        dvc_file = folder.with_name(folder.name + ".dvc")
        size = sum(stored.size_bytes for stored in objects)
        out = {"md5": tree.oid, "size": size, "nfiles": len(objects), "hash": "md5"}
        text = dumps_yaml({"outs": [{**out, "path": folder.name}]})
        ignore = folder.with_name(".gitignore")
        lines = ignore.read_text().splitlines() if ignore.exists() else []
        # Crash before the .dvc file: the list lies on hot and nobody names it.
        replace_file(ignore, _lines({*lines, f"/{folder.name}"}))
        replace_file(dvc_file, text.encode())
        return dvc_file

    def _scratch(self) -> tempfile.TemporaryDirectory[str]:
        # The folder above holds what DVC makes anew, so somebody may have cleared it.
        (self.root / _SITE).mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=self.root / _SITE)

    def push(self, dvc_file: Path) -> None:
        """Copies a segment's objects to cold, each present and synced on return.

        Their bytes are not verified: the caller MUST verify each on cold by its
        SHA-256 (`Tiers.verify`) before it counts on them.

        Raises:
            NotFound: no such ``.dvc`` file, an object of it is on neither tier, or no DVC
                repository.
            IntegrityError: the list is not the one that the file names.
            ConfigError: ``.dvc/config`` is unreadable or names another cold tier.
            Unavailable: cold is full, read-only or away; pushing again goes on there.
        """
        md5s = [*self.objects(dvc_file).values(), _list_md5(dvc_file)]
        self._require_folder(self.cold)
        with self._repo(f"push {dvc_file.name} to the cold tier {self.cold}") as repo:
            repo.push(targets=[str(dvc_file)], remote="cold")
        # DVC takes a list on cold for all that it lists, and says nothing of the rest.
        hot, cold = LocalStore(self.hot), LocalStore(self.cold)
        for md5 in md5s:
            if not cold.exists(oid_name(md5)):
                cold.put(oid_name(md5), hot.path(oid_name(md5)))
        self._sync_cold(md5s)

    def objects(self, dvc_file: Path) -> dict[str, str]:
        """The files of a segment: path in the folder, with forward slashes, to MD5.

        Raises:
            NotFound: no such ``.dvc`` file, or its list is on neither tier.
            IntegrityError: the list is not the one that the file names.
        """
        name = oid_name(_list_md5(dvc_file))
        stores = (LocalStore(self.hot), LocalStore(self.cold))
        store = next((store for store in stores if store.exists(name)), None)
        if store is None:
            raise NotFound(
                f"{dvc_file.name}: its list {name} is on no tier", "restore it from a backup"
            )
        with store.open(name) as file:
            data = file.read()
        if hashlib.md5(data, usedforsecurity=False).hexdigest() + ".dir" != _list_md5(dvc_file):
            raise IntegrityError(f"{dvc_file.name}: its list {name} has other bytes")
        try:
            return {str(row["relpath"]): str(row["md5"]) for row in json.loads(data)}
        except (ValueError, TypeError, KeyError):
            raise IntegrityError(f"{dvc_file.name}: its list {name} is unreadable") from None

    def findings(self) -> list[Finding]:
        """What is wrong with the lists of all folders, on each tier.

        DVC takes a list on cold for all that it names, so a changed one hides losses.

        Raises:
            Unavailable: a tier does not answer.
        """
        found: list[Finding] = []
        for dvc_file in sorted((self.root / "datasets").rglob("*.dvc")):
            try:
                found += self._list_findings(dvc_file)
            except (IntegrityError, NotFound) as error:
                found.append(Finding(error.message, dvc_file.name))
        return found

    def _list_findings(self, dvc_file: Path) -> Iterator[Finding]:
        md5 = _list_md5(dvc_file)
        name = oid_name(md5)
        tiers = {"hot": LocalStore(self.hot), "cold": LocalStore(self.cold)}
        held = {tier: store for tier, store in tiers.items() if store.exists(name)}
        if not held:
            yield Finding("its list is on no tier", dvc_file.name)
        for tier, store in held.items():
            if measure(store.path(name)).md5 + ".dir" != md5:
                where = f"{dvc_file.name} ({name}) on the {tier} tier"
                yield Finding("its list has other bytes", where)

    @contextmanager
    def _repo(self, doing: str) -> Iterator[Any]:
        self._require_created()
        self._require_folder(self.hot)
        # Given here, and not read from the local config, so that a moved workspace works.
        config = {
            "core": {"site_cache_dir": str(self.root / _SITE), "check_update": False},
            "cache": {"dir": str(self.hot)},
        }
        with self._border(doing):
            repo = Repo(str(self.root), config=config, _wait_for_lock=True)
            try:
                yield repo
            finally:
                repo.close()

    @contextmanager
    def _border(self, doing: str) -> Iterator[None]:
        try:
            yield
        except LockError:
            raise Unavailable(f"cannot {doing}: the repository is locked") from None
        except DvcConfigError as error:
            raise ConfigError(f"cannot {doing}: {error}", "mend .dvc/config") from error
        except NotDvcRepoError:
            raise NotFound(f"{self.root} has no DVC repository", "run shardline init") from None
        except FileTransferError as error:
            raise Unavailable(
                f"cannot {doing}: {error.amount} objects did not arrive",
                f"see that {self.hot} and {self.cold} have room, are writable and complete",
            ) from error
        except ObjectFormatError as error:
            raise IntegrityError(f"cannot {doing}: an object has other bytes") from error
        except (DvcException, ObjectDBError, SCMError) as error:
            reason = str(error).partition("\n")[0][:300]
            raise ConfigError(f"cannot {doing}: {reason}") from error
        except OSError as error:
            raise disk_error(error, Path(error.filename or self.root)) from error

    def _write_config(self, folder: Path) -> None:
        with Config.init(str(folder)).edit("repo") as config:
            config["core"] = {
                "analytics": False,
                "check_update": False,
                "autostage": False,
                "remote": "cold",
            }
            config["remote"] = {"cold": {"url": str(self.cold)}}

    def _write_local_config(self, folder: Path) -> None:
        with Config(str(folder)).edit("local") as config:
            config["core"] = {"site_cache_dir": str(self.root / _SITE)}
            # Hard links: `dvc checkout` by hand copies no byte when hot is on the same disk.
            config["cache"] = {"dir": str(self.hot), "type": "hardlink,copy"}

    def _require_created(self) -> None:
        folder = self.root / ".dvc"
        if not (folder / "config").is_file():
            raise NotFound(f"{self.root} has no DVC repository", "run shardline init")
        with self._border("read .dvc/config"):
            remote = Config(str(folder))["remote"].get("cold", {}).get("url")
        if remote is None or Path(remote) != self.cold:
            raise ConfigError(
                f"the cold tier is {self.cold}, but .dvc/config names another",
                "set the url of the remote 'cold' there, or the cold tier in shardline.toml",
            )

    def _require_folder(self, folder: Path) -> None:
        with disk_border(folder):
            folder.stat()

    def _sync_cold(self, md5s: list[str]) -> None:
        """Waits for bytes and names that DVC wrote, which syncs nothing itself."""
        paths = [self.cold / oid_name(md5) for md5 in md5s]
        with disk_border(self.cold):
            for path in paths:
                sync_file(path)
            for folder in sorted({path.parent for path in paths}):
                sync_folder(folder)
            for folder in (self.cold / "files/md5", self.cold / "files", self.cold):
                sync_folder(folder)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in sorted(lines)).encode()


def _list_md5(dvc_file: Path) -> str:
    """The address of the list of a segment's files, from its ``.dvc`` file."""
    require_file(dvc_file)
    try:
        md5 = str(load_yaml(str(dvc_file))["outs"][0]["md5"])
    except (DvcException, TypeError, KeyError, IndexError):
        raise IntegrityError(f"{dvc_file.name}: not a file of DVC that names a folder") from None
    if not md5.endswith(".dir"):
        raise IntegrityError(f"{dvc_file.name}: names a single file, not a folder")
    return md5


def _write_once(path: Path, text: str) -> None:
    if not path.exists():
        path.write_text(text, encoding="utf-8")
