"""Side objects: sealed words of people and machines that no ledger entry may hold.

Reasons, environments and command lines rest here; the entry names only the object id.
"""

from __future__ import annotations

from pathlib import Path

from lineage.durable import replace_file
from lineage.errors import NotFound
from lineage.keys.gate import KeyLease
from lineage.keys.keytable import KeyTableHead, committed_head
from lineage.keys.sealing import NONCE_BYTES, open_bytes, seal_bytes
from lineage.workspace import Workspace

ZONE = "processed"


def write_side_object(
    workspace: Workspace, dataset: str, data: bytes
) -> tuple[bytes, KeyTableHead]:
    """Seals a side object and adds its key; the caller appends the entry that names it.

    The caller MUST hold the publish lock until the entry is appended, and put the head
    of the key table into it.

    Returns:
        The object id, and the key table's new head.
    """
    seal, row = workspace.minter.mint(dataset, ZONE)
    path = side_path(workspace, seal.object_id)
    path.parent.mkdir(exist_ok=True)
    sealed = seal_bytes(data, seal, workspace.entropy(NONCE_BYTES))
    replace_file(path, sealed, mode=0o600)
    # Crash point: a side object that no entry names, and a row that the ledger has not
    # committed; the next writer cuts the row.
    workspace.keys.cut(committed_head(workspace.ledger.entries()).size)
    workspace.keys.add([row])
    return seal.object_id, workspace.keys.head()


def read_side_object(workspace: Workspace, object_id: bytes, lease: KeyLease) -> bytes:
    """Opens a side object.

    Raises:
        NotFound: it is missing.
        IntegrityError: changed bytes.
    """
    try:
        sealed = side_path(workspace, object_id).read_bytes()
    except FileNotFoundError:
        raise NotFound(f"side object {object_id.hex()} is missing") from None
    return open_bytes(sealed, lease.seal(object_id))


def side_path(workspace: Workspace, object_id: bytes) -> Path:
    """Where a side object lies."""
    return workspace.state / "side" / f"{object_id.hex()}.sealed"
