"""Archives: what is inside is read like the files of a folder, and what cannot be is told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError, Conflict, NotFound
from pipelines.ingest.chunk import REASONS
from pipelines.ingest.partition import Partition
from pipelines.ingest.places.endings import is_hidden
from pipelines.ingest.places.opening import LocalFile
from pipelines.ingest.places.zipped import zip_members

FILES = {
    "a.jsonl": b'{"text": "one"}\n{"text": "two"}\n',
    "in/ner/b.jsonl.gz": gzip.compress(b'{"text": "three"}\n', mtime=0),
    "in/c.NDJSON": b'{"text": "four"}',
    "in/d.jsonl.xz": lzma.compress(b'{"text": "five"}\n'),
    "other.txt": b"not of this format",
    ".hidden.jsonl": b'{"text": "hidden"}',
    "__MACOSX/._a.jsonl": b"junk",
}
TEXTS = {
    "one": "a.jsonl",
    "two": "a.jsonl",
    "three": "in/ner/b.jsonl.gz",
    "four": "in/c.NDJSON",
    "five": "in/d.jsonl.xz",
}
TAR_KINDS = ["tar", "tar.gz", "tgz", "tar.zst", "tar.bz2", "tar.xz"]
KINDS = ["zip", *TAR_KINDS]


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: Mapping[str, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def packed(data: bytes, kind: str) -> bytes:
    packers: dict[str, Callable[[bytes], bytes]] = {
        "tar": bytes,
        "tar.gz": gzip.compress,
        "tgz": gzip.compress,
        "tar.zst": zstandard.compress,
        "tar.bz2": bz2.compress,
        "tar.xz": lzma.compress,
    }
    return packers[kind](data)


def archive(kind: str, files: Mapping[str, bytes]) -> bytes:
    return zipped(files) if kind == "zip" else packed(tarred(files), kind)


def read(folder: Any, name: str, data: bytes, format_: str = "jsonl", target: int = 1 << 20) -> Any:
    folder.write(name, data)
    found = folder.read(folder.source(name, format_), target)
    assert set(found.reasons) <= REASONS
    return found


def where(folder: Any, source: Any, parts: Iterable[Partition]) -> dict[str, str]:
    """The shown path of each document."""
    found = {}
    for part in parts:
        for row in folder.read_planned(source, [part]).records.to_pylist():
            found[row["text"]] = part.files[row["file"]].shown
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_members_of_the_format_are_read_and_shown_with_their_names(folder: Any, kind: str) -> None:
    name = f"d/archive.{kind}"
    folder.write(name, archive(kind, FILES))
    source = folder.source(name)
    parts = folder.plan(source)
    assert where(folder, source, parts) == {t: f"{name}!/{member}" for t, member in TEXTS.items()}
    assert folder.read_planned(source, parts).reasons == []


@pytest.mark.parametrize("kind", KINDS)
def test_archives_lie_in_folders_like_other_files(folder: Any, kind: str) -> None:
    folder.write(f"d/x.{kind}", archive(kind, {"p.txt": b"inside"}))
    folder.write("d/q.txt", b"outside")
    folder.write(f"d/nothing.{kind}", archive(kind, {"p.jpg": b"no text"}))
    assert sorted(folder.read(folder.source("d", "text")).texts) == ["inside", "outside"]


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_archives_without_a_file_of_the_format_are_nothing(folder: Any, kind: str) -> None:
    folder.write(f"a.{kind}", archive(kind, {"p.jpg": b"no text"}))
    with pytest.raises(NotFound, match="nothing matches"):
        folder.plan(folder.source(f"a.{kind}", "text"))


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_formats_that_are_compressed_inside_are_not_read_from_archives(
    folder: Any, format_: str
) -> None:
    folder.write("a.zip", zipped({"a.parquet": b""}))
    with pytest.raises(ConfigError, match=r"not read from \.zip.*unpack it first"):
        folder.plan(folder.source("a.zip", format_))
    folder.write("d/a.zip", b"")
    with pytest.raises(NotFound):
        folder.plan(folder.source("d", format_))


@pytest.mark.parametrize("kind", KINDS)
def test_the_ids_are_those_of_the_same_files_in_a_folder(folder: Any, kind: str) -> None:
    for name, data in FILES.items():
        folder.write(f"d/{name}", data)
    plain = folder.read(folder.source("d"))
    assert read(folder, f"a.{kind}", archive(kind, FILES)).identities == plain.identities


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_in_an_archive_is_one_row(folder: Any, kind: str) -> None:
    inner = zipped({"deep.jsonl": b'{"text": "deep"}'})
    files = {"a.jsonl": FILES["a.jsonl"], "in.zip": inner, "in.tar.gz": b"x", ".h.zip": inner}
    found = read(folder, f"a.{kind}", archive(kind, files))
    assert sorted(found.texts) == ["one", "two"]
    assert found.reasons == ["nested_archive"] * 2


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_unsafe_names_are_only_names(folder: Any, kind: str) -> None:
    names = ["../up.txt", "/etc/absolute.txt", "a/../../b.txt", "line\nfeed.txt", "c:\\d.txt"]
    before = sorted(folder.root.parent.rglob("*"))
    folder.write(f"a.{kind}", archive(kind, {name: name.encode() for name in names}))
    source = folder.source(f"a.{kind}", "text")
    found = where(folder, source, folder.plan(source))
    assert found == {name: f"a.{kind}!/{name}" for name in names}
    assert sorted(folder.root.parent.rglob("*")) == sorted([*before, folder.root / f"a.{kind}"])


def test_many_members_become_few_partitions_and_a_new_one_disturbs_one(folder: Any) -> None:
    chance = random.Random(4)
    files = {f"{i:05}.txt": chance.randbytes(300).hex().encode() for i in range(2000)}
    source = folder.source("a.zip", "text")
    for kind in ("zip", "tar"):
        source = folder.source(f"a.{kind}", "text")
        folder.write(f"a.{kind}", archive(kind, files))
        before = {part.content for part in folder.plan(source, 500_000)}
        assert 8 < len(before) < 60
        folder.write(f"a.{kind}", archive(kind, {"new.txt": b"new", **files}))
        assert len(before - {part.content for part in folder.plan(source, 500_000)}) == 1
    assert sorted(where(folder, source, folder.plan(source, 500_000))) == sorted(
        [*(data.decode() for data in files.values()), "new"]
    )


def test_lines_of_a_big_member_of_a_plain_tar_feed_all_workers(folder: Any) -> None:
    data = b"".join(b'{"text": "line %d"}\n' % i for i in range(20_000))
    folder.write("a.tar", tarred({"big.jsonl": data, "small.jsonl": b'{"text": "small"}'}))
    folder.write("a.jsonl", data)
    source = folder.source("a.tar")
    parts = folder.plan(source, 50_000)
    plain = folder.plan(folder.source("a.jsonl"), 50_000)
    assert len(parts) == len(plain) + 1 > 5
    cut = {(part.content, part.files[0].offset_base) for part in plain}
    assert cut < {(part.content, part.files[0].offset_base) for part in parts}
    assert len(folder.read_planned(source, parts).texts) == 20_001


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_that_changed_is_a_conflict(folder: Any, kind: str) -> None:
    files = {"a.txt": b"one", "b.txt": b"two"}
    source = folder.source(f"a.{kind}", "text")
    folder.write(f"a.{kind}", archive(kind, files))
    parts = folder.plan(source)
    folder.write(f"a.{kind}", archive(kind, files | {"b.txt": b"2wo"}))
    with pytest.raises(Conflict, match="changed since it was planned"):
        folder.read_planned(source, parts)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_member_that_unpacks_to_too_much_is_one_row(
    folder: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    files = {"a.txt": b"small", "bomb.txt": bytes(200 << 20)}
    data = archive(kind, files)
    tracemalloc.start()
    found = read(folder, f"a.{kind}", data, "text")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.texts, found.reasons) == (["small"], ["text_too_long"])
    assert peak < 250_000_000


@given(
    files=st.dictionaries(
        st.text("ab/.é\n", min_size=1, max_size=90).map(lambda name: name + ".txt"),
        st.binary(max_size=1500),
        min_size=1,
        max_size=8,
    ),
    kind=st.sampled_from(["zip", "tar", "tar.gz"]),
    old=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_any_files_are_found_as_they_were_put_in(
    shared_folder: Any, files: dict[str, bytes], kind: str, old: bool
) -> None:
    files = {name.strip("/") or "x.txt": data for name, data in files.items()}
    format_ = tarfile.GNU_FORMAT if old else tarfile.PAX_FORMAT
    data = zipped(files) if kind == "zip" else packed(tarred(files, format_), kind)
    shown = {name for name in files if not is_hidden(name)}
    shared_folder.write(f"any.{kind}", data)
    source = shared_folder.source(f"any.{kind}", "text", encoding="latin-1")
    if not shown:
        with pytest.raises(NotFound):
            shared_folder.plan(source)
        return
    parts = shared_folder.plan(source)
    members = sorted(file.member for part in parts for file in part.files)
    assert members == sorted(shown)
    found = shared_folder.read_planned(source, parts)
    assert found.num_bytes == sum(len(files[name]) for name in shown)


class TestZip:
    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_all_ways_of_packing_are_read(self, folder: Any, method: int) -> None:
        found = read(folder, "a.zip", zipped(FILES, method))
        assert sorted(found.texts) == sorted(TEXTS)
        assert found.reasons == []

    @pytest.mark.parametrize(("method", "pack"), [(93, zstandard.compress), (95, lzma.compress)])
    def test_zstandard_and_xz_inside_are_read(self, folder: Any, method: int, pack: Any) -> None:
        data = by_hand({"a.txt": (method, b"some text", pack(b"some text"))})
        assert read(folder, "a.zip", data, "text").texts == ["some text"]

    def test_a_way_of_packing_that_nobody_reads_is_a_row(self, folder: Any) -> None:
        data = by_hand({"a.txt": (9, b"text", b"text"), "b.txt": (0, b"good", b"good")})
        found = read(folder, "a.zip", data, "text")
        assert (found.texts, found.reasons) == (["good"], ["unreadable_member"])

    def test_sizes_behind_the_data_and_64_bit_sizes_are_read(self, folder: Any) -> None:
        class Pipe(io.RawIOBase):
            """Nobody can go back in it, so that sizes stand behind the data."""

            def __init__(self) -> None:
                self.data = b""

            def writable(self) -> bool:
                return True

            def write(self, data: Any) -> int:
                self.data += bytes(data)
                return len(data)

        pipe = Pipe()
        with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("a.txt", b"streamed")
            with made.open("b.txt", "w", force_zip64=True) as file:
                file.write(b"large")
        assert sorted(read(folder, "a.zip", pipe.data, "text").texts) == ["large", "streamed"]

    def test_a_directory_of_more_than_65535_members_is_read(self, folder: Any) -> None:
        made = zipped({f"{i}.txt": b"" for i in range(66_000)}, zipfile.ZIP_STORED)
        path = folder.write("a.zip", made)
        assert b"PK\6\6" in made[-300:]
        with LocalFile(path) as file:
            names = [member.name for member in zip_members(file, lambda _: True)]
        assert names == [f"{i}.txt" for i in range(66_000)]

    def test_what_stands_in_front_and_a_comment_behind_are_no_matter(self, folder: Any) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as made:
            made.writestr("a.txt", b"text")
            made.comment = b"a comment with PK\5\6 in it, and more than twenty bytes behind"
        assert read(folder, "a.zip", out.getvalue(), "text").texts == ["text"]
        assert read(folder, "b.zip", b"#!/bin/sh\n" + out.getvalue(), "text").texts == ["text"]

    def test_folders_are_passed_over_and_a_link_is_a_row(self, folder: Any) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as made:
            made.mkdir("folder.txt")
            link = zipfile.ZipInfo("link.txt")
            link.create_system, link.external_attr = 3, 0o120777 << 16
            made.writestr(link, b"/etc/passwd")
            made.writestr("a.txt", b"text")
        found = read(folder, "a.zip", out.getvalue(), "text")
        assert (found.texts, found.reasons) == (["text"], ["unreadable_member"])

    def test_an_encrypted_member_is_a_row_and_the_rest_is_read(self, folder: Any) -> None:
        data = bytearray(zipped({"a.txt": b"secret", "b.txt": b"open"}, zipfile.ZIP_STORED))
        data[6] |= 1
        data[data.index(b"PK\1\2") + 8] |= 1
        found = read(folder, "a.zip", bytes(data), "text")
        assert (found.texts, found.reasons) == (["open"], ["encrypted_member"])

    @pytest.mark.parametrize(
        ("at", "what"),
        [(8, "packed"), (14, "size"), (18, "size"), (22, "size"), (30, "name"), (0, "header")],
    )
    def test_a_header_that_disagrees_with_the_directory_is_a_row(
        self, folder: Any, at: int, what: str
    ) -> None:
        data = bytearray(zipped({"a.txt": b"text", "b.txt": b"good"}, zipfile.ZIP_STORED))
        data[at] ^= 2
        found = read(folder, "a.zip", bytes(data), "text")
        assert (found.texts, found.reasons) == (["good"], ["unreadable_member"])
        assert what in found.quarantine["detail"][0].as_py()

    def test_members_that_share_bytes_are_rows(self, folder: Any) -> None:
        # Two entries of the directory for the same bytes: how small archives become huge.
        data = by_hand({"a.txt": (0, b"text", b"text")}, entries=3)
        found = read(folder, "a.zip", data, "text")
        assert found.texts == ["text"]
        assert found.reasons == ["unreadable_member"] * 2

    def test_damaged_data_is_told_and_what_came_before_it_is_read(self, folder: Any) -> None:
        lines = b"".join(
            b'{"text": "%s"}\n' % random.Random(i).randbytes(40).hex().encode() for i in range(5000)
        )
        data = bytearray(zipped({"a.jsonl": lines, "b.jsonl": b'{"text": "good"}'}))
        data[200_000:200_004] = b"\xff" * 4
        found = read(folder, "a.zip", bytes(data))
        assert found.records.num_rows > 2000
        assert "good" in found.texts
        assert "corrupt_stream" in found.reasons

    def test_a_wrong_check_sum_or_size_is_told(self, folder: Any) -> None:
        good = zlib.crc32(b"text")
        for stated, size in ((good ^ 1, 4), (good, 3), (good, 5)):
            data = by_hand({"a.txt": (0, b"text", b"text")}, crc=stated, size=size)
            found = read(folder, "a.zip", data, "text")
            assert found.texts == []
            assert found.reasons[0] in ("corrupt_stream", "truncated_stream")

    def test_a_member_that_is_longer_than_it_says_is_not_unpacked_on(self, folder: Any) -> None:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()
        data = by_hand({"a.jsonl": (8, b"\0" * 100, bomb)})
        found = read(folder, "a.zip", data)
        assert found.reasons[-1] == "corrupt_stream"
        assert found.num_bytes == 100

    @pytest.mark.parametrize("keep", [0, 1, 21, 60, 200])
    def test_an_archive_without_its_end_is_one_row(self, folder: Any, keep: int) -> None:
        found = read(folder, "a.zip", zipped(FILES)[:keep])
        assert (found.texts, found.reasons) == ([], ["corrupt_archive"])
        assert found.num_bytes == keep

    def test_a_damaged_directory_costs_what_follows_the_damage(self, folder: Any) -> None:
        data = bytearray(zipped({"a.txt": b"first", "b.txt": b"second", "c.txt": b"third"}))
        second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
        data[second] = 0
        found = read(folder, "a.zip", bytes(data), "text")
        assert (found.texts, sorted(found.reasons)) == (["first"], ["corrupt_archive"])

    @given(place=st.integers(0, 400), byte=st.integers(1, 255))
    @settings(deadline=None, max_examples=120)
    def test_one_changed_byte_is_never_read_in_silence(
        self, shared_folder: Any, place: int, byte: int
    ) -> None:
        texts = {"a.txt": b"one two three", "b.txt": b"four five six"}
        data = bytearray(zipped(texts, zipfile.ZIP_STORED))
        data[place % len(data)] ^= byte
        shared_folder.write("flip.zip", bytes(data))
        source = shared_folder.source("flip.zip", "text")
        try:
            found = shared_folder.read(source)
        except NotFound:
            return
        # Either the text is one that was put in, or there is a row; a new name may hide one.
        assert set(found.texts) <= {"one two three", "four five six"}
        assert len(found.texts) + len(found.reasons) >= 1


class TestTar:
    @pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
    def test_long_and_foreign_names_are_read(self, folder: Any, format_: int) -> None:
        files = {"x/" * 150 + "long.txt": b"long", "ünï/ç.txt": b"foreign"}
        folder.write("a.tar", tarred(files, format_))
        source = folder.source("a.tar", "text")
        found = where(folder, source, folder.plan(source))
        assert found == {data.decode(): f"a.tar!/{name}" for name, data in files.items()}

    def test_folders_are_passed_over_and_links_and_devices_are_rows(self, folder: Any) -> None:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as made:
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE):
                info = tarfile.TarInfo("x.txt")
                info.type, info.linkname = kind, "/etc/passwd"
                made.addfile(info)
            info = tarfile.TarInfo("a.txt")
            info.size = 4
            made.addfile(info, io.BytesIO(b"text"))
        found = read(folder, "a.tar", out.getvalue(), "text")
        assert (found.texts, found.reasons) == (["text"], ["unreadable_member"] * 3)

    @pytest.mark.parametrize("kind", ["tar", "tar.gz"])
    def test_a_damaged_header_costs_its_member_and_is_told(self, folder: Any, kind: str) -> None:
        files = {f"{i}.txt": b"text %d" % i for i in range(5)}
        data = bytearray(tarred(files))
        data[2 * 1024 + 10] ^= 1
        found = read(folder, f"a.{kind}", packed(bytes(data), kind), "text")
        assert sorted(found.texts) == ["text 0", "text 1", "text 3", "text 4"]
        assert found.reasons == ["corrupt_archive"]
        assert found.quarantine["num_bytes"].to_pylist() == [1024]

    @pytest.mark.parametrize("kind", ["tar", "tar.gz"])
    def test_something_that_is_no_tar_is_one_row(self, folder: Any, kind: str) -> None:
        found = read(folder, f"a.{kind}", packed(b"no tar at all " * 200, kind), "text")
        assert (found.texts, found.reasons) == ([], ["corrupt_archive"])
        assert found.num_bytes == 14 * 200

    @pytest.mark.parametrize("kind", ["tar", "tar.gz"])
    def test_a_member_that_is_cut_off_gives_its_lines_but_no_document(
        self, folder: Any, kind: str
    ) -> None:
        lines = b"".join(b'{"text": "line %d"}\n' % i for i in range(100))
        cut = packed(tarred({"a.jsonl": lines})[: 512 + 1000], kind)
        found = read(folder, f"a.{kind}", cut)
        assert (found.records.num_rows, found.reasons) == (50, ["truncated_stream"])
        cut = packed(tarred({"a.txt": b"text " * 1000})[: 512 + 1000], kind)
        found = read(folder, f"b.{kind}", cut, "text")
        assert (found.texts, found.reasons) == ([], ["truncated_stream"])

    @pytest.mark.parametrize("kind", ["tar", "tar.gz"])
    def test_an_archive_that_ends_between_members_or_in_another_file_is_told(
        self, folder: Any, kind: str
    ) -> None:
        whole = tarred({"a.txt": b"text", "b.jpg": bytes(5000)})
        for end in (1024, 1024 + 200, 1536 + 700):
            found = read(folder, f"a.{kind}", packed(whole[:end], kind), "text")
            assert (found.texts, found.reasons) == (["text"], ["truncated_stream"])

    @pytest.mark.parametrize("kind", ["tar", "tar.gz"])
    def test_archives_that_were_joined_are_read_to_the_end(self, folder: Any, kind: str) -> None:
        data = tarred({"a.txt": b"one"}) + tarred({"b.txt": b"two"})
        found = read(folder, f"a.{kind}", packed(data, kind), "text")
        assert (sorted(found.texts), found.reasons) == (["one", "two"], [])

    def test_a_stream_that_breaks_under_the_archive_is_told_once(self, folder: Any) -> None:
        chance = random.Random(1)
        files = {f"{i}.txt": chance.randbytes(3000).hex().encode() for i in range(50)}
        data = gzip.compress(tarred(files))
        cut = read(folder, "a.tar.gz", data[: len(data) // 2], "text")
        assert 20 < cut.records.num_rows < 30
        assert cut.reasons == ["truncated_stream"]
        half = len(data) // 2
        data = data[:half] + b"\xff" * 8 + data[half + 8 :]
        found = read(folder, "b.tar.gz", data, "text")
        assert (found.records.num_rows > 20, found.reasons) == (True, ["corrupt_stream"])

    def test_sparse_files_are_rows(self, folder: Any) -> None:
        header = tarfile.TarInfo("sparse.txt")
        header.type, header.size = tarfile.GNUTYPE_SPARSE, 512
        block = header.tobuf(tarfile.GNU_FORMAT)
        data = block + b"x" * 512 + tarred({"a.txt": b"text"})
        found = read(folder, "a.tar", data, "text")
        assert (found.texts, found.reasons) == (["text"], ["unreadable_member"])

    @pytest.mark.parametrize("kind", ["tar", "tar.gz"])
    def test_an_empty_archive_is_nothing_and_an_empty_file_is_told(
        self, folder: Any, kind: str
    ) -> None:
        with pytest.raises(NotFound):
            read(folder, f"a.{kind}", packed(tarred({}), kind), "text")
        found = read(folder, f"a.{kind}", packed(b"", kind), "text")
        assert (found.texts, found.reasons) == ([], ["truncated_stream"])

    @given(place=st.integers(0, 4095), byte=st.integers(1, 255))
    @settings(deadline=None, max_examples=120)
    def test_one_changed_byte_of_a_header_is_never_read_in_silence(
        self, shared_folder: Any, place: int, byte: int
    ) -> None:
        data = bytearray(tarred({"a.txt": b"one", "b.txt": b"two"}))
        place %= 2048
        data[place] ^= byte
        shared_folder.write("flip.tar", bytes(data))
        found = shared_folder.read(shared_folder.source("flip.tar", "text", encoding="latin-1"))
        assert len(found.texts) + len(found.reasons) >= 2


def by_hand(
    members: Mapping[str, tuple[int, bytes, bytes]],
    crc: int | None = None,
    size: int | None = None,
    entries: int = 1,
) -> bytes:
    """A zip archive of members packed by some method, with what it states of them."""
    body, directory = b"", b""
    for name, (method, plain, data) in members.items():
        stated = zlib.crc32(plain) if crc is None else crc
        numbers = (stated, len(data), len(plain) if size is None else size)
        raw = name.encode()
        entry = struct.pack("<HHHHHLLLHH", 20, 0, method, 0, 33, *numbers, len(raw), 0)
        attributes = struct.pack("<HHHLL", 0, 0, 0, 0, len(body))
        directory += (b"PK\1\2" + struct.pack("<H", 20) + entry + attributes + raw) * entries
        body += b"PK\3\4" + entry + raw + data
    count = len(members) * entries
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end
