#!/usr/bin/env python3
"""plain_build.py WORKSPACE DATASET WORKERS: one build without Prefect, as JSON on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flows.build.announcer import Silence
from flows.build.plain import build_without_prefect
from lineage.workspace import Workspace


def main(root: str, dataset: str, workers: str) -> None:
    """Builds and prints the build's report."""
    workspace = Workspace(Path(root))
    report = build_without_prefect(workspace, dataset, int(workers), Silence())
    print(json.dumps(report.to_json()))


if __name__ == "__main__":  # the worker processes import this file again
    main(*sys.argv[1:])
