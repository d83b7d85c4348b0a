"""A workspace: one folder with its settings, ledger, keys and tiers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from filelock import FileLock, Timeout

from lineage.clock import Clock, system_clock
from lineage.config import FILE_NAME, Config, read_config
from lineage.errors import Conflict, NotFound
from lineage.ids import IdHasher
from lineage.keys.gate import Gate
from lineage.keys.keytable import KeyTable
from lineage.keys.minting import KeyMinter
from lineage.keys.signers import read_signing_key
from lineage.keys.wrapping import Entropy, FileWrappingKey
from lineage.ledger.envelope import Signer
from lineage.ledger.log import Ledger
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.treehead import LogSigner

STATE = ".shardline"
# Held while rows are added to the key table, until the ledger commits them.
PUBLISH_LOCK = "publish"
PUBLISH_WAIT_S = 600.0


def find_workspace(start: Path) -> Path:
    """The nearest folder from `start` upwards that is a workspace.

    Raises:
        NotFound: none is.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / FILE_NAME).is_file():
            return folder
    raise NotFound(f"{start}: no workspace here or above", "make one with: shardline init DIR")


class Workspace:
    """An open workspace. Opening never creates: a missing ledger or key is an error.

    Args:
        root: the folder that holds `shardline.toml`.
        entropy: gives random bytes for ids, keys and nonces.
        now: gives the time.

    Raises:
        NotFound: the folder is no workspace.
        ConfigError: its settings are wrong.
    """

    def __init__(
        self, root: Path, entropy: Entropy = os.urandom, now: Clock = system_clock
    ) -> None:
        self.root = root.resolve()
        self.entropy = entropy
        self.now = now
        if not (self.root / FILE_NAME).is_file():
            raise NotFound(f"{root}: no workspace here", "make one with: shardline init DIR")

    @cached_property
    def config(self) -> Config:
        """What `shardline.toml` says."""
        return read_config(self.root / FILE_NAME)

    @property
    def state(self) -> Path:
        """Everything that is neither in Git nor in DVC."""
        return self.root / STATE

    @property
    def stage(self) -> Path:
        """Outputs of partitions, reused by build key; may be deleted at any time."""
        return self.state / "stage"

    @property
    def hot(self) -> Path:
        """The hot tier's folder."""
        return self.root / self.config.hot

    @property
    def cold(self) -> Path:
        """The cold tier's folder."""
        return self.root / self.config.cold

    @property
    def id_bytes(self) -> bytes:
        """The workspace id, 16 bytes, bound into every seal."""
        return bytes.fromhex(self.config.workspace_id)

    @cached_property
    def wrapping(self) -> FileWrappingKey:
        """The wrapping key."""
        return FileWrappingKey.open(self.key_path("wrapping"), self.entropy)

    @cached_property
    def keys(self) -> KeyTable:
        """The key table."""
        return KeyTable.open(self.state / "keys.db")

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger."""
        store = SqliteLedgerStore(self.state / "ledger.db")
        return Ledger.open(
            store,
            log_id=self.config.log_id,
            ledger_key=self._system_key("ledger"),
            log_signer=self.log_signer,
            entropy=self.entropy,
            now=self.now,
        )

    def unchecked_ledger(self) -> Ledger:
        """The ledger as it lies there, to be read by a verifier; the caller closes its store."""
        return Ledger(
            SqliteLedgerStore(self.state / "ledger.db"),
            self.config.log_id,
            ledger_key=self._system_key("ledger"),
            log_signer=None,
            entropy=self.entropy,
            now=self.now,
        )

    @cached_property
    def log_signer(self) -> LogSigner:
        """Signs tree heads."""
        return LogSigner(read_signing_key(self.key_path("log")))

    @cached_property
    def gate(self) -> Gate:
        """The way to data keys."""
        return Gate(
            self.id_bytes, self.ledger, self.keys, self.wrapping, self.signer("gate"), self.now
        )

    @cached_property
    def minter(self) -> KeyMinter:
        """Makes data keys for new objects."""
        return KeyMinter(self.id_bytes, self.wrapping, self.entropy)

    @cached_property
    def stage_key(self) -> bytes:
        """The key from which the keys of stage files follow, 32 bytes."""
        return self._system_key("stage")

    def id_hasher(self) -> IdHasher:
        """Makes document ids and content ids."""
        return IdHasher(self._system_key("ids"))

    def signer(self, role: str) -> Signer:
        """The signer of a role: ``root``, ``owner``, ``builder`` or ``gate``."""
        return Signer(self.config.principals[role], read_signing_key(self.key_path(role)))

    @contextmanager
    def locked(self, name: str, busy: str, seconds: float = 0) -> Iterator[None]:
        """Held by one process at a time; the system frees it when the process dies.

        Raises:
            Conflict: another process holds it for longer than `seconds`.
        """
        lock = FileLock(self.state / f"{name}.lock", timeout=seconds)
        try:
            lock.acquire()
        except Timeout:
            raise Conflict(busy, "wait for it to end, then try again") from None
        try:
            yield
        finally:
            lock.release()

    def key_path(self, name: str) -> Path:
        """The protected file of one key."""
        return self.state / "keys" / f"{name}.key"

    def close(self) -> None:
        """Closes the databases that were opened."""
        if "ledger" in self.__dict__:
            self.ledger.store.close()
        if "keys" in self.__dict__:
            self.keys.close()

    def _system_key(self, name: str) -> bytes:
        row = self.keys.system(name)
        return self.wrapping.unwrap(row.wrapped, row.use)
