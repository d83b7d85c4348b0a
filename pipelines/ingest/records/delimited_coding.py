"""How the characters of a file lie in its bytes, so that line ends can be found in them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

LONGEST_MARK = 4
# UTF-32 before UTF-16: its little-endian mark starts with the other's.
_WIDE = (
    ("utf-32-le", "<u4", codecs.BOM_UTF32_LE),
    ("utf-32-be", ">u4", codecs.BOM_UTF32_BE),
    ("utf-16-le", "<u2", codecs.BOM_UTF16_LE),
    ("utf-16-be", ">u2", codecs.BOM_UTF16_BE),
)


@dataclass(slots=True)
class Coding:
    """How the characters of a file lie in its bytes.

    Attributes:
        name: of the encoding; None for one that the rows must tell.
        unit: as numpy writes it.
        mark: a byte order mark at the start.
    """

    name: str | None
    unit: str = "u1"
    mark: bytes = b""

    @property
    def width(self) -> int:
        """Bytes of a unit."""
        return int(self.unit[-1])

    @classmethod
    def of(cls, start: bytes, declared: str) -> Coding:
        """The coding of a file.

        Args:
            start: its first bytes, four where it has so many.
            declared: ``utf-8`` for nothing else, ``detect``, or the name of an encoding.
        """
        if start.startswith(codecs.BOM_UTF8):
            return cls("utf-8", mark=codecs.BOM_UTF8)
        if declared in {"utf-8", "utf-8-sig"}:
            return cls("utf-8")
        for name, unit, mark in _WIDE:
            if start.startswith(mark):
                return cls(name, unit, mark)
        for name, unit, _ in _WIDE:
            if declared in (name, name.removesuffix("-le")):
                return cls(name, unit)
        return cls(None if declared == "detect" else declared)
