"""A trainer's environment: the feed's lock and the wheel, no build stack at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("flows", "lineage", "pipelines", "shardline", "storage_tiers")
NOT_FOR_A_TRAINER = {
    "awkward", "duckdb", "dvc", "dvc-data", "dvc-objects", "gigatoken", "license-expression",
    "numba", "orjson", "prefect", "rich", "tokenizers", "typer", "zstandard",
}  # fmt: skip
WHAT_A_TRAINER_DOES = """
import importlib, importlib.metadata, json, sys
import shardline
for name in ("lineage.errors", "lineage.order", "storage_tiers.tiers", "shardline.feed.feed"):
    importlib.import_module(name)
print(json.dumps({
    "feed": [shardline.ShardFeed.__name__, shardline.training_run.__name__],
    "installed": sorted(found.name.lower() for found in importlib.metadata.distributions()),
    "rooms": [sys.modules[name].__file__ for name in ("shardline", "lineage", "storage_tiers")],
}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel_of_this_repository(folder: Path) -> Path:
    """Built from a copy, so that nothing is left in the repository."""
    source = folder / "source"
    source.mkdir()
    for room in ROOMS:
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run(*pip, "wheel", *options, source, cwd=folder)
    return next(folder.glob("shardline-*.whl"))


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of a bare environment made as a trainer makes it."""
    folder = tmp_path_factory.mktemp("trainer")
    wheel = wheel_of_this_repository(folder)
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    run(*pip, "--require-hashes", "-r", ROOT / "requirements-feed.lock", cwd=folder)
    run(*pip, "--no-deps", wheel, cwd=folder)
    return python


@pytest.mark.slow
def test_the_feed_runs_without_the_build_stack(trainer: Path, tmp_path: Path) -> None:
    seen = json.loads(run(trainer, "-I", "-c", WHAT_A_TRAINER_DOES, cwd=tmp_path))
    assert seen["feed"] == ["ShardFeed", "training_run"]
    assert not NOT_FOR_A_TRAINER & set(seen["installed"])
    home = str(trainer.parents[1])
    assert all(file.startswith(home) for file in seen["rooms"])


@pytest.mark.slow
def test_the_wheel_brings_the_sample_and_its_notice(trainer: Path, tmp_path: Path) -> None:
    code = "import shardline.data as d, os; print(*sorted(os.listdir(d.__path__[0] + '/sample')))"
    names = run(trainer, "-I", "-c", code, cwd=tmp_path).split()
    assert {"NOTICE.md", "sample.toml", "tokenizer.json", "udhr.jsonl"} <= set(names)


@pytest.mark.slow
def test_what_is_installed_agrees_with_itself(trainer: Path, tmp_path: Path) -> None:
    assert "No broken requirements" in run(trainer, "-m", "pip", "check", cwd=tmp_path)
