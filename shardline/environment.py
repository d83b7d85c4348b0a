"""What a run ran in: Python, packages, platform, accelerator, container, code."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

_CONTAINER_VARIABLES = ("CONTAINER_IMAGE", "IMAGE_NAME", "SINGULARITY_CONTAINER")
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
_WAIT_S = 10


def capture_environment(variables: Sequence[str], folder: Path) -> dict[str, object]:
    """Captures where a run runs. Nothing that is not found is guessed: it is None.

    Args:
        variables: names of the environment variables that may be recorded.
        folder: where the training code lies, to ask Git for its commit.
    """
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "packages": _packages(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "num_cores": os.cpu_count(),
        "accelerator": _accelerator(),
        "container": _container(os.environ),
        "code": _code(folder),
        "variables": {name: _value(name) for name in variables if name in os.environ},
    }


def _value(name: str) -> str:
    # Bytes that are no UTF-8 stand as lone surrogates, which JSON cannot hold.
    return os.environ[name].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _packages() -> dict[str, str]:
    found = ((dist.metadata["Name"], dist.version) for dist in metadata.distributions())
    return {name: version for name, version in sorted(found) if name}


def _accelerator() -> dict[str, object] | None:
    """Names of GPUs and the driver, from nvidia-smi; the CUDA of a torch that is loaded."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    rows = _run([tool, "--query-gpu=name,driver_version", "--format=csv,noheader"], Path.cwd())
    cells = [row.split(", ") for row in (rows or "").splitlines()]
    torch = sys.modules.get("torch")
    return {
        "devices": [row[0] for row in cells],
        "driver": cells[0][-1] if cells else None,
        "cuda": str(torch.version.cuda) if torch is not None else None,
    }


def _container(environ: Mapping[str, str]) -> dict[str, object] | None:
    image = next((environ[name] for name in _CONTAINER_VARIABLES if name in environ), None)
    inside = any(Path(mark).exists() for mark in _CONTAINER_MARKS)
    return {"image": image, "inside": inside} if image or inside else None


def _code(folder: Path) -> dict[str, object] | None:
    commit = _run(["git", "rev-parse", "HEAD"], folder)
    if commit is None:
        return None
    status = _run(["git", "status", "--porcelain", "--untracked-files=no"], folder)
    return {"commit": commit, "dirty": bool(status)}


def _run(command: list[str], folder: Path) -> str | None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_WAIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
