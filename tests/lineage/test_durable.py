"""A file is replaced whole, and a disk that refuses gives one clear error."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.durable import disk_error, replace_file, sync_file, sync_folder
from lineage.errors import Unavailable

KILLED_BEFORE_THE_RENAME = """
import os, pathlib, signal, sys
from lineage.durable import replace_file
pathlib.Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
replace_file(pathlib.Path(sys.argv[1]), b"the new bytes")
"""


def test_a_new_file_has_its_bytes_and_its_mode(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", b"bytes", mode=0o600)
    assert (tmp_path / "file").read_bytes() == b"bytes"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_reader_who_opened_the_old_file_still_reads_the_old_bytes(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", b"old")
    with (tmp_path / "file").open("rb") as reader:
        replace_file(tmp_path / "file", b"new and longer")
        assert reader.read() == b"old"
    assert (tmp_path / "file").read_bytes() == b"new and longer"


def test_a_kill_before_the_rename_leaves_the_old_bytes_and_the_next_write_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"the old bytes")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_THE_RENAME, str(path)], check=False
    )
    assert killed.returncode == -9
    assert path.read_bytes() == b"the old bytes"
    assert (tmp_path / ".file.part").exists()
    replace_file(path, b"the new bytes")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_one_clear_error_and_the_old_bytes_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    (tmp_path / ".file.part").symlink_to("/dev/full")
    with pytest.raises(Unavailable, match="the disk is full") as caught:
        replace_file(path, b"new")
    assert str(tmp_path) in caught.value.message
    assert "free room" in caught.value.hint
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="missing"):
        replace_file(tmp_path / "missing" / "file", b"bytes")


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EROFS, "cannot be written"),
        (errno.EACCES, "cannot be written"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_each_refusal_of_a_disk_says_what_to_do(number: int, says: str) -> None:
    error = disk_error(OSError(number, os.strerror(number)), Path("cold"))
    assert isinstance(error, Unavailable)
    assert error.message == f"cold: {says}"
    assert error.hint


def test_an_error_of_a_library_without_a_number_keeps_its_words() -> None:
    assert disk_error(OSError("the library said so"), Path("cold")).message.endswith("said so")


def test_files_and_folders_can_be_synced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    sync_file(tmp_path / "file")
    sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_file(tmp_path / "missing")
