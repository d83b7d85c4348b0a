"""One suite for every implementation of `Store`."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import ConfigError, Conflict, NotFound, OutcomeUnknown, Unavailable
from storage_tiers.local import LocalStore
from storage_tiers.memory import MemoryStore
from storage_tiers.store import INCOMING, Store, checked_name

NAME = "files/md5/ab/cdef"


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    (tmp_path / "store").mkdir()
    return LocalStore(tmp_path / "store")


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    (tmp_path / "local").mkdir()
    return LocalStore(tmp_path / "local")


@pytest.fixture
def make(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes) -> Path:
        path = tmp_path / f"source-{len(list(tmp_path.glob('source-*')))}"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def read(store: Store, name: str) -> bytes:
    with store.open(name) as file:
        return file.read()


def test_what_is_put_is_read_back(store: Store, make: Callable[[bytes], Path]) -> None:
    store.put(NAME, make(b"sealed bytes"))
    assert store.exists(NAME)
    assert store.size(NAME) == 12
    assert read(store, NAME) == b"sealed bytes"


def test_an_open_object_can_be_read_from_any_place(
    store: Store, make: Callable[[bytes], Path]
) -> None:
    store.put(NAME, make(b"0123456789"))
    with store.open(NAME) as file:
        file.seek(-3, os.SEEK_END)
        assert file.read() == b"789"


def test_an_empty_object_is_an_object(store: Store, make: Callable[[bytes], Path]) -> None:
    store.put(NAME, make(b""))
    assert store.exists(NAME)
    assert store.size(NAME) == 0


def test_the_same_bytes_may_be_put_twice(store: Store, make: Callable[[bytes], Path]) -> None:
    store.put(NAME, make(b"same"))
    store.put(NAME, make(b"same"))
    assert list(store.names()) == [NAME]


@pytest.mark.parametrize("other", [b"twist", b"onesie", b"on", b""])
def test_other_bytes_under_a_taken_name_are_refused(
    store: Store, make: Callable[[bytes], Path], other: bytes
) -> None:
    store.put(NAME, make(b"onset"))
    with pytest.raises(Conflict, match="other bytes"):
        store.put(NAME, make(other))
    assert read(store, NAME) == b"onset"


def test_a_source_that_is_missing_or_a_folder_is_not_found(store: Store, tmp_path: Path) -> None:
    for source in (tmp_path / "nothing", tmp_path):
        with pytest.raises(NotFound, match="no such file"):
            store.put(NAME, source)
    assert list(store.names()) == []


def test_what_is_absent_is_not_found(store: Store, tmp_path: Path) -> None:
    assert not store.exists(NAME)
    for call in (
        lambda: store.open(NAME),
        lambda: store.size(NAME),
        lambda: store.fetch(NAME, tmp_path / "dest"),
    ):
        with pytest.raises(NotFound, match="files/md5/ab/cdef"):
            call()
    assert not (tmp_path / "dest").exists()


def test_deleting_is_final_and_may_be_repeated(store: Store, make: Callable[[bytes], Path]) -> None:
    store.put(NAME, make(b"x"))
    store.delete(NAME)
    store.delete(NAME)
    assert not store.exists(NAME)
    store.put(NAME, make(b"another"))
    assert read(store, NAME) == b"another"


def test_fetch_makes_a_new_file_and_never_overwrites(
    store: Store, make: Callable[[bytes], Path], tmp_path: Path
) -> None:
    store.put(NAME, make(b"bytes"))
    store.fetch(NAME, tmp_path / "dest")
    assert (tmp_path / "dest").read_bytes() == b"bytes"
    mine = make(b"mine")
    with pytest.raises(Conflict, match="exists already"):
        store.fetch(NAME, mine)
    assert mine.read_bytes() == b"mine"


def test_fetch_into_a_missing_folder_names_that_folder(
    store: Store, make: Callable[[bytes], Path], tmp_path: Path
) -> None:
    store.put(NAME, make(b"bytes"))
    with pytest.raises(Unavailable, match="nowhere"):
        store.fetch(NAME, tmp_path / "nowhere" / "dest")


def test_names_are_sorted_and_chosen_by_prefix(store: Store, make: Callable[[bytes], Path]) -> None:
    for name in ("b/2", "a/b/1", "a/c", "ab", "b/10"):
        store.put(name, make(b"x"))
    assert list(store.names()) == ["a/b/1", "a/c", "ab", "b/10", "b/2"]
    assert list(store.names("a")) == ["a/b/1", "a/c", "ab"]
    assert list(store.names("a/")) == ["a/b/1", "a/c"]
    assert list(store.names("b/1")) == ["b/10"]
    assert list(store.names("none/")) == list(store.names("ab/x")) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../out",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "a\0b",
        "x" * 256,
        "\udc80",
        f"{INCOMING}/a",
        INCOMING,
    ],
)
def test_a_name_that_could_leave_the_store_is_refused(
    store: Store, make: Callable[[bytes], Path], name: str
) -> None:
    source = make(b"x")
    for call in (
        lambda: store.put(name, source),
        lambda: store.fetch(name, source),
        lambda: store.open(name),
        lambda: store.exists(name),
        lambda: store.size(name),
        lambda: store.delete(name),
    ):
        with pytest.raises(ConfigError, match="not a name"):
            call()


@pytest.mark.parametrize("prefix", ["/", "../", "a/../b", "\0"])
def test_a_prefix_that_could_leave_the_store_is_refused(store: Store, prefix: str) -> None:
    with pytest.raises(ConfigError, match="not a"):
        store.names(prefix)


@given(st.text(max_size=40))
def test_an_allowed_name_always_stays_inside(name: str) -> None:
    try:
        checked_name(name)
    except ConfigError:
        return
    root = Path("/some/store")
    assert Path(os.path.normpath(root / name)) == root / name != root


def test_of_many_writers_of_one_name_one_wins(store: Store, make: Callable[[bytes], Path]) -> None:
    sources = [make(bytes([number]) * 100_000) for number in range(6)]
    outcomes: list[str] = []

    def write(source: Path) -> None:
        try:
            store.put(NAME, source)
            outcomes.append("won")
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=write, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["conflict"] * 5 + ["won"]
    assert read(store, NAME) in [source.read_bytes() for source in sources]


# What follows holds for folders alone.


def test_a_stored_file_is_read_only_and_leaves_nothing_half_written(
    local: LocalStore, make: Callable[[bytes], Path]
) -> None:
    local.put(NAME, make(b"x"))
    assert local.path(NAME).stat().st_mode & 0o777 == 0o444
    assert list((local.root / INCOMING).iterdir()) == []


def test_a_folder_that_is_not_mounted_is_never_an_empty_store(
    tmp_path: Path, make: Callable[[bytes], Path]
) -> None:
    away = LocalStore(tmp_path / "away")
    source = make(b"x")
    for call in (
        lambda: away.put(NAME, source),
        lambda: away.exists(NAME),
        lambda: away.open(NAME),
        lambda: away.delete(NAME),
        lambda: list(away.names()),
        lambda: away.discard_unfinished(),  # noqa: PLW0108
    ):
        with pytest.raises(Unavailable, match=r"away: no such folder or file .*mount"):
            call()
    assert not (tmp_path / "away").exists()


def test_a_name_cannot_be_the_folder_of_another(
    local: LocalStore, make: Callable[[bytes], Path]
) -> None:
    local.put("a/b", make(b"x"))
    with pytest.raises(Conflict):
        local.put("a", make(b"x"))
    with pytest.raises(Conflict):
        local.put("a/b/c", make(b"x"))
    assert not local.exists("a")
    assert not local.exists("a/b/c")
    assert list(local.names()) == ["a/b"]


def test_a_full_disk_is_said_and_nothing_becomes_visible(
    small_disk: Path, make: Callable[[bytes], Path]
) -> None:
    store = LocalStore(small_disk)
    store.put("small", make(b"x" * 1000))
    with pytest.raises(Unavailable, match=r"disk: the disk is full \(free room"):
        store.put("large", make(b"x" * 400_000))
    assert list(store.names()) == ["small"]
    assert list((small_disk / INCOMING).iterdir()) == []
    store.put("next", make(b"x" * 1000))


def test_a_read_only_disk_is_said_and_still_read(
    small_disk: Path, make: Callable[[bytes], Path]
) -> None:
    store = LocalStore(small_disk)
    source = make(b"x")
    store.put("a", source)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(Unavailable, match="disk: cannot be written"):
        store.put("b", source)
    with pytest.raises(Unavailable, match="disk: cannot be written"):
        store.delete("a")
    store.put("a", source)
    assert read(store, "a") == b"x"


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("broken", ["fsync", "link"])
def test_a_write_that_failed_leaves_no_name_and_can_be_repeated(
    local: LocalStore, make: Callable[[bytes], Path], broken: str
) -> None:
    source = make(b"x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, broken, failing(errno.EIO))
        with pytest.raises(Unavailable):
            local.put("a", source)
    assert not local.exists("a")
    assert list((local.root / INCOMING).iterdir()) == []
    local.put("a", source)
    assert read(local, "a") == b"x"


def test_a_link_that_failed_but_was_stored_counts_as_stored(
    local: LocalStore, make: Callable[[bytes], Path]
) -> None:
    link = os.link

    def link_twice(source: Path, dest: Path) -> None:
        # A file server that lost its answer does the call again.
        link(source, dest)
        link(source, dest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "link", link_twice)
        local.put("a", make(b"x"))
    assert read(local, "a") == b"x"


def test_a_name_that_the_disk_did_not_confirm_is_an_unknown_outcome(
    local: LocalStore, make: Callable[[bytes], Path]
) -> None:
    source = make(b"x")
    link, fsync = os.link, os.fsync
    with pytest.MonkeyPatch.context() as patch:

        def link_then_break(one: Path, two: Path) -> None:
            link(one, two)
            patch.setattr(os, "fsync", failing(errno.EIO))

        patch.setattr(os, "link", link_then_break)
        with pytest.raises(OutcomeUnknown, match="did not confirm"):
            local.put("a", source)
        # As long as the disk stays silent, the second try does not know more.
        with pytest.raises(OutcomeUnknown, match="did not confirm"):
            local.put("a", source)
    assert os.fsync is fsync
    local.put("a", source)
    assert read(local, "a") == b"x"


KILLED = """
import os, signal, sys
from pathlib import Path
from storage_tiers.local import LocalStore
link = os.link
def killed(*paths):
    if sys.argv[3] == "after":
        link(*paths)
    os.kill(os.getpid(), signal.SIGKILL)
os.link = killed
LocalStore(Path(sys.argv[1])).put("a", Path(sys.argv[2]))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_writer_leaves_all_or_nothing(
    local: LocalStore, make: Callable[[bytes], Path], moment: str
) -> None:
    source = make(b"x" * 5000)
    command = [sys.executable, "-c", KILLED, str(local.root), str(source), moment]
    assert subprocess.run(command, check=False).returncode == -9
    assert list(local.names()) == (["a"] if moment == "after" else [])
    local.put("a", source)
    assert read(local, "a") == source.read_bytes()
    assert local.discard_unfinished() == 1
    assert local.discard_unfinished() == 0
