"""A kind of personal data or secret: where it may stand, how it is written, what it must pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from pipelines.signals.signal import Signal, Unit


class Trigger(IntEnum):
    """Shapes of bytes that a scan finds by itself."""

    AT = 0  # an at sign; begins where the local part before it does
    QUAD = 1  # four numbers of up to three digits with dots between
    HEXTET = 2  # 2000 to 3fff in hex digits before a colon; begins there
    CAPITALS_2 = 3  # two capitals and a digit
    CAPITALS_6 = 4  # six capitals and a digit
    SLASHED = 5  # ??.???.???/????-0, as a CNPJ is written


@dataclass(frozen=True, slots=True)
class Literal:
    """These very bytes.

    Attributes:
        text: with two neighbours that are no digit, at sign, colon or line feed.
        assigned: only where a colon or an equals sign follows soon, as after a key's name.
    """

    text: bytes
    assigned: bool = False


@dataclass(frozen=True, slots=True)
class Digits:
    """A stretch of at least so many digits, with few marks and no letters between."""

    least: int


Anchor = Trigger | Literal | Digits

# Whether text[start:end] is one; the text around it is there to be looked at.
Check = Callable[[bytes, int, int], bool]


def always(text: bytes, start: int, end: int) -> bool:
    """The check of what needs no other evidence than its form."""
    del text, start, end
    return True


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a kind is written.

    Attributes:
        anchors: what a scan looks for; nothing else is ever matched.
        pattern: regular expression of Python over bytes, without unbounded backtracking. What
            is found is its group `found`, or all of it.
        check: what the found bytes must pass.
        reach: None where the match begins exactly at the anchor; else it is looked for from
            so many bytes before the anchor to so many after its end.
        needs: bytes that stand in every match, so that where they are not nothing is tried.
    """

    anchors: tuple[Anchor, ...]
    pattern: bytes
    check: Check = always
    reach: tuple[int, int] | None = None
    needs: bytes = b""


@dataclass(frozen=True, slots=True)
class OwnForm:
    """The form of a user's own kind.

    Attributes:
        anchor: a `Literal` or `Digits`.
        pattern: regular expression of RE2, which takes linear time whatever it says.
        check: of the found bytes.
    """

    anchor: Literal | Digits
    pattern: str
    check: Check = always


class Mask(StrEnum):
    """How a finding is shown without being told."""

    EMAIL = "email"
    IP = "ip"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"
    NUMBER = "number"
    HEAD = "head"
    KEY = "key"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind, built in or a user's own.

    Attributes:
        name: stands in specs, decisions and signals.
        what: a noun for reports, in the plural.
        forms: any of them makes a finding.
        mask: how a finding is shown.
    """

    name: str
    what: str
    forms: tuple[Form | OwnForm, ...]
    mask: Mask

    @property
    def placeholder(self) -> str:
        """What stands in the text instead, such as ``<EMAIL>``."""
        return f"<{_PLACEHOLDERS.get(self.name, self.name.upper())}>"

    @property
    def signal(self) -> Signal:
        """How many were found in a document."""
        return Signal(f"personal_{self.name}", Unit.COUNT, f"{self.what} found")


_PLACEHOLDERS = {"ip": "IP_ADDRESS"}
