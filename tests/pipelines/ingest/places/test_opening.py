from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage.errors import ConfigError, Conflict, NotFound
from pipelines.ingest.partition import Partition
from pipelines.ingest.places.opening import (
    LocalFile,
    LocalFiles,
    Opener,
    OpenFile,
    blocks_of,
    native,
)


class CountingFiles(LocalFiles):
    """Local files, and how often one was opened."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: list[str] = []
        self.files: list[LocalFile] = []

    def open(self, path: str, state: str = "") -> LocalFile:
        self.opened.append(path)
        self.files.append(super().open(path, state))
        return self.files[-1]


def test_a_file_is_read_at_any_place_and_gives_less_only_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with LocalFile(tmp_path / "a") as file:
        assert file.size_bytes == 10
        assert [file.read_at(3, 4), file.read_at(8, 4), file.read_at(10, 4)] == [
            b"3456",
            b"89",
            b"",
        ]


def test_an_opener_keeps_the_last_file_open_and_closes_what_it_leaves(folder: Any) -> None:
    for name in ("a", "b"):
        folder.write(name, name.encode())
    files = CountingFiles(folder.root)
    with Opener(folder.source("*"), files) as opener:
        for name in ("a", "a", "b", "b", "a"):
            with opener.open(name) as file:
                assert file.read_at(0, 9) == name.encode()
    assert files.opened == ["a", "b", "a"]
    for file in files.files:
        with pytest.raises(OSError, match="Bad file descriptor"):
            file.read_at(0, 1)


def test_what_cannot_be_opened_is_one_clear_error(folder: Any) -> None:
    (folder.root / "loop").symlink_to("loop")
    (folder.root / "folder").mkdir()
    with Opener(folder.source("*"), folder.files) as opener:
        with pytest.raises(NotFound, match="source wiki: 'gone'"), opener.open("gone"):
            pass
        with pytest.raises(ConfigError, match="loop of symbolic links"), opener.open("loop"):
            pass


def test_a_range_behind_the_end_is_a_conflict(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with LocalFile(tmp_path / "a") as file:
        assert list(blocks_of(file, 2, 9, 3)) == [b"234", b"567", b"8"]
        with pytest.raises(Conflict, match="shorter"):
            list(blocks_of(file, 2, 11))


def test_arrow_reads_through_an_open_file(tmp_path: Path) -> None:
    table = pa.table({"text": [f"text {i}" for i in range(5000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    with LocalFile(tmp_path / "a.parquet") as file:
        assert pq.ParquetFile(native(file)).read() == table
        handle = native(file)
        assert (handle.size(), handle.read(4)) == (file.size_bytes, b"PAR1")
        handle.seek(-4, 2)
        assert handle.read() == b"PAR1"
        handle.close()
        assert file.read_at(0, 4) == b"PAR1"


def test_an_error_under_arrow_stays_what_it_is(tmp_path: Path) -> None:
    class Replaced:
        size_bytes = 100

        def read_at(self, start: int, length: int) -> bytes:
            raise Conflict("the object was replaced")

        def close(self) -> None: ...

    file: OpenFile = Replaced()
    with pytest.raises(Conflict, match="replaced"):
        native(file).read(10)


def test_a_partition_is_cheap_to_send(folder: Any) -> None:
    for i in range(1000):
        folder.write(f"texts/{i:04}.txt", b"text %d" % i)
    (part,) = folder.plan(folder.source("texts", "text"), 64 << 20)
    sent = pickle.dumps(part)
    assert len(sent) < 150 * 1000
    back: Partition = pickle.loads(sent)
    assert back == part
