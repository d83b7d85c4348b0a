"""Where the files of a source come from: this machine, or a bucket of S3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from lineage.errors import NotFound
from pipelines.ingest.places.endings import is_hidden
from pipelines.ingest.places.files import SourceFile, in_folder
from pipelines.ingest.places.opening import LocalFiles, OpenFile, SourceFiles
from pipelines.spec.source import SourceSpec
from storage_tiers.objects import SCHEME, Bucket, BucketObject, bucket_and_key

_MAGIC = re.compile(r"[*?\[]")
_ANY_DEPTH = "**"


def source_files(source: SourceSpec, root: Path) -> SourceFiles:
    """Who lists and opens the files of a source.

    Args:
        root: the workspace's root.

    Raises:
        ConfigError: an address of a bucket that is none.
    """
    if source.path.startswith(SCHEME):
        return BucketFiles(Bucket(bucket_and_key(source.path)[0]))
    return LocalFiles(root)


class BucketFiles:
    """Objects of a bucket as files of sources; see `SourceFiles`.

    A path is a key, a folder of keys or a pattern, with ``*`` inside a part of a key and
    ``**`` for any depth. Keys of which a part begins with a dot are passed over, unless
    the path names them.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def list(self, source: SourceSpec) -> list[SourceFile]:
        _, path = bucket_and_key(source.path)
        found = self._named(path) or sorted(self._matching(source, path))
        if not found:
            what = f"source {source.name}: {source.path}: nothing matches"
            raise NotFound(what, f"no {source.format} object lies there")
        return [
            SourceFile(f"{SCHEME}{self._bucket.name}/{item.key}", item.size_bytes, _state(item))
            for item in found
        ]

    def open(self, path: str, state: str = "") -> OpenFile:
        key = bucket_and_key(path)[1]
        if state:
            size, _, etag = state.partition(" ")
            return self._bucket.open(BucketObject(key, int(size), etag))
        found = self._bucket.find(key)
        if found is None:
            raise NotFound(f"{path}: no such object", "check the path in the spec")
        return self._bucket.open(found)

    def _named(self, path: str) -> Sequence[BucketObject]:
        found = self._bucket.find(path) if path and not path.endswith("/") else None
        return [] if found is None else [found]

    def _matching(self, source: SourceSpec, path: str) -> Iterator[BucketObject]:
        parts = path.rstrip("/").split("/")
        fixed = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
        folder = "/".join(parts[:fixed])
        pattern = parts[fixed:]
        for item in self._bucket.objects(folder):
            rest = item.key.removeprefix(folder).lstrip("/")
            # Some programs keep an empty object for a folder.
            if not rest or rest.endswith("/"):
                continue
            if pattern:
                wanted = _matches(rest.split("/"), pattern)
            else:
                wanted = not is_hidden(rest) and in_folder(source, rest)
            if wanted:
                yield item


def _state(item: BucketObject) -> str:
    return f"{item.size_bytes} {item.etag}"


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a key match those of a pattern; no wildcard names a hidden part."""
    if not pattern or not parts:
        return not pattern and not parts
    here, first = parts[0], pattern[0]
    if here.startswith(".") and not first.startswith("."):
        return False
    if first == _ANY_DEPTH:
        deeper = _matches(parts[1:], pattern) or (len(parts) == len(pattern) == 1)
        return deeper or _matches(parts, pattern[1:])
    return fnmatchcase(here, first) and _matches(parts[1:], pattern[1:])
