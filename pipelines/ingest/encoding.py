"""Encodings: bytes of a text become the text, and the encoding is known.

In this order: a byte order mark, strict UTF-8, the encoding that the spec names, the ones
that the source itself tells (a header, a meta element), then what the bytes look like.
Whatever is chosen must decode every byte.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass

from charset_normalizer import from_bytes

from pipelines.ingest.refused import Refused

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT_BYTES = 64 << 10
# On the web these names mean the superset (WHATWG Encoding Standard, section 4.2).
_ON_THE_WEB = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and the encoding that its bytes were in; None for UTF-8."""

    text: str
    encoding: str | None


def decoded(data: bytes, declared: str, told: Iterable[str] = ()) -> Decoded:
    """Decodes a whole text.

    Args:
        declared: ``utf-8`` for nothing else, ``detect``, or the name of an encoding.
        told: what the source says, most trusted first; wrong names are passed over.

    Raises:
        Refused: no encoding fits, or the text holds a NUL character.
    """
    found = _decoded(data, declared, told)
    if (at := found.text.find("\0")) >= 0:
        raise Refused("nul_character", f"character {at}")
    return found


def _decoded(data: bytes, declared: str, told: Iterable[str]) -> Decoded:
    for mark, name in _MARKS:
        if data.startswith(mark) and (declared != "utf-8" or name == "utf-8"):
            text = _strict(data[len(mark) :], name)
            if text is not None:
                return Decoded(text, None if name == "utf-8" else name)
    try:
        return Decoded(data.decode("utf-8"), None)
    except UnicodeDecodeError as wrong:
        if declared == "utf-8":
            raise Refused("invalid_utf8", f"byte {wrong.start}: {wrong.reason}") from None
    for name in _names(data, declared, told):
        text = _strict(data, name)
        if text is not None:
            return Decoded(text, name)
    raise Refused("unknown_encoding", f"{len(data)} bytes are in no encoding that is known")


def _names(data: bytes, declared: str, told: Iterable[str]) -> Iterable[str]:
    if declared != "detect":
        yield declared
        return
    for name in told:
        try:
            known = codecs.lookup(name.strip()).name
        except (LookupError, ValueError):
            continue
        yield _ON_THE_WEB.get(known, known)
    best = from_bytes(data[:_LOOKED_AT_BYTES]).best()
    if best is not None:
        yield best.encoding


def _strict(data: bytes, name: str) -> str | None:
    try:
        text = data.decode(name)
        text.encode("utf-8")
    except (UnicodeError, LookupError):
        return None
    return text
