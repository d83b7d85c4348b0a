#!/usr/bin/env python3
"""plain_build.py WORKSPACE DATASET WORKERS: one build without Prefect, as JSON on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flows.build.plain import build_without_prefect
from lineage.workspace import Workspace


def say_nothing(_stage: str, _documents: int, _bytes: int, _tokens: int) -> None:
    """Announces to nobody."""


def main(root: str, dataset: str, workers: str) -> None:
    """Builds and prints what the build reports."""
    report = build_without_prefect(Workspace(Path(root)), dataset, int(workers), say_nothing)
    result = {
        "seconds": report.seconds,
        "stage_seconds": dict(report.stage_seconds),
        "documents": report.num_new,
        "tokens": report.num_tokens,
        "shards": report.num_shards,
    }
    print(json.dumps(result))


if __name__ == "__main__":  # the worker processes import this file again
    main(*sys.argv[1:])
