"""Two workspaces: one whose sources stand ready, one that was built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.world import World, make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")
