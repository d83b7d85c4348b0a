"""Small disks for a test: they run full, and can be made read-only."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Disk:
    """A disk of a fixed size, mounted on a folder."""

    folder: Path

    @classmethod
    def mount(cls, folder: Path, size_kib: int) -> Disk:
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, check=False)
        if os.geteuid() != 0 or done.returncode:
            pytest.skip("mounting a small disk needs root")
        return cls(folder)

    def remount(self, options: str) -> None:
        command = ["mount", "-o", f"remount,{options}", str(self.folder)]
        subprocess.run(command, check=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=True)
