"""The stage store: an entry is whole or absent, whoever writes it and whatever happens."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from lineage.digest import digest_of
from lineage.errors import IntegrityError, Unavailable
from lineage.keys.sealing import open_bytes, open_parquet, parquet_writer, seal_bytes
from storage_tiers.stage import StageEntry, StageStore

KEY = digest_of(b"the build key")
OTHER = digest_of(b"another build key")
TABLE = pa.table({"text": ["documents"] * 1000})
IS_KILLED = """
import os, pathlib, sys
from tests.storage_tiers.test_stage import KEY, store_at, write_entry
store = store_at(pathlib.Path(sys.argv[1]))
with store.write("partitions", KEY) as part:
    part.path("documents.parquet").write_bytes(b"half of it")
    print("writing", flush=True)
    sys.stdin.read()
"""


def store_at(root: Path, stage_key: bytes = b"k" * 32) -> StageStore:
    return StageStore(root, b"w" * 16, stage_key, os.urandom)


@pytest.fixture
def store(tmp_path: Path) -> StageStore:
    return store_at(tmp_path / "stage")


def write_entry(store: StageStore, data: bytes = b"documents", kind: str = "partitions") -> None:
    with store.write(kind, KEY) as part:
        seal = part.seal("documents")
        part.path("documents").write_bytes(seal_bytes(data, seal, os.urandom(12)))
        part.receipt["num_documents"] = len(data)


def opened(entry: StageEntry | None) -> bytes:
    assert entry is not None
    return open_bytes(entry.path("documents").read_bytes(), entry.seal("documents"))


def left_behind(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*.part")]


def test_an_entry_that_nobody_wrote_is_none(store: StageStore) -> None:
    assert store.get("partitions", KEY) is None


def test_a_finished_entry_gives_its_receipt_and_its_files(store: StageStore) -> None:
    write_entry(store)
    entry = store.get("partitions", KEY)
    assert entry is not None
    assert entry.receipt["num_documents"] == 9
    assert opened(entry) == b"documents"
    assert store.get("partitions", OTHER) is None
    assert store.get("shards", KEY) is None


def test_scratch_files_are_gone_when_they_were_used(store: StageStore, tmp_path: Path) -> None:
    with store.scratch("spills") as part:
        part.path("rows").write_bytes(seal_bytes(b"rows", part.seal("rows"), os.urandom(12)))
        assert list(store.entries("spills")) == []
        assert len(left_behind(tmp_path)) == 1
    assert left_behind(tmp_path) == []


def test_an_entry_is_not_seen_before_its_block_ends(store: StageStore) -> None:
    with store.write("partitions", KEY) as part:
        part.path("documents").write_bytes(b"half")
        assert store.get("partitions", KEY) is None
    assert store.get("partitions", KEY) is not None


def test_a_block_that_fails_leaves_nothing(store: StageStore, tmp_path: Path) -> None:
    with pytest.raises(KeyError), store.write("partitions", KEY) as part:
        part.path("documents").write_bytes(b"half")
        raise KeyError
    assert store.get("partitions", KEY) is None
    assert left_behind(tmp_path) == []


def test_what_rests_in_the_store_is_sealed_and_the_receipt_has_no_key(
    store: StageStore, tmp_path: Path
) -> None:
    with store.write("partitions", KEY) as part:
        seal = part.seal("documents")
        path = part.path("documents.parquet")
        with parquet_writer(path, TABLE.schema, seal) as writer:
            writer.write_table(TABLE)
    entry = store.get("partitions", KEY)
    assert entry is not None
    with open_parquet(entry.path("documents.parquet"), entry.seal("documents")) as file:
        assert file.read().equals(TABLE)
    for found in entry.folder.iterdir():
        data = found.read_bytes()
        assert not any(secret in data for secret in (b"documents" * 2, seal.key, b"k" * 32))
        assert seal.key.hex().encode() not in data
    assert seal.key.hex() not in repr(entry)


def test_another_stage_key_opens_nothing(store: StageStore, tmp_path: Path) -> None:
    write_entry(store)
    with pytest.raises(IntegrityError):
        opened(store_at(tmp_path / "stage", b"l" * 32).get("partitions", KEY))


def test_a_second_writer_of_the_same_key_changes_nothing(store: StageStore, tmp_path: Path) -> None:
    write_entry(store)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_entry(store, b"documents again")
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_two_who_write_at_once_leave_one_whole_entry(store: StageStore, tmp_path: Path) -> None:
    both_inside = threading.Barrier(2)

    def write(data: bytes) -> None:
        with store.write("partitions", KEY) as part:
            seal = part.seal("documents")
            part.path("documents").write_bytes(seal_bytes(data, seal, os.urandom(12)))
            both_inside.wait(10)

    threads = [threading.Thread(target=write, args=(data,)) for data in (b"one", b"two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened(store.get("partitions", KEY)) in (b"one", b"two")
    assert left_behind(tmp_path) == []


def test_a_kill_in_the_middle_leaves_no_entry_and_the_next_build_makes_it(
    store: StageStore, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", IS_KILLED, str(tmp_path / "stage")],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert store.get("partitions", KEY) is None
    assert len(left_behind(tmp_path)) == 1
    write_entry(store)
    assert opened(store.get("partitions", KEY)) == b"documents"
    store.prune("partitions", {KEY})
    assert left_behind(tmp_path) == []


def test_pruning_keeps_what_is_named_and_drops_the_rest_of_that_kind(store: StageStore) -> None:
    write_entry(store)
    write_entry(store, kind="shards")
    with store.write("partitions", OTHER):
        pass
    store.prune("partitions", {KEY})
    assert opened(store.get("partitions", KEY)) == b"documents"
    assert store.get("partitions", OTHER) is None
    store.prune("shards", set())
    assert store.get("shards", KEY) is None
    store.prune("never written", set())


def test_the_whole_store_may_be_deleted_at_any_time(store: StageStore, tmp_path: Path) -> None:
    write_entry(store)
    subprocess.run(["rm", "-r", str(tmp_path / "stage")], check=True)
    assert store.get("partitions", KEY) is None
    write_entry(store)
    assert opened(store.get("partitions", KEY)) == b"documents"


def test_a_damaged_receipt_says_what_to_delete(store: StageStore, tmp_path: Path) -> None:
    write_entry(store)
    folder = tmp_path / "stage" / "partitions" / KEY.hex
    (folder / "receipt.json").write_bytes(b'{"seals"')
    with pytest.raises(IntegrityError, match="its receipt is damaged") as caught:
        store.get("partitions", KEY)
    assert str(folder) in caught.value.hint


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(small_disk: Path) -> None:
    store = store_at(small_disk / "stage")
    with (
        pytest.raises(Unavailable, match="the disk is full"),
        store.write("partitions", KEY) as part,
    ):
        part.path("documents").write_bytes(bytes(2 << 20))
    assert store.get("partitions", KEY) is None
    assert left_behind(small_disk) == []
    write_entry(store)


def test_a_disk_that_fills_while_arrow_writes_is_the_same_error(small_disk: Path) -> None:
    store = store_at(small_disk / "stage")
    digests = [hashlib.sha256(b"%d" % n).digest() for n in range(1 << 16)]
    table = pa.table({"n": pa.array(digests, pa.binary(32))})  # bytes that do not compress
    with (
        pytest.raises(Unavailable, match="the disk is full"),
        store.write("partitions", KEY) as part,
        parquet_writer(part.path("table"), table.schema, part.seal("table")) as writer,
    ):
        writer.write_table(table)
    assert left_behind(small_disk) == []
