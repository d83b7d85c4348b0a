"""Kernels read without checks, and yet never outside of what they were given."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipelines.signals.bits import byte_at, trailing_zeros, word_at
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.measured import Measured
from pipelines.signals.segments import Segmenter
from pipelines.spec.duplicates import DuplicatesSpec

ALL = Measured(SIGNALS, DuplicatesSpec(near=True))
PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def memory_before_a_wall(data: bytes) -> Iterator[NDArray[np.uint8]]:
    """Bytes behind which no byte can be read: the process would end with a fault."""
    room = -(-max(len(data), 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, room + PAGE)
    whole = np.frombuffer(memory, np.uint8)
    wall = ctypes.c_void_p(whole.ctypes.data + room)
    assert LIBC.mprotect(wall, ctypes.c_size_t(PAGE), 0) == 0
    try:
        part = whole[room - len(data) : room]
        part[:] = np.frombuffer(data, np.uint8)
        yield part
    finally:
        assert LIBC.mprotect(wall, ctypes.c_size_t(PAGE), mmap.PROT_READ | mmap.PROT_WRITE) == 0


def column(data: NDArray[np.uint8], lengths: list[int]) -> pa.LargeStringArray:
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    buffers = [
        None,
        pa.py_buffer(offsets.astype(np.int64)),
        pa.foreign_buffer(data.ctypes.data, len(data), data),
    ]
    return pa.LargeStringArray.from_buffers(len(lengths), buffers[1], buffers[2])


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.integers(0, 3))
@settings(deadline=None, max_examples=80)
def test_texts_may_end_where_memory_ends(texts: list[str], left_out: int) -> None:
    written = [text.encode() for text in texts]
    with memory_before_a_wall(b"".join(written)) as data:
        array = column(data, [len(text) for text in written])[left_out:]
        found = ALL.apply(pa.table({"text": array})).signals
        expected = ALL.apply(pa.table({"text": pa.array(texts[left_out:], pa.large_string())}))
        for name, values in expected.signals.items():
            assert found[name].equals(values), name


@given(st.binary(min_size=1, max_size=40))
@settings(deadline=None, max_examples=150)
def test_the_segmenter_reads_at_most_sixteen_bytes_behind_what_it_was_given(text: bytes) -> None:
    # Not even where a text is no UTF-8, which no reader lets through.
    segmenter = Segmenter()
    with memory_before_a_wall(text + bytes(16)) as data:
        segmenter._bytes = data
        array = column(np.frombuffer(text, np.uint8), [len(text)])
        segmenter._room = segmenter._rooms(len(text))
        found = segmenter.segments_of(array)
        assert segmenter._bytes is data
        assert 0 <= found.token_starts[-1] <= len(text)
        assert 0 <= found.line_starts[-1] <= len(text)


def test_no_texts_and_empty_texts_have_no_words() -> None:
    for texts in ([], [""], ["", ""], ["\n"]):
        effect = ALL.apply(pa.table({"text": pa.array(texts, pa.large_string())}))
        assert effect.signals["num_words"].to_pylist() == [0] * len(texts)
        assert effect.bands is not None and len(effect.bands) == len(texts)


@numba.njit
def read(data: NDArray[np.uint8], place: int) -> tuple[int, int, int]:
    word = word_at(data, place)
    return byte_at(data, place), word, trailing_zeros(word)


@given(st.binary(min_size=8, max_size=24), st.data())
@settings(deadline=None)
def test_unchecked_reads_give_the_bytes_that_stand_there(data: bytes, draw: st.DataObject) -> None:
    place = draw.draw(st.integers(0, len(data) - 8))
    word = int.from_bytes(data[place : place + 8], "little")
    zeros = (word & -word).bit_length() - 1 if word else 64
    for array in (np.frombuffer(data, np.uint8), np.frombuffer(b"x" + data, np.uint8)[1:]):
        byte, found, low = read(array, place)
        assert (byte, int(found), low) == (data[place], word, zeros)
