"""Private keys in PEM, OpenSSH's and PGP's armour."""

from __future__ import annotations

import re

from pipelines.personal.kind import Form, Kind, Literal, Mask

_LINE = rb"(?:(?:\\[rn]|[\r\n\t >|\"'+,])*+[A-Za-z0-9+/=]{16,}+)"
# Head, then all to its own end; a key that is cut off ends with its last line of base64.
_KEY = (
    rb"-----BEGIN (?P<kind>(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
    rb"(?:(?:[^<>-]|-(?!----)){0,65536}+-----END (?P=kind)-----"
    rb"|(?:[A-Za-z-]{1,32}: [^\n<>]{0,200}+\n|\s)*+%s++"
    rb"(?:(?:\\n|\r?\n)[ \t]*+[A-Za-z0-9+/=]{1,15}+(?![^\s\"'\\]))?+)"
) % _LINE
# Every key has a line of so much base64; a picture of a key has not.
_KEY_LINE = re.compile(rb"[A-Za-z0-9+/=]{32}")
_LEAST_LETTERS = 16


def _holds_a_key(text: bytes, start: int, end: int) -> bool:
    line = _KEY_LINE.search(text, start, end)
    return line is not None and len({*text[line.start() : end]}) >= _LEAST_LETTERS


PRIVATE_KEY = Kind(
    "private_key",
    "private keys",
    (Form((Literal(b"-----BEGIN "),), _KEY, _holds_a_key),),
    Mask.KEY,
)
