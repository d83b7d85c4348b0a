"""Masks: what a finding looked like, and never enough to know it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pipelines.personal.kind import Kind, Mask

# Characters of the finding that a mask shows at most, the words of a key's first line apart.
MOST_SHOWN = 8
_CODES = re.compile(r"\+(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])(?![0-9])")
_KEY_HEAD = re.compile(r"-----BEGIN ((?:[A-Z0-9]{1,12} ){0,3})PRIVATE KEY")
_KEY_SORTS = frozenset({"RSA", "DSA", "EC", "OPENSSH", "PGP", "ENCRYPTED", "SSH2"})
_TOKEN_HEAD = re.compile(
    r"(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-|[sr]k_|npm_|hf_|AKIA|AIza|eyJ)"
)
_LONGEST_ENDING = 4
# Kinds of any length, shown with it.
_SIZED = frozenset({Mask.HEAD, Mask.KEY, Mask.NOTHING})


def masked(text: bytes, kind: Kind) -> str:
    """A finding as it may be shown, such as ``j***@e***.org``; one line.

    Args:
        text: the bytes found.
    """
    shown = _MASKS[kind.mask](text.decode("utf-8", "replace"))
    return f"{shown} ({len(text):,} bytes)" if kind.mask in _SIZED else shown


def _email(text: str) -> str:
    local, _, domain = text.partition("@")
    ending = domain.rpartition(".")[2]
    shown = f".{ending}" if ending.isalnum() and len(ending) <= _LONGEST_ENDING else ""
    return f"{_first(local)}***@{_first(domain)}***{shown}"


def _first(text: str) -> str:
    return text[:1] if text[:1].isalnum() else ""


def _ip(text: str) -> str:
    mark = ":" if ":" in text else "."
    first = text.partition(mark)[0]
    shown = first if first.isalnum() and len(first) <= _LONGEST_ENDING else "*"
    return f"{shown}{mark}{'****:…' if mark == ':' else '*.*.*'}"


def _tail(text: str, shown: int) -> str:
    """Stars for letters and digits but the last ones; the marks between stay."""
    kept, out = shown, []
    for char in reversed(text[:64]):
        hidden = not char.isascii() or char.isalnum()
        out.append(char if not hidden and char in " .-/()+" else "*")
        if hidden and char.isascii() and kept > 0:
            out[-1], kept = char, kept - 1
    return "".join(reversed(out))


def _number(text: str) -> str:
    return _tail(text, 2)


def _phone(text: str) -> str:
    code = _CODES.match(text)
    head = code[0] if code else ""
    return head + _tail(text[len(head) :], 2)


def _card(text: str) -> str:
    return _first(text) + _tail(text[1:], 2)


def _iban(text: str) -> str:
    head = text[:2] if text[:2].isalpha() and text[:2].isascii() else ""
    return head + _tail(text[len(head) :], 2)


def _token(text: str) -> str:
    head = _TOKEN_HEAD.match(text)
    shown = head[0][:MOST_SHOWN] if head else ""
    return f"{shown}***"


def _key(text: str) -> str:
    head = _KEY_HEAD.match(text)
    sorts = [word for word in head[1].split() if word in _KEY_SORTS] if head else []
    return f"-----BEGIN {' '.join([*sorts, 'PRIVATE KEY'])}-----"


_MASKS: Mapping[Mask, Callable[[str], str]] = {
    Mask.EMAIL: _email,
    Mask.IP: _ip,
    Mask.PHONE: _phone,
    Mask.CARD: _card,
    Mask.IBAN: _iban,
    Mask.NUMBER: _number,
    Mask.HEAD: _token,
    Mask.KEY: _key,
    Mask.NOTHING: lambda _: "***",
}
