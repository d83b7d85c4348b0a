"""Encodings: bytes of a text become the text, and the encoding is known.

In this order: a byte order mark, strict UTF-8, the encoding that the spec names, the ones
that the source itself tells (a header, a meta element), then what the bytes look like.
Whatever is chosen must decode every byte. A text in damaged UTF-8 is never read as
something else: it is refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from charset_normalizer import from_bytes
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from pipelines.ingest.refused import Refused

# UTF-32 before UTF-16: its little-endian mark starts with the other's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Of seven bits, so that UTF-8 would take them for its own.
_ESCAPES = ((b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"), (b"\x1b$)C", "iso2022_kr"))
# The names stand for their supersets (WHATWG Encoding Standard, section 4.2).
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
}
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# How much is looked at before the first byte that is not ASCII, and from there on.
_LEAD_BYTES = 1 << 10
_LOOKED_AT_BYTES = 64 << 10
_LOOKED_AT_SLOWLY_BYTES = 8 << 10


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
    found = _marked(data, declared) or _utf8(data, declared)
    if found is None:
        found = _detected(data, told) if declared == "detect" else _read(data, declared)
    if found is None:
        raise Refused("unknown_encoding", f"{len(data)} bytes are in no encoding that is known")
    if (at := found.text.find("\0")) >= 0:
        raise Refused("nul_character", f"character {at}")
    return found


def _marked(data: bytes, declared: str) -> Decoded | None:
    """What a byte order mark says holds: nothing else is tried."""
    for mark, name in _MARKS:
        if data.startswith(mark) and (declared != "utf-8" or name == "utf-8"):
            try:
                text = data[len(mark) :].decode(name)
            except UnicodeDecodeError as wrong:
                reason = "invalid_utf8" if name == "utf-8" else "unknown_encoding"
                at = wrong.start + len(mark)
                raise Refused(reason, f"byte {at} of {name}: {wrong.reason}") from None
            return Decoded(text, None if name == "utf-8" else name)
    return None


def _utf8(data: bytes, declared: str) -> Decoded | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        if declared == "utf-8" or (declared == "detect" and _damaged_utf8(data)):
            raise Refused("invalid_utf8", f"byte {wrong.start}: {wrong.reason}") from None
        return None
    if declared == "detect":
        return _wide(data) or _escaped(data) or Decoded(text, None)
    return Decoded(text, None)


def _damaged_utf8(data: bytes) -> bool:
    """Whether more characters are whole than broken: no other encoding looks like that."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    others = len(text) - len(text.encode("ascii", "ignore"))
    return others >= 2 * broken


def _wide(data: bytes) -> Decoded | None:
    """UTF-16 without a mark, known by NUL bytes and by white space of the right width."""
    if b"\0" not in data:
        return None
    found = [read for name in ("utf-16-le", "utf-16-be") if (read := _guess(data, name))]
    spaces = [sum(map(read.text.count, " \r\n\t")) for read in found]
    if not found or (len(found) > 1 and spaces[0] == spaces[1]):
        return None
    return found[spaces.index(max(spaces))] if max(spaces) else None


def _escaped(data: bytes) -> Decoded | None:
    for sign, name in _ESCAPES:
        if sign in data and (found := _read(data, name)):
            return found
    return None


def _detected(data: bytes, told: Iterable[str]) -> Decoded | None:
    found = _wide(data)
    if found is not None:
        return found
    for name in told:
        known = map_encoding_to_html5(name.strip(" \t\r\n\"'"), fallback_utf8=False)
        if known and (found := _read(data, _superset(known))):
            return found
    return next(filter(None, (_guess(data, name) for name in _looks_like(data))), None)


def _looks_like(data: bytes) -> Iterator[str]:
    """Names of encodings, the quick and more often right detector first."""
    first = _NOT_ASCII.search(data)
    start = max(first.start() - _LEAD_BYTES, 0) if first else 0
    sample = data[start : start + _LOOKED_AT_BYTES]
    name = detect_encoding(sample, max_len=0, html5_compatible=False)
    if name:
        yield _superset(name)
    best = from_bytes(sample[:_LOOKED_AT_SLOWLY_BYTES]).best()
    if best is not None:
        yield _superset(best.encoding)


def _superset(name: str) -> str:
    try:
        known = codecs.lookup(name).name
    except LookupError:
        return name
    return _SUPERSETS.get(known, known)


def _guess(data: bytes, name: str) -> Decoded | None:
    """As `_read`; what gives control characters was guessed wrong."""
    found = _read(data, name)
    return None if found is None or _NO_TEXT.search(found.text) else found


def _read(data: bytes, name: str) -> Decoded | None:
    try:
        text = data.decode(name)
        text.encode("utf-8")
    except (UnicodeError, LookupError):
        return None
    return Decoded(text, name)
