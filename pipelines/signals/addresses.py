"""Addresses of documents in one spelling, so that they can be looked up in lists.

Left out are the scheme, user, port, a final dot of the host, the fragment, and slashes
before the query or at the end. The host is in lower case and in its ASCII form (IDNA 2003).
Paths and queries stay as they are.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.clean.nfc import replaced

_SLASH, _BACKSLASH, _COLON, _QUERY, _FRAGMENT, _AT, _DOT = b"/\\:?#@."
_OPEN, _CLOSE, _PERCENT = b"[]%"
# What ends a run of bytes, by its bits: the authority, the scheme; what stands for a slash,
# and what browsers pass over.
_ENDS_AUTHORITY, _ENDS_SCHEME, _SLASHES, _PASSED = 1, 2, 4, 8
_MARKS = np.zeros(256, np.uint8)
for _bytes, _mark in (
    (b"/\\?#", _ENDS_AUTHORITY),
    (b"/\\?#:@[", _ENDS_SCHEME),
    (b"/\\", _SLASHES),
    (b"\t\n\r", _PASSED),
):
    _MARKS[list(_bytes)] |= _mark


class Addresses(NamedTuple):
    """Addresses, and how many bytes of each are its host; none where it has no host."""

    texts: pa.LargeStringArray
    hosts: NDArray[np.int64]


def addresses_of(urls: pa.LargeStringArray) -> Addresses:
    """The addresses that URLs name, with or without a scheme."""
    data, starts = text_bytes(urls)
    out = np.empty(int(starts[-1] - starts[0]), np.uint8)
    bounds, hosts = np.zeros(len(urls) + 1, np.int64), np.zeros(len(urls), np.int64)
    odd = np.zeros(len(urls), np.bool_)
    _normalize(data, starts, out, bounds, hosts, odd)
    texts = pa.LargeStringArray.from_buffers(len(urls), pa.py_buffer(bounds), pa.py_buffer(out))
    # Few hosts are not plain ASCII: these are looked at one by one.
    places = np.flatnonzero(odd)
    mended = [_mended(texts[int(place)].as_py(), int(hosts[place])) for place in places]
    hosts[places] = [size for _, size in mended]
    others = pa.array([text for text, _ in mended], pa.large_string())
    return Addresses(replaced(texts, places, others), hosts)


def _mended(address: str, host_bytes: int) -> tuple[str, int]:
    whole = address.encode("utf-8")
    host = unquote(whole[:host_bytes].decode("utf-8"))
    host = "".join(host.split()).lower().rstrip(".")
    # Names that the standard does not allow are compared as they are.
    with suppress(UnicodeError):
        host = host.encode("idna").decode("ascii")
    return host + whole[host_bytes:].decode("utf-8"), len(host.encode("utf-8"))


@numba.njit(cache=True, nogil=True)
def _authority(data: NDArray[np.uint8], at: int, end: int) -> int:
    """Where user, host and port begin: behind ``scheme://`` or ``//``, or at once."""
    mark = at
    while mark < end and not _MARKS[data[mark]] & _ENDS_SCHEME:
        mark += 1
    if mark < end and mark > at and data[mark] == _COLON:
        mark += 1
    elif mark > at:
        return at
    slashes = mark
    while mark < end and _MARKS[data[mark]] & _SLASHES:
        mark += 1
    return mark if mark - slashes >= 2 else at


@numba.njit(cache=True, nogil=True)
def _host(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Where the host begins and ends in ``user:password@host:port``."""
    for i in range(at, end):
        if data[i] == _AT:
            at = i + 1
    if at < end and data[at] == _OPEN:
        for i in range(at, end):
            if data[i] == _CLOSE:
                return at, i + 1
        return at, at
    digits = end
    while digits > at and 48 <= data[digits - 1] <= 57:
        digits -= 1
    if digits > at and data[digits - 1] == _COLON:
        end = digits - 1
    while end > at and data[end - 1] == _DOT:
        end -= 1
    return at, end


@numba.njit(cache=True, nogil=True)
def _normalize(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    out: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    hosts: NDArray[np.int64],
    odd: NDArray[np.bool_],
) -> None:
    put: Any = np.int64(0)
    for row in range(len(hosts)):
        at, end = starts[row], starts[row + 1]
        while at < end and data[at] <= 32:
            at += 1
        while end > at and data[end - 1] <= 32:
            end -= 1
        at = _authority(data, at, end)
        path = at
        while path < end and not _MARKS[data[path]] & _ENDS_AUTHORITY:
            path += 1
        begin, stop = _host(data, at, path)
        for i in range(begin, stop):
            byte = data[i]
            odd[row] |= byte >= 0x80 or byte == _PERCENT or byte <= 32
            out[put] = byte + 32 if 65 <= byte <= 90 else byte
            put += 1
        hosts[row] = stop - begin
        put = _path(data, path, end, out, put)
        bounds[row + 1] = put


@numba.njit(cache=True, nogil=True)
def _path(data: NDArray[np.uint8], at: int, end: int, out: NDArray[np.uint8], put: int) -> int:
    """Copies path and query, without slashes at the path's end and what browsers pass over."""
    query, first = False, put
    for i in range(at, end):
        byte = data[i]
        if byte == _FRAGMENT:
            break
        if _MARKS[byte] & _PASSED:
            continue
        if byte == _QUERY and not query:
            while put > first and out[put - 1] == _SLASH:
                put -= 1
            query = True
        out[put] = _SLASH if byte == _BACKSLASH and not query else byte
        put += 1
    while not query and put > first and out[put - 1] == _SLASH:
        put -= 1
    return put
