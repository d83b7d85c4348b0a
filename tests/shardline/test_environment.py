"""What a run ran in: only what was asked for, and nothing guessed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineage.digest import canonical_json
from shardline.environment import capture_environment

SECRET = "s3cret-value-of-a-variable"
NVIDIA_SMI = """#!/bin/sh
echo "NVIDIA H100 80GB HBM3, 570.86.15"
echo "NVIDIA H100 80GB HBM3, 570.86.15"
"""


def capture(folder: Path, *variables: str) -> dict[str, Any]:
    return capture_environment(variables, folder)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    (folder / "train.py").write_text("print()")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_variables_are_recorded_by_an_allow_list_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("WORLD_SIZE", "8")
    captured = capture(tmp_path, "WORLD_SIZE", "SLURM_JOB_ID_THAT_IS_NOT_SET")
    assert captured["variables"] == {"WORLD_SIZE": "8"}
    assert SECRET not in json.dumps(captured)
    assert "AWS_SECRET_ACCESS_KEY" not in json.dumps(captured)


def test_a_variable_of_any_bytes_can_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environb, b"JOB_NAME", b"na\xefve")
    captured = capture(tmp_path, "JOB_NAME")
    assert captured["variables"] == {"JOB_NAME": "na\ufffdve"}
    canonical_json(captured)


def test_python_packages_and_platform_are_those_of_this_process(tmp_path: Path) -> None:
    captured = capture(tmp_path)
    assert captured["python"] == ".".join(map(str, sys.version_info[:3]))
    assert captured["packages"]["numpy"]
    assert captured["packages"]["pyarrow"]
    assert list(captured["packages"]) == sorted(captured["packages"])
    assert captured["num_cores"] == os.cpu_count()
    assert captured["platform"]


def test_all_of_it_has_canonical_bytes(tmp_path: Path) -> None:
    captured = capture(repository(tmp_path), "PATH")
    assert json.loads(canonical_json(captured))["packages"] == captured["packages"]


def test_code_outside_git_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert capture(tmp_path)["code"] is None


def test_code_in_git_has_its_commit_and_says_whether_it_was_changed(tmp_path: Path) -> None:
    repository(tmp_path)
    clean = capture(tmp_path)["code"]
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=tmp_path, text=True).strip()
    assert clean == {"commit": head, "dirty": False}
    (tmp_path / "notes.txt").write_text("not part of the code")
    assert capture(tmp_path)["code"] == clean
    (tmp_path / "train.py").write_text("print('changed')")
    assert capture(tmp_path)["code"] == {"commit": head, "dirty": True}


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    captured = capture(tmp_path)
    assert (captured["code"], captured["accelerator"]) == (None, None)


def test_accelerators_and_their_driver_are_what_the_tool_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia-smi").write_text(NVIDIA_SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    accelerator = capture(tmp_path)["accelerator"]
    assert accelerator["devices"] == ["NVIDIA H100 80GB HBM3"] * 2
    assert accelerator["driver"] == "570.86.15"


def test_a_tool_that_fails_names_no_accelerator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    accelerator = capture(tmp_path)["accelerator"]
    assert (accelerator["devices"], accelerator["driver"]) == ([], None)


def test_a_container_image_is_named_where_the_system_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_IMAGE", "registry/train@sha256:" + "ab" * 32)
    assert capture(tmp_path)["container"]["image"] == "registry/train@sha256:" + "ab" * 32
