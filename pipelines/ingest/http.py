"""HTTP responses as they stand in web archives: status, type, and the body unpacked."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.ingest.refused import Refused
from pipelines.ingest.streams import StreamFault, decompressed
from pipelines.ingest.whole import MAX_FILE_BYTES

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HttpPage:
    """One response.

    Attributes:
        content_type: its header.
        payload: the body as it lies in the archive.
        body: the same with transfer and content encodings undone.
    """

    status: int
    content_type: str
    payload: bytes
    body: bytes

    @property
    def type(self) -> str:
        """The media type in lower case, without parameters."""
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def charsets(self) -> tuple[str, ...]:
        """The encoding that the header names, if it does."""
        for part in self.content_type.split(";")[1:]:
            name, _, value = part.partition("=")
            if name.strip().lower() == "charset" and value.strip("\"' "):
                return (value.strip("\"' "),)
        return ()


def http_page(block: bytes) -> HttpPage:
    """Parses a response; a missing reason or line feeds alone are no fault.

    Raises:
        Refused: no response, or a body that cannot be unpacked within 64 MiB.
    """
    head, separator, payload = block.partition(b"\r\n\r\n")
    if not separator or b"\n\n" in head:
        head, separator, payload = block.partition(b"\n\n")
    lines = head.replace(b"\r\n", b"\n").split(b"\n")
    status = lines[0].split(None, 2)[1:2]
    if not lines[0].startswith(b"HTTP/") or not status or not status[0].isdigit():
        raise Refused("malformed_record", "no status line of HTTP")
    headers = _headers(lines[1:])
    body = _unpacked(payload, headers)
    return HttpPage(int(status[0][:9]), headers.get("content-type", ""), payload, body)


def _headers(lines: list[bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if colon:
            found.setdefault(
                name.strip().lower().decode("latin-1"), value.strip().decode("latin-1")
            )
    return found


def _unpacked(payload: bytes, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        payload = _without_chunks(payload)
    for name in reversed(headers.get("content-encoding", "").lower().split(",")):
        unpack = _UNPACK.get(name.strip())
        if unpack is not None:
            payload = _bounded(unpack(payload), payload)
    return payload


def _without_chunks(payload: bytes) -> bytes:
    """The body of chunks. Archives often keep the header and drop the chunks: then it is as is."""
    parts: list[bytes] = []
    at = 0
    while at < len(payload):
        end = payload.find(b"\r\n", at)
        size = payload[at:end].partition(b";")[0].strip() if end >= 0 else b""
        try:
            length = int(size, 16)
        except ValueError:
            return payload if not parts else b"".join(parts)
        if length == 0:
            break
        parts.append(payload[end + 2 : end + 2 + length])
        at = end + 2 + length + 2
    return b"".join(parts)


def _gunzipped(payload: bytes) -> Iterator[bytes]:
    return decompressed([payload], "gz")


def _inflated(payload: bytes) -> Iterator[bytes]:
    # Servers send raw deflate under this name as often as the zlib form that is meant.
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(bits)
        try:
            out = stream.decompress(payload, MAX_FILE_BYTES + 1)
        except zlib.error:
            continue
        yield out
        return
    raise StreamFault("corrupt_stream", "deflate: damaged")


def _brotli(payload: bytes) -> Iterator[bytes]:
    import brotli

    stream = brotli.Decompressor()
    try:
        yield stream.process(payload, output_buffer_limit=_BLOCK_BYTES)
        while not stream.is_finished():
            out = stream.process(b"", output_buffer_limit=_BLOCK_BYTES)
            if not out:
                return
            yield out
    except brotli.error:
        raise StreamFault("corrupt_stream", "brotli: damaged") from None


_UNPACK: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _inflated,
    "br": _brotli,
}


def _bounded(blocks: Iterator[bytes], packed: bytes) -> bytes:
    parts, size = [], 0
    try:
        for block in blocks:
            size += len(block)
            if size > MAX_FILE_BYTES:
                raise Refused("text_too_long", f"over {MAX_FILE_BYTES} bytes unpacked")
            parts.append(block)
    except StreamFault as fault:
        # Many archives keep the header of an encoding that they have undone already.
        if not parts and packed[:1] in (b"<", b" ", b"\n", b"\r"):
            return packed
        raise Refused(fault.reason, fault.detail) from None
    return b"".join(parts)
