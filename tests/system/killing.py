"""Builds in a process of their own that end by kill -9: from outside, or at a chosen call.

The processes are forked from a server that has everything imported, so that a story of a
crash costs no more than a build.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.system.world import World

_CONTEXT = multiprocessing.get_context("forkserver")
_PATIENCE_S = 120.0


def preload() -> None:
    """Must come before any other process of this kind: the server is started once."""
    _CONTEXT.set_forkserver_preload(["tests.system.killing", "tests.system.warm"])


def kill_when(world: World, workers: int, reached: Callable[[], bool]) -> None:
    """Starts a build and kills it -9, with no word before, once something stands on the disk."""
    process = _CONTEXT.Process(target=_build, args=(str(world.root), workers))
    process.start()
    deadline = time.monotonic() + _PATIENCE_S
    while not reached():
        assert process.is_alive(), "the build ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def die_after(world: World, call: str, times: int = 1) -> None:
    """Runs a build that is killed -9 right after its n-th call of ``module:Class.method``."""
    process = _CONTEXT.Process(target=_build_and_die, args=(str(world.root), call, times))
    process.start()
    process.join(_PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL, "the build never came to the place of its death"


def _build(root: str, workers: int) -> None:
    World(Path(root)).build(workers)


def _build_and_die(root: str, call: str, times: int) -> None:
    module, _, names = call.partition(":")
    owner: Any = importlib.import_module(module)
    *above, name = names.split(".")
    for part in above:
        owner = getattr(owner, part)
    original, numbers = getattr(owner, name), itertools.count(1)

    def deadly(*arguments: Any, **more: Any) -> Any:
        result = original(*arguments, **more)
        if next(numbers) == times:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, deadly)
    _build(root, 1)
