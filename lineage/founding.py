"""Founds a workspace: its keys, its key table, and a ledger with its first entries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lineage.clock import Clock
from lineage.config import FILE_NAME, new_config_text
from lineage.digest import digest_of
from lineage.durable import replace_file, sync_folder
from lineage.errors import Conflict
from lineage.keys.grants import EVERY_DATASET, PURPOSES, ZONES, Grant
from lineage.keys.keytable import SYSTEM_ZONE, KeyTable
from lineage.keys.minting import KeyMinter
from lineage.keys.signers import create_signing_key, public_hex
from lineage.keys.wrapping import Entropy, FileWrappingKey
from lineage.ledger.draft import Draft
from lineage.ledger.envelope import Signer
from lineage.ledger.log import Ledger
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.statement import Subject
from lineage.ledger.treehead import LogSigner
from lineage.workspace import STATE, Workspace

FORMAT = "shardline/ledger/v1"
ROLES = ("root", "owner", "builder", "gate")
_KINDS = {"root": "service", "owner": "person", "builder": "service", "gate": "service"}
_SYSTEM_KEYS = ("ledger", "ids", "stage")


def found_workspace(root: Path, hot: str, cold: str, entropy: Entropy, now: Clock) -> Workspace:
    """Makes a new workspace in a folder, which may hold other files already.

    Raises:
        Conflict: the folder is a workspace already, or a half-made one.
        OSError: the folder cannot be written.
    """
    if (root / FILE_NAME).exists():
        raise Conflict(f"{root}: a workspace already", "use it, or choose another folder")
    if (root / STATE).exists():
        raise Conflict(
            f"{root / STATE}: left by something that is no workspace",
            "move it away, then try again",
        )
    founding = _Founding(root, entropy, now)
    founding.make_state()
    # Crash point: before shardline.toml stands nothing is a workspace, and nothing is lost.
    replace_file(root / FILE_NAME, founding.config_text(hot, cold).encode())
    return Workspace(root, entropy, now)


class _Founding:
    def __init__(self, root: Path, entropy: Entropy, now: Clock) -> None:
        self._root = root
        self._entropy = entropy
        self._now = now
        self._workspace_id = entropy(16)
        self._log_id = entropy(16).hex()
        self._principals = {role: entropy(16).hex() for role in ROLES}
        self._keys: dict[str, Ed25519PrivateKey] = {}

    def make_state(self) -> None:
        part = self._root / f"{STATE}.{self._log_id[:8]}.part"
        (part / "keys").mkdir(parents=True, mode=0o700)
        wrapping = FileWrappingKey.create(part / "keys" / "wrapping.key", self._entropy)
        for name in (*ROLES, "log"):
            path = part / "keys" / f"{name}.key"
            self._keys[name] = create_signing_key(path, self._entropy)
        ledger_key = self._make_key_table(part, wrapping)
        self._make_ledger(part, ledger_key)
        sync_folder(part)
        part.rename(self._root / STATE)
        sync_folder(self._root)

    def config_text(self, hot: str, cold: str) -> str:
        return new_config_text(
            workspace_id=self._workspace_id.hex(),
            log_id=self._log_id,
            root_key=public_hex(self._keys["root"]),
            log_key=public_hex(self._keys["log"]),
            principals=self._principals,
            hot=hot,
            cold=cold,
        )

    def _make_key_table(self, part: Path, wrapping: FileWrappingKey) -> bytes:
        minter = KeyMinter(self._workspace_id, wrapping, self._entropy)
        minted = [minter.mint(name, SYSTEM_ZONE) for name in _SYSTEM_KEYS]
        table = KeyTable.create(part / "keys.db")
        table.add([row for _, row in minted])
        self._key_head = table.head()
        table.close()
        return minted[0][0].key

    def _make_ledger(self, part: Path, ledger_key: bytes) -> None:
        ledger = Ledger.create(
            SqliteLedgerStore.create(part / "ledger.db"),
            log_id=self._log_id,
            ledger_key=ledger_key,
            log_signer=LogSigner(self._keys["log"]),
            entropy=self._entropy,
            now=self._now,
        )
        ledger.append([self._genesis(), *self._principal_entries(), *self._first_grants()])
        ledger.store.close()

    def _genesis(self) -> Draft:
        subject = Subject("log", digest_of(bytes.fromhex(self._log_id)))
        body = {
            "format": FORMAT,
            "workspace_id": self._workspace_id.hex(),
            "threshold": 1,
            "root_keys": [self._public("root")],
            "log_key": public_hex(self._keys["log"]),
            "gate": self._public("gate"),
            "administrators": [self._public("owner")],
            "key_table": {"size": self._key_head.size, "root": self._key_head.root},
        }
        return Draft("genesis", (subject,), body, (self._signer("root"),))

    def _principal_entries(self) -> list[Draft]:
        return [
            Draft(
                "principal",
                (Subject(self._principals[role], digest_of(self._raw_public(role))),),
                {**self._public(role), "kind": _KINDS[role]},
                (self._signer("root"),),
            )
            for role in ROLES
        ]

    def _first_grants(self) -> list[Draft]:
        owner = self._grant("owner", ZONES, PURPOSES)
        builder = self._grant("builder", ("raw", "processed"), ("build",))
        return [owner, builder]

    def _grant(self, role: str, zones: tuple[str, ...], purposes: tuple[str, ...]) -> Draft:
        grant = Grant("", self._principals[role], EVERY_DATASET, zones, purposes, None)
        subject = Subject(self._principals[role], digest_of(self._raw_public(role)))
        return Draft("grant", (subject,), grant.body(), (self._signer("owner"),))

    def _public(self, role: str) -> Mapping[str, object]:
        return {"principal": self._principals[role], "key": public_hex(self._keys[role])}

    def _raw_public(self, role: str) -> bytes:
        return self._keys[role].public_key().public_bytes_raw()

    def _signer(self, role: str) -> Signer:
        return Signer(self._principals[role], self._keys[role])
