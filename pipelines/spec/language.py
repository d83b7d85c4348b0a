"""The section ``[language]``: which languages are kept, and how sure one must be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lineage.fields import Fields

_CODE = re.compile(r"[a-z]{2,3}\Z")


@dataclass(frozen=True, slots=True)
class LanguageSpec:
    """What languages documents may be in; the section alone only has them detected.

    Attributes:
        allowed: codes such as ``en``; none for all.
        min_share: of the text that is in its language, in millionths.
    """

    allowed: tuple[str, ...] = ()
    min_share: int = 0


def language_spec(table: object, where: str) -> LanguageSpec:
    """Reads ``[language]``.

    Raises:
        ConfigError: an unknown key, a wrong type, or no code of a language.
    """
    fields = Fields(table, f"{where}, [language]", LanguageSpec.__slots__)
    allowed = fields.texts("allowed")
    for code in allowed:
        if not _CODE.match(code):
            fields.refuse("allowed", f"{code!r} is no code of a language", "such as en, pt or zh")
    return LanguageSpec(allowed, fields.millionths("min_share", 0, 1, 0))
