from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tracemalloc
import zlib
from itertools import pairwise
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.ingest import read
from pipelines.ingest.pages import whole
from pipelines.ingest.places import members, streams

DATA = b"".join(
    b'{"text": "%s"}\n' % random.Random(i).randbytes(200 + i % 400).hex().encode()
    for i in range(3000)
)
TARGET = 16_000
HALF = DATA.index(b"\n", len(DATA) // 2) + 1


def pack(kind: str, data: bytes) -> bytes:
    if kind == "gz":
        return gzip.compress(data, 1, mtime=0)
    if kind == "bz2":
        return bz2.compress(data, 1)
    if kind == "xz":
        return lzma.compress(data, preset=0)
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def read_packed(folder: Any, kind: str, packed: bytes) -> Any:
    folder.write(f"a.jsonl.{kind}", packed)
    return folder.read(folder.source(f"a.jsonl.{kind}"))


@pytest.fixture(params=["gz", "zst", "bz2", "xz"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_packed_file_holds_the_records_of_the_plain_one(folder: Any, kind: str) -> None:
    folder.write("a.jsonl", DATA)
    plain = folder.read(folder.source("a.jsonl"))
    packed = read_packed(folder, kind, pack(kind, DATA))
    assert packed.identities == plain.identities
    assert packed.reasons == []
    assert packed.num_bytes == len(DATA)


def test_several_members_are_one_stream(folder: Any, kind: str) -> None:
    middle = HALF + 17
    parts = [pack(kind, DATA[:middle]), pack(kind, b""), pack(kind, DATA[middle:])]
    found = read_packed(folder, kind, b"".join(parts))
    assert found.reasons == []
    assert found.records.num_rows == 3000


def test_a_stream_packed_twice_is_read_as_it_says(folder: Any, kind: str) -> None:
    found = read_packed(folder, kind, pack(kind, pack(kind, DATA[:HALF])))
    assert found.texts == []
    assert found.num_bytes == len(pack(kind, DATA[:HALF]))


def test_zero_bytes_behind_a_stream_are_padding(folder: Any) -> None:
    for kind in ("gz", "bz2", "xz"):
        found = read_packed(folder, kind, pack(kind, DATA[:HALF]) + b"\0" * 512)
        assert (found.reasons, found.num_bytes) == ([], HALF)


def test_padding_behind_gzip_and_skippable_frames_of_zstd_are_passed_over(folder: Any) -> None:
    found = read_packed(folder, "gz", pack("gz", DATA[:HALF]) + b"\0" * 500)
    assert found.reasons == []
    skippable = (0x184D2A50).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc"
    packed = skippable + pack("zst", DATA[:HALF]) + skippable + pack("zst", DATA[HALF:])
    found = read_packed(folder, "zst", packed)
    assert found.reasons == []
    assert found.num_bytes == len(DATA)


def test_what_lies_before_a_cut_is_read_and_the_rest_is_named(folder: Any, kind: str) -> None:
    packed = pack(kind, DATA)
    cut = packed[: len(packed) // 2]
    found = read_packed(folder, kind, cut)
    assert found.reasons == ["truncated_stream"]
    (row,) = found.quarantine.to_pylist()
    assert f"ends early at byte {len(cut)}" in row["detail"]
    assert DATA.startswith(b"".join(b'{"text": "%s"}\n' % t.encode() for t in found.texts))
    assert DATA[row["offset"] :].startswith(row["record"])
    assert found.records.num_rows > 1000
    assert found.num_bytes == row["offset"] + len(row["record"])


def test_a_damaged_byte_stops_the_stream_there(folder: Any, kind: str) -> None:
    packed = bytearray(pack(kind, DATA))
    packed[len(packed) // 2 : len(packed) // 2 + 8] = b"\xff" * 8
    found = read_packed(folder, kind, bytes(packed))
    assert found.reasons[-1] == "corrupt_stream"
    assert found.records.num_rows > 500
    row = found.quarantine.to_pylist()[-1]
    assert row["offset"] + row["num_bytes"] == found.num_bytes
    assert f"after {found.num_bytes} unpacked bytes" in row["detail"]


def test_a_wrong_check_sum_keeps_the_lines_and_says_so(folder: Any) -> None:
    packed = bytearray(pack("gz", DATA))
    packed[-8] ^= 1
    found = read_packed(folder, "gz", bytes(packed))
    assert found.records.num_rows == 3000
    assert found.reasons == ["corrupt_stream"]
    assert "incorrect data check" in found.quarantine.column("detail")[0].as_py()


def test_garbage_behind_a_whole_stream_costs_no_record(folder: Any, kind: str) -> None:
    whole = pack(kind, DATA.rstrip(b"\n"))
    for garbage in (b"garbage", b"\n", whole[:5], b"\x01" * 3_000_000):
        found = read_packed(folder, kind, whole + garbage)
        assert found.records.num_rows == 3000
        assert found.reasons in (["corrupt_stream"], ["truncated_stream"])
        assert found.num_bytes == len(DATA) - 1


def test_a_file_that_is_not_packed_is_named(folder: Any, kind: str) -> None:
    found = read_packed(folder, kind, DATA)
    assert (found.texts, found.reasons, found.num_bytes) == ([], ["corrupt_stream"], 0)


def test_an_empty_stream_is_an_empty_file(folder: Any, kind: str) -> None:
    for packed in (b"", pack(kind, b"")):
        assert read_packed(folder, kind, packed).reasons == ["empty_file"]


def bomb(kind: str, size: int) -> bytes:
    if kind == "bz2":
        packer: Any = bz2.BZ2Compressor(9)
    elif kind == "xz":
        packer = lzma.LZMACompressor(preset=0)
    elif kind == "gz":
        packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    else:
        packer = zstandard.ZstdCompressor().compressobj()
    piece = b"x" * (1 << 20)
    return b"".join(packer.compress(piece) for _ in range(size >> 20)) + packer.flush()


def test_a_bomb_costs_time_but_no_memory(folder: Any, kind: str) -> None:
    # 256 MiB of one line out of a few hundred kilobytes or less.
    size = 256 << 20
    packed = bomb(kind, size)
    assert len(packed) < 400_000
    tracemalloc.start()
    found = read_packed(folder, kind, packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.reasons, found.num_bytes) == (["line_too_long"], size)
    assert peak < 200_000_000


def test_of_a_document_that_is_a_bomb_no_more_than_a_document_is_unpacked(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "MAX_FILE_BYTES", 1 << 20)
    passed = 0

    def counted(blocks: Any, *rest: Any) -> Any:
        nonlocal passed
        for block in streams.decompressed(blocks, *rest):
            passed += len(block)
            yield block

    monkeypatch.setattr(read, "decompressed", counted)
    for kind in ("gz", "zst", "bz2", "xz"):
        passed = 0
        folder.write(f"a.txt.{kind}", bomb(kind, 64 << 20))
        found = folder.read(folder.source(f"a.txt.{kind}", "text"))
        assert (found.reasons, found.num_bytes) == (["text_too_long"], (1 << 20) + 1)
        assert passed < 12 << 20


class TestMembers:
    """One packed file of many members is cut for several workers, and reads as if it were not."""

    def identical(self, folder: Any, name: str, packed: bytes, plain: bytes) -> int:
        """Number of partitions; the records and their places are those of the plain file."""
        folder.write(f"{name}.plain", plain)
        folder.write(name, packed)
        source = folder.source(name, "jsonl")
        parts = folder.plan(source, 4 * TARGET)
        assert sum(part.num_bytes for part in parts) == len(packed)
        found = folder.read_planned(source, parts)
        expected = folder.read(folder.source(f"{name}.plain"))
        assert found.identities == expected.identities
        assert found.reasons == expected.reasons
        assert found.texts == expected.texts
        at = 0
        for part in parts:
            (piece,) = part.files
            assert piece.start == at
            at += part.num_bytes
            read = folder.read_planned(source, [part])
            places = [row["offset"] + piece.offset_base for row in read.records.to_pylist()]
            lines = [plain[place:].partition(b"\n")[0] for place in places]
            assert lines == [b'{"text": "%s"}' % text.encode() for text in read.texts]
        return len(parts)

    @pytest.mark.parametrize("kind", ["gz", "zst"])
    def test_members_that_begin_with_a_line_are_cut_points(self, folder: Any, kind: str) -> None:
        lines = DATA.splitlines(keepends=True)
        packed = b"".join(
            pack(kind, b"".join(lines[at : at + 50])) for at in range(0, len(lines), 50)
        )
        assert self.identical(folder, f"a.jsonl.{kind}", packed, DATA) > 5

    def test_a_file_of_blocks_is_cut_wherever_a_line_begins_in_one(self, folder: Any) -> None:
        # bgzip cuts every 64 KiB, wherever that is, and ends in an empty member.
        for size in (1000, 90, 7):
            data = DATA[: size * 3000]
            blocks = [data[at : at + size] for at in range(0, len(data), size)]
            packed = b"".join(map(bgzip, [*blocks, b""]))
            assert self.identical(folder, "a.jsonl.gz", packed, data) > 3

    def test_lines_may_go_on_over_many_members(self, folder: Any) -> None:
        chance = random.Random(2)
        lines = [b'{"text": "%s"}\n' % chance.randbytes(n).hex().encode() for n in range(300)]
        data = b"".join([*lines, b'{"text": "%s"}' % (b"long " * 50_000)])
        for kind in ("gz", "zst"):
            packed = b"".join(pack(kind, data[at : at + 40]) for at in range(0, len(data), 40))
            assert self.identical(folder, f"a.jsonl.{kind}", packed, data) > 3

    def test_skippable_frames_and_empty_members_belong_to_what_follows(self, folder: Any) -> None:
        lines = DATA.splitlines(keepends=True)
        skip = (0x184D2A50).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"size"
        packed = b"".join(
            skip + pack("zst", b"".join(lines[at : at + 50])) for at in range(0, 3000, 50)
        )
        assert self.identical(folder, "a.jsonl.zst", packed + skip, DATA) > 5
        packed = b"".join(
            pack("gz", b"") + pack("gz", b"".join(lines[at : at + 50])) for at in range(0, 3000, 50)
        )
        assert self.identical(folder, "a.jsonl.gz", packed + pack("gz", b""), DATA) > 5

    @given(cuts=st.lists(st.integers(0, len(DATA) // 8), max_size=30))
    @settings(deadline=None, max_examples=25)
    def test_members_anywhere_give_the_same_records(
        self, shared_folder: Any, cuts: list[int]
    ) -> None:
        data = DATA[: len(DATA) // 8]
        edges = [0, *sorted(cuts), len(data)]
        pieces = [data[a:b] for a, b in pairwise(edges)]
        packed = b"".join(pack("gz", piece) for piece in pieces)
        self.identical(shared_folder, "any.jsonl.gz", packed, data)

    def test_one_member_is_one_partition_and_is_not_unpacked_to_see_that(
        self, folder: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(members, "decompressed", None)
        folder.write("a.jsonl.gz", pack("gz", DATA))
        (part,) = folder.plan(folder.source("a.jsonl.gz"), TARGET)
        assert part.num_bytes == len(pack("gz", DATA))

    def test_a_member_that_is_appended_changes_the_last_partition_alone(self, folder: Any) -> None:
        lines = DATA.splitlines(keepends=True)
        packed = [pack("gz", b"".join(lines[at : at + 50])) for at in range(0, 3000, 50)]
        source = folder.source("a.jsonl.gz")
        folder.write("a.jsonl.gz", b"".join(packed[:-1]))
        before = [part.content for part in folder.plan(source, 4 * TARGET)]
        folder.write("a.jsonl.gz", b"".join(packed))
        after = [part.content for part in folder.plan(source, 4 * TARGET)]
        assert len(before) > 4
        assert before[:-1] == after[: len(before) - 1]

    def test_damage_in_the_middle_loses_what_it_loses_in_one_piece(self, folder: Any) -> None:
        lines = DATA.splitlines(keepends=True)
        packed = [pack("gz", b"".join(lines[at : at + 50])) for at in range(0, 3000, 50)]
        packed[30] = packed[30][:200] + b"\xff" * 8 + packed[30][208:]
        folder.write("a.jsonl.gz", b"".join(packed))
        source = folder.source("a.jsonl.gz")
        cut, one = folder.plan(source, 4 * TARGET), folder.plan(source, 1 << 30)
        assert len(cut) > 4 > len(one) == 1
        read_cut, read_one = folder.read_planned(source, cut), folder.read_planned(source, one)
        assert read_cut.identities == read_one.identities
        assert read_cut.reasons == read_one.reasons
        assert read_cut.num_bytes == read_one.num_bytes
        start = sum(map(len, packed[:30]))
        (row,) = [row for row in read_cut.quarantine.to_pylist() if row["reason"][-6:] == "stream"]
        at = int(row["detail"].partition("at byte ")[2].partition(":")[0])
        assert start < at < start + len(packed[30])

    def test_an_archive_of_pages_is_cut_between_its_records(self, folder: Any) -> None:
        records = [
            b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\n"
            b"WARC-Target-URI: https://a.example/%d\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n"
            % (i, len(line), line)
            for i, line in enumerate(DATA.splitlines()[:800])
        ]
        folder.write("a.warc.gz", b"".join(pack("gz", record) for record in records))
        folder.write("b.warc", b"".join(records))
        source = folder.source("a.warc.gz", "warc")
        parts = folder.plan(source, TARGET)
        assert len(parts) > 5
        found = folder.read_planned(source, parts)
        assert found.reasons == []
        assert found.identities == folder.read(folder.source("b.warc", "warc")).identities
        assert found.records.num_rows == 800

    def test_other_formats_are_not_cut(self, folder: Any) -> None:
        rows = b"text\n" + b"".join(b'"line\n%d"\n' % i for i in range(20_000))
        pieces = [rows[at : at + 5000] for at in range(0, len(rows), 5000)]
        folder.write("a.csv.gz", b"".join(pack("gz", piece) for piece in pieces))
        source = folder.source("a.csv.gz", "csv")
        parts = folder.plan(source, 4096)
        assert len(parts) == 1
        assert folder.read_planned(source, parts).records.num_rows == 20_000


def bgzip(block: bytes) -> bytes:
    """A block of bgzip: its packed size stands in an extra field."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = packer.compress(block) + packer.flush()
    size = len(data) + 25
    extra = b"\x06\0BC\2\0" + size.to_bytes(2, "little")
    tail = zlib.crc32(block).to_bytes(4, "little") + len(block).to_bytes(4, "little")
    return b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + extra + data + tail
