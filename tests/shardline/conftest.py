"""A workspace with a published version, built once and copied for each story."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.world import World, copy_world, make_world


@pytest.fixture(scope="session")
def _first_build(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = make_world(tmp_path_factory.mktemp("shardline") / "first")
    world.build()
    return world


@pytest.fixture
def built(_first_build: World, tmp_path: Path) -> World:
    """A workspace of its own with ``corpus@v1``, which nobody approved."""
    return copy_world(_first_build, tmp_path / "built")
