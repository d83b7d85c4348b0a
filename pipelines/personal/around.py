"""The text around a finding: words that speak for it, marks that speak against it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipelines.personal.kind import Check

# A number is often written in groups, with one of these between two of them: space, dot,
# hyphen, no-break spaces, hyphens and the dash of Unicode.
SEPARATOR = rb"(?:[ .-]|\xc2\xa0|\xe2\x80[\x90\x91\x93\xaf])"
# A number is not a part of something longer.
BEFORE = rb"(?<![0-9A-Za-z_.,+/%#&-])"
AFTER = rb"(?![0-9A-Za-z_]|[-.,/:][0-9])"
_REACH = 64
_WIDE_COLON, _WIDE_SPACE = "\uff1a".encode(), "\u00a0".encode()
_MARKS = b" \t.:#=\"'`(["
_KEPT = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DROPPED = bytes(byte for byte in range(256) if byte not in _KEPT)


def bare(number: bytes) -> bytes:
    """Digits and capitals alone; small letters are made capitals."""
    return number.upper().translate(None, _DROPPED)


def introduced_by(words: Sequence[str], links: Sequence[str] = ()) -> Check:
    """A check that one of a few words stands right before a finding, but for marks.

    Args:
        words: in small letters; letters of ASCII may be capitals in the text.
        links: what may stand between the word and the finding, such as ``no``.
    """
    endings = tuple(word.encode() for word in words)
    between = tuple(link.encode() for link in links)

    def check(text: bytes, start: int, end: int) -> bool:
        del end
        head = text[max(0, start - _REACH) : start]
        if not head.isascii():
            head = head.replace(_WIDE_COLON, b":").replace(_WIDE_SPACE, b" ")
        head = head.rstrip(_MARKS)
        small = head.lower()
        if small.endswith(between):
            link = next(link for link in between if small.endswith(link))
            small = small[: -len(link)].rstrip(_MARKS)
        return small.endswith(endings) and any(
            small.endswith(word) and _begins(head, len(small) - len(word)) for word in endings
        )

    return check


def _begins(text: bytes, at: int) -> bool:
    """Whether a word begins there: behind no letter, or with a capital behind a small one.

    Scripts that are not Latin may write words together with what stands before them.
    """
    before, first = text[at - 1 : at] if at else b"", text[at : at + 1]
    return not (before.isalpha() and first.isascii()) or (before.islower() and first.isupper())


def said_before(words: str) -> Check:
    """A check that one of a few words stands before a finding, at most 24 bytes away.

    No angle bracket stands between, so that a placeholder brings no word nearer than it was.

    Args:
        words: alternatives of a regular expression, in any case.
    """
    pattern = re.compile(
        rb"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z])|(?=[\x80-\xff]))(?i:%s)[^0-9<>@\n]{0,24}\Z"
        % _grouped(words),
        re.DOTALL,
    )

    def check(text: bytes, start: int, end: int) -> bool:
        del end
        return pattern.search(text, max(0, start - _REACH), start) is not None

    return check


def _grouped(words: str) -> bytes:
    return b"(?:%s)" % words.encode()
