"""A real workspace with repeatable chance and a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.founding import found_workspace
from lineage.workspace import Workspace
from tests.lineage.ledger.world import Chance, Clock


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "workspace"
    root.mkdir()
    founded = found_workspace(root, ".shardline/hot", ".shardline/cold", Chance(), Clock())
    yield founded
    founded.close()
