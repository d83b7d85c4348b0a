"""Corpora that hold token ids: every document is read, whatever the format and the width."""

from __future__ import annotations

import io
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError, Conflict, NotFound
from pipelines.ingest.ids import token_array, token_ids
from pipelines.tokens.notation import MAX_ID, noted, read_notes
from tests.pipelines.ingest.ids.token_files import Documents, array, mds, megatron

END = 9
DOCUMENTS = [[5, 0, 65535, END], [55295, 55296, 57343, END], [END], [1, 2, 3, END]]


def read(folder: Any, path: str, format_: str, dtype: str = "int32", chunk: int = 1 << 20) -> Any:
    more = {"mds": {"text": "tokens", "encoding": dtype}, "megatron": {}}
    more["tokens"] = {"encoding": dtype, "delimiter": str(END)}
    return folder.read(folder.source(path, format_, **more[format_]), chunk_bytes=chunk)


def documents(found: Any) -> list[list[int]]:
    ids, ends = read_notes(found.records.column("text").combine_chunks())
    return [ids[a:b].tolist() for a, b in pairwise(ends)]


@given(st.lists(st.lists(st.integers(0, MAX_ID), max_size=9), max_size=6), st.integers(0, 6))
@settings(deadline=None)
def test_ids_come_back_from_the_notation(ids: Documents, first: int) -> None:
    texts = [noted(np.array(row, np.int64)).decode() for row in ids]
    found, ends = read_notes(pa.array(texts, pa.large_string())[first:])
    rows = [found[a:b].tolist() for a, b in pairwise(ends)]
    assert rows == [list(row) for row in ids[first:]]


@pytest.mark.parametrize("encoding", ["bytes", "ndarray", "ndarray:int32"])
def test_a_sample_of_mds_is_a_document(folder: Any, encoding: str) -> None:
    folder.write("c/shard.00000.mds", mds(DOCUMENTS, "int32", encoding, [b"\x80\x04N.", b""]))
    folder.write("c/index.json", b"{}")
    found = read(folder, "c", "mds")
    assert documents(found) == DOCUMENTS
    assert found.reasons == []


def test_an_array_of_fixed_shape_has_no_sizes_before_it(folder: Any) -> None:
    about = (
        b'{"column_names":["tokens"],"column_encodings":["ndarray:uint16:3"],"column_sizes":[6]}'
    )
    ends = np.array([16 + len(about) + 6 * n for n in range(3)], "<u4")
    folder.write("a.mds", struct.pack("<I", 2) + ends.tobytes() + about + bytes(range(12)))
    assert documents(read(folder, "a.mds", "mds", "uint16")) == [
        [256, 770, 1284],
        [1798, 2312, 2826],
    ]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_document_of_megatron_is_all_its_sequences(folder: Any, parts: int) -> None:
    index, ids = megatron(DOCUMENTS, "int32", parts)
    folder.write("m.idx", index)
    folder.write("m.bin", ids)
    found = read(folder, "m.idx", "megatron")
    assert (documents(found), found.reasons, found.num_bytes) == (DOCUMENTS, [], len(ids))
    assert found.records.column("file").to_pylist() == [1] * 4


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("dtype", ["uint16", "int32", "uint32", "int64"])
def test_an_array_is_cut_behind_each_end_token(
    folder: Any, dtype: str, header: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*DOCUMENTS, [7, 7]]
    folder.write("a.npy", array(rows, dtype, header=header))
    assert documents(read(folder, "a.npy", "tokens", dtype)) == rows
    monkeypatch.setattr(token_array, "_BLOCK_BYTES", 8)
    assert documents(read(folder, "a.npy", "tokens", dtype, chunk=1)) == rows


def test_the_same_tokens_are_the_same_documents_in_every_format(folder: Any) -> None:
    folder.write("a.mds", mds(DOCUMENTS, "int64"))
    folder.write("b.npy", array(DOCUMENTS, "uint16", header=True))
    index, ids = megatron(DOCUMENTS, "int32")
    folder.write("m.idx", index)
    folder.write("m.bin", ids)
    one = read(folder, "a.mds", "mds", "int64").identities
    assert one == read(folder, "b.npy", "tokens", "uint16").identities
    assert one == read(folder, "m.idx", "megatron").identities


def pickled() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[1], "two"], object), allow_pickle=True)
    return file.getvalue()


WHOLE = array(DOCUMENTS, "uint16", header=True)


@pytest.mark.parametrize(
    ("data", "reasons", "num_documents"),
    [
        (b"", ["empty_file"], 0),
        (WHOLE[:-3], ["truncated_stream"], 4),
        (WHOLE + b"\0", ["corrupt_file"], 4),
        (WHOLE[:40], ["corrupt_file"], 0),
        (array(DOCUMENTS, "int32", header=True), ["corrupt_file"], 0),
        (array(DOCUMENTS, ">u2", header=True), ["corrupt_file"], 0),
        (pickled(), ["corrupt_file"], 0),
        (b"\x93NUMPY\x09\0" + bytes(99), ["corrupt_file"], 0),
        (b"\x05\0\x09\0\x07", ["corrupt_file"], 1),
    ],
)
def test_what_is_no_array_is_quarantined(
    folder: Any, data: bytes, reasons: list[str], num_documents: int
) -> None:
    folder.write("a.npy", data)
    found = read(folder, "a.npy", "tokens", "uint16")
    assert (found.reasons, found.records.num_rows) == (reasons, num_documents)


def test_ids_that_no_tokenizer_has_are_quarantined(folder: Any) -> None:
    folder.write("a.npy", array([[1, END], [-1, END], [MAX_ID + 1, END]], "int64", header=True))
    found = read(folder, "a.npy", "tokens", "int64")
    assert (documents(found), found.reasons) == ([[1, END]], ["token_out_of_range"] * 2)


@pytest.mark.parametrize("first", [1, 65536 * 4])
def test_ids_read_at_half_their_width_stop_the_build(folder: Any, first: int) -> None:
    rows = [list(range(first, first + 40))]
    folder.write("a.bin", array(rows, "int64", header=False))
    folder.write("a.mds", mds(rows, "int64"))
    for name, format_ in (("a.bin", "tokens"), ("a.mds", "mds")):
        with pytest.raises(ConfigError, match="every second token is 0"):
            read(folder, name, format_, "int32")
    padded = [[5, 6, 7, *[0] * 60, END]]
    folder.write("a.bin", array(padded, "int32", header=False))
    assert documents(read(folder, "a.bin", "tokens", "int32")) == padded


def test_a_document_may_be_as_long_as_a_text(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (token_array, token_ids):
        monkeypatch.setattr(module, "MAX_DOCUMENT_BYTES", 8)
    folder.write("a.bin", array([[1] * 9 + [END], [2, END]], "uint16", header=False))
    found = read(folder, "a.bin", "tokens", "uint16")
    assert (documents(found), found.reasons) == ([[2, END]], ["text_too_long"])
    assert found.num_bytes == 24


def test_a_damaged_shard_loses_only_what_is_damaged(folder: Any) -> None:
    whole = mds(DOCUMENTS, "int32")
    damaged = {
        whole[:-1]: (["truncated_stream"], 3),
        whole + b"more": (["corrupt_file"], 4),
        whole[:9]: (["corrupt_file"], 0),
        b"": (["empty_file"], 0),
        b"\xff\xff\xff\xff" + whole: (["corrupt_file"], 0),
        whole.replace(b"column_names", b"column_nameZ"): (["corrupt_file"], 0),
        whole.replace(struct.pack("<I", 16), struct.pack("<I", 99)): (["malformed_record"] * 3, 1),
        mds(DOCUMENTS, "int32", "ndarray:int64"): (["malformed_record"] * 4, 0),
    }
    for data, (reasons, count) in damaged.items():
        folder.write("a.mds", data)
        found = read(folder, "a.mds", "mds")
        assert (found.reasons, found.records.num_rows) == (reasons, count), len(data)


@pytest.mark.parametrize("encoding", ["pkl", "str", "int", "json"])
def test_a_column_of_another_encoding_is_refused_and_never_decoded(
    folder: Any, encoding: str
) -> None:
    folder.write("a.mds", mds(DOCUMENTS, "int32", encoding))
    with pytest.raises(ConfigError, match=f"'tokens' is encoded as '{encoding}'"):
        read(folder, "a.mds", "mds")
    folder.write("a.mds", mds(DOCUMENTS, "int32").replace(b'"tokens"', b'"inputs"'))
    with pytest.raises(ConfigError, match="no column 'tokens'"):
        read(folder, "a.mds", "mds")


def test_a_damaged_index_loses_its_file_and_says_so(folder: Any) -> None:
    index, ids = megatron(DOCUMENTS, "int32")
    folder.write("m.bin", ids)
    wrong = [b"", index[:-1], index[:20], b"X" + index, index.replace(b"\x01\0", b"\x02\0", 1)]
    wrong += [index[:-8] + struct.pack("<q", 99), index[:18] + b"\xff" * 8 + index[26:]]
    for data in wrong:
        folder.write("m.idx", data)
        found = read(folder, "m.idx", "megatron")
        assert (found.reasons, found.records.num_rows) == (["corrupt_file"], 0)
        assert found.num_bytes == len(ids)
    folder.write("m.idx", index)
    folder.write("m.bin", ids[:-1])
    assert read(folder, "m.idx", "megatron").reasons == ["truncated_stream"]
    folder.write("m.bin", ids + b"xy")
    assert read(folder, "m.idx", "megatron").reasons == ["corrupt_file"]


def test_index_and_ids_belong_together(folder: Any) -> None:
    index, ids = megatron(DOCUMENTS, "int32")
    folder.write("m.idx", index)
    source = folder.source("m.idx", "megatron")
    with pytest.raises(NotFound, match=r"m\.bin"):
        folder.plan(source)
    folder.write("m.bin", ids)
    planned = folder.plan(source)
    folder.write("m.bin", ids[::-1])
    assert folder.plan(source)[0].content != planned[0].content
    with pytest.raises(Conflict, match="changed since it was planned"):
        folder.read_planned(source, planned)


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(0, 255))
@settings(deadline=None, max_examples=150)
def test_any_bytes_are_read_or_quarantined(
    shared_folder: Any, junk: bytes, place: int, byte: int
) -> None:
    index, ids = megatron(DOCUMENTS, "int32", 2)
    files = {"a.mds": mds(DOCUMENTS, "int32"), "a.npy": WHOLE, "m.idx": index}
    shared_folder.write("m.bin", ids)
    for name, format_ in (("a.mds", "mds"), ("a.npy", "tokens"), ("m.idx", "megatron")):
        data = bytearray(files[name])
        data[place % len(data)] = byte
        for part in (bytes(data), junk):
            shared_folder.write(name, part)
            try:
                found = read(shared_folder, name, format_, "uint16" if name == "a.npy" else "int32")
            except ConfigError as error:
                assert "column" in error.message or "every second" in error.message
            else:
                assert found.records.num_rows or found.reasons
