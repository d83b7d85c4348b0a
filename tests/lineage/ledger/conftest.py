"""Fixtures over the small world of world.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lineage.ledger.log import Ledger
from lineage.ledger.memory import MemoryLedgerStore
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.store import LedgerStore
from tests.lineage.ledger.world import begun


@pytest.fixture
def store() -> LedgerStore:
    return MemoryLedgerStore()


@pytest.fixture
def ledger(store: LedgerStore) -> Ledger:
    return begun(store)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def make_store(path: Path) -> Iterator[Callable[[], SqliteLedgerStore]]:
    stores: list[SqliteLedgerStore] = []

    def make() -> SqliteLedgerStore:
        stores.append(SqliteLedgerStore(path) if path.exists() else SqliteLedgerStore.create(path))
        return stores[-1]

    yield make
    for opened in stores:
        opened.close()
