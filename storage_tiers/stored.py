"""Where a stored object's bytes lie, and what they measure.

The layout of `oid_name` is DVC's own, on disk in cache and remote alike. It is the
contract by which the training feed reads shards without DVC.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from lineage.digest import Digest
from lineage.errors import IntegrityError
from lineage.manifests.storage import StoredObject
from storage_tiers.files import disk_border, require_file

_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")
_BLOCK_BYTES = 1 << 20


class Measured(NamedTuple):
    """What one pass over a file's bytes tells.

    Attributes:
        size_bytes: how many bytes.
        sha256: their digest, the identity.
        md5: 32 hex digits, their address inside DVC and nothing else.
    """

    size_bytes: int
    sha256: Digest
    md5: str


def store_name(obj: StoredObject) -> str:
    """The name of an object of a storage manifest in the stores of both tiers.

    Raises:
        IntegrityError: its MD5 is none, or names a folder's list, which never moves.
    """
    if obj.md5.endswith(".dir"):
        raise IntegrityError(f"object {obj.name}: {obj.md5} names a folder of DVC")
    return oid_name(obj.md5)


def oid_name(md5: str) -> str:
    """The name of an object in DVC's cache and remote: ``files/md5/ab/cdef...``.

    Args:
        md5: 32 lower-case hex digits; with ``.dir`` behind for a folder's list.

    Raises:
        IntegrityError: it is neither.
    """
    if not _MD5.fullmatch(md5):
        raise IntegrityError(f"not an address of DVC: {md5[:60]!r}")
    return f"files/md5/{md5[:2]}/{md5[2:]}"


def measure(path: Path) -> Measured:
    """Size, SHA-256 and MD5 of a file, read once in blocks of 1 MiB.

    Raises:
        NotFound: there is no such file.
        Unavailable: the disk refused.
    """
    require_file(path)
    sha256 = hashlib.sha256()
    md5 = hashlib.md5(usedforsecurity=False)
    size_bytes = 0
    with disk_border(path.parent), path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            sha256.update(block)
            md5.update(block)
            size_bytes += len(block)
    return Measured(size_bytes, Digest(sha256.digest()), md5.hexdigest())
