"""HTTP responses as they stand in web archives: status, type, and the body unpacked."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.ingest.pages.whole import MAX_FILE_BYTES
from pipelines.ingest.places.streams import StreamFault, decompressed
from pipelines.ingest.refused import Refused

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)")
_HEAD_END = re.compile(rb"\r{0,2}\n\r{0,2}\n")
_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?\s*([^\s\"';]{1,40})", re.IGNORECASE)
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One response.

    Attributes:
        headers: names in lower case; of several the first.
        payload: the body as it lies in the archive.
    """

    status: int
    headers: Mapping[str, str]
    payload: bytes

    def body(self) -> bytes:
        """The payload with transfer and content codings undone.

        Many archives keep the header of a coding that they have undone already: then it
        is as it lies.

        Raises:
            Refused: it cannot be unpacked whole, or is over 64 MiB.
        """
        body = self.payload
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            body = _without_chunks(body)
        for name in reversed(self.headers.get("content-encoding", "").lower().split(",")):
            unpack = _UNPACK.get(name.strip())
            if unpack is not None:
                body = _bounded(unpack(body), body)
        return body


def http_response(block: bytes) -> HttpResponse:
    """Parses a response; a missing reason or line feeds alone are no fault.

    Raises:
        Refused: no response.
    """
    status = _STATUS.match(block)
    if status is None:
        raise Refused("malformed_record", "no status line of HTTP")
    end = _HEAD_END.search(block)
    head, payload = (block, b"") if end is None else (block[: end.start()], block[end.end() :])
    return HttpResponse(int(status[1]), _headers(head), payload)


def media_type(content_type: str) -> str:
    """The type of a header in lower case, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def charset(content_type: str) -> tuple[str, ...]:
    """The encoding that a header names, if it does."""
    match = _CHARSET.search(content_type)
    return () if match is None else (match[1],)


def _headers(head: bytes) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in head.decode("latin-1").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def _without_chunks(payload: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while (match := _CHUNK.match(payload, at)) is not None:
        length, start = int(match[1], 16), match.end()
        if length == 0:
            return b"".join(parts)
        parts.append(payload[start : start + length])
        at = start + length
        at += 2 if payload[at : at + 2] == b"\r\n" else 1
    if not parts:
        return payload
    raise Refused("truncated_stream", f"chunks of HTTP end at byte {min(at, len(payload))}")


def _gunzipped(payload: bytes) -> Iterator[bytes]:
    return decompressed([payload], "gz")


def _unzstd(payload: bytes) -> Iterator[bytes]:
    return decompressed([payload], "zst")


def _inflated(payload: bytes) -> Iterator[bytes]:
    # Servers send raw deflate under this name as often as the zlib form that is meant.
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(bits)
        try:
            out = stream.decompress(payload, MAX_FILE_BYTES + 1)
        except zlib.error:
            continue
        yield out
        if not stream.eof and len(out) <= MAX_FILE_BYTES:
            raise StreamFault("truncated_stream", "deflate ends early")
        return
    raise StreamFault("corrupt_stream", "deflate: damaged")


def _brotli(payload: bytes) -> Iterator[bytes]:
    import brotli

    stream = brotli.Decompressor()
    try:
        out = stream.process(payload, output_buffer_limit=_BLOCK_BYTES)
        while out:
            yield out
            out = stream.process(b"", output_buffer_limit=_BLOCK_BYTES)
    except brotli.error:
        raise StreamFault("corrupt_stream", "brotli: damaged") from None
    if payload and not stream.is_finished():
        raise StreamFault("truncated_stream", "brotli ends early")


_UNPACK: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _inflated,
    "br": _brotli,
    "zstd": _unzstd,
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
        if packed.lstrip()[:1] == b"<":
            return packed
        if not fault.clean:
            raise Refused(fault.reason, fault.detail) from None
    return b"".join(parts)
