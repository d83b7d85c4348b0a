"""A small ledger with fixed keys, a fixed clock and repeatable chance."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lineage.digest import digest_of
from lineage.ledger.draft import Draft
from lineage.ledger.envelope import Signer
from lineage.ledger.history import PrincipalKey, Trust
from lineage.ledger.log import Ledger
from lineage.ledger.statement import Subject
from lineage.ledger.store import LedgerStore
from lineage.ledger.treehead import LogSigner

LOG_ID = "0f" * 16
LEDGER_KEY = bytes(range(32))


def private_key(number: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


BUILDER = Signer("builder", private_key(1))
OWNER = Signer("owner", private_key(2))
LOG_SIGNER = LogSigner(private_key(9))
TRUST = Trust(
    (LOG_SIGNER.public_key,),
    {
        signer.keyid: PrincipalKey(signer.principal, signer.public_key)
        for signer in (BUILDER, OWNER)
    },
)


class Chance:
    """Bytes that look random and are the same in every test."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, num_bytes: int) -> bytes:
        self.calls += 1
        return hashlib.shake_256(b"chance %d" % self.calls).digest(num_bytes)


class Clock:
    """A second later at each look."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def begun(store: LedgerStore) -> Ledger:
    return Ledger.create(
        store,
        LOG_ID,
        ledger_key=LEDGER_KEY,
        log_signer=LOG_SIGNER,
        entropy=Chance(),
        now=Clock(),
    )


def reopened(store: LedgerStore, remembered: str | None = None) -> Ledger:
    return Ledger.open(
        store,
        LOG_ID,
        ledger_key=LEDGER_KEY,
        log_signer=LOG_SIGNER,
        entropy=os.urandom,
        now=Clock(),
        remembered=remembered,
    )


def draft(predicate: str = "build", signer: Signer = BUILDER, **body: object) -> Draft:
    return Draft(predicate, (Subject("corpus@v1", digest_of(b"corpus")),), body, (signer,))
