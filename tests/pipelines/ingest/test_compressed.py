from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from typing import Any

import pytest
import zstandard

DATA = b"".join(
    b'{"text": "%s"}\n' % random.Random(i).randbytes(200 + i % 400).hex().encode()
    for i in range(3000)
)
HALF = DATA.index(b"\n", len(DATA) // 2) + 1


def pack(kind: str, data: bytes) -> bytes:
    if kind == "gz":
        return gzip.compress(data, 1, mtime=0)
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def read_packed(folder: Any, kind: str, packed: bytes) -> Any:
    folder.write(f"a.jsonl.{kind}", packed)
    return folder.read(folder.source(f"a.jsonl.{kind}"))


@pytest.fixture(params=["gz", "zst"])
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
    for garbage in (b"garbage", b"\n", b"\x01" * 3_000_000):
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


def test_a_bomb_costs_time_but_no_memory(folder: Any, kind: str) -> None:
    # 300 MB of one line out of a few hundred kilobytes or less.
    deflate = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zst = zstandard.ZstdCompressor().compressobj()
    packer: Any = deflate if kind == "gz" else zst
    packed = b"".join(packer.compress(b"x" * 1_000_000) for _ in range(300)) + packer.flush()
    assert len(packed) < 400_000
    tracemalloc.start()
    found = read_packed(folder, kind, packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.reasons, found.num_bytes) == (["line_too_long"], 300_000_000)
    assert peak < 200_000_000
