"""Shardline: raw text in, proven training shards out.

    import shardline

    run = shardline.training_run(...)
    for batch in shardline.ShardFeed(run, batch_size=64):
        ...

Names are imported when first used, so that a trainer pays for the feed alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from shardline.rooms import check_rooms

if TYPE_CHECKING:
    from lineage import errors
    from lineage.workspace import Workspace
    from shardline.feed.feed import ShardFeed
    from shardline.run import training_run

__all__ = ["ShardFeed", "Workspace", "errors", "training_run"]

_HOMES = {
    "ShardFeed": "shardline.feed.feed",
    "Workspace": "lineage.workspace",
    "training_run": "shardline.run",
}

check_rooms()


if not TYPE_CHECKING:  # a type checker sees the imports above, and no other name

    def __getattr__(name: str) -> object:
        if name == "errors":
            return importlib.import_module("lineage.errors")
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
