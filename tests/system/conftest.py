"""What the stories share: a built workspace to copy, and the command line as a user has it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shardline.cli.app import main
from tests.system.world import World, copy_world, make_world


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Runs one command; whatever it says, a traceback is never in it."""

    def run(*arguments: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["shardline", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Said(int(str(ended.value.code)), out, err)

    return run


@pytest.fixture(scope="session")
def _first_build(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = make_world(tmp_path_factory.mktemp("system") / "first")
    world.build()
    return world


@pytest.fixture
def built(_first_build: World, tmp_path: Path) -> World:
    """A workspace of its own with ``corpus@v1`` published: a copy of one that was built once."""
    return copy_world(_first_build, tmp_path / "built")


@pytest.fixture
def fresh(tmp_path: Path) -> World:
    """A workspace of its own with the same text and nothing built."""
    return make_world(tmp_path / "fresh")
