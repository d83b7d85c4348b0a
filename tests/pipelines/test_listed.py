"""Lists in files of the workspace: what counts is what stands on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.listed import read_file, read_list


def listed(root: Path, data: bytes) -> list[str]:
    (root / "list.txt").write_bytes(data)
    found: list[str] = read_list(root, "list.txt").entries.to_pylist()
    return found


def test_comments_blank_lines_and_line_ends_of_any_system_are_no_entries(tmp_path: Path) -> None:
    data = "\ufeff# of 2026\r\n\r\n  one  \r\n\ttwo words\n   # more\nc#\n\u3000\ndrei ä".encode()
    assert listed(tmp_path, data) == ["c#", "drei ä", "one", "two words"]
    assert listed(tmp_path, b"") == []


def test_order_and_comments_change_no_digest_and_an_entry_does(tmp_path: Path) -> None:
    digests = []
    for text in ("one\ntwo\n", "# x\ntwo\n\none\none", "one two", "onet\nwo", "one\n", ""):
        (tmp_path / "list.txt").write_text(text)
        digests.append(read_list(tmp_path, "list.txt").digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 5


@given(st.lists(st.text("abc# äü中", min_size=1), max_size=20))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_are_those_that_python_reads(tmp_path: Path, lines: list[str]) -> None:
    stripped = [line.strip() for line in lines]
    expected = [line for line in stripped if line and not line.startswith("#")]
    assert listed(tmp_path, "\n".join(lines).encode()) == sorted(set(expected))


def test_a_file_that_is_missing_outside_or_no_text_is_an_error(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.txt").write_text("x")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "latin.txt").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(NotFound, match=r"nope\.txt: there is no such file"):
        read_list(inside, "nope.txt")
    (inside / "folder.txt").mkdir()
    os.mkfifo(inside / "pipe.txt")
    for name in ("folder.txt", "pipe.txt"):
        with pytest.raises(ConfigError, match=f"{name}: not an ordinary file"):
            read_list(inside, name)
    with pytest.raises(ConfigError, match="leads out of the workspace"):
        read_list(inside, "../secret.txt")
    with pytest.raises(ConfigError, match="leads out of the workspace"):
        read_list(inside, "link.txt")
    with pytest.raises(ConfigError, match=r"latin\.txt: not UTF-8 in line 2"):
        read_list(inside, "latin.txt")


def test_a_file_that_cannot_be_read_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "list.txt").write_text("one")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(Unavailable, match=r"list\.txt: cannot be read: Permission denied"):
        read_file(tmp_path, "list.txt")
