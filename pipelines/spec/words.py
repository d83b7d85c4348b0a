"""The section ``[[words]]``: lists of words, and how often they may stand in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lineage.fields import Fields

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class WordsSpec:
    """One list of words; without a limit it is only counted.

    Attributes:
        name: stands in the names of its signals and rules.
        file: path below the workspace's root, one word or phrase a line.
        max: how many times words of the list may stand in a text, or None.
        max_share: share of a text's words that may be of the list, in millionths, or None.
    """

    name: str
    file: str
    max: int | None = None
    max_share: int | None = None


def words_specs(tables: object, where: str) -> tuple[WordsSpec, ...]:
    """Reads all tables ``[[words]]``, in the order of the file.

    Raises:
        ConfigError: an unknown key, a wrong type or value, or two of one name.
    """
    spec = Fields({"words": tables}, where, ("words",))
    if not isinstance(tables, list):
        spec.refuse("words", "a list of tables [[words]] was expected")
    found = tuple(_words(table, f"{where}, words {i}") for i, table in enumerate(tables, 1))
    names = [item.name for item in found]
    for name in names:
        # The signals of one name must not be those of another: bad_share is bad's share.
        if names.count(name) > 1 or f"{name}_share" in names:
            spec.refuse("words", f"the name {name!r} stands twice, or with _share behind it")
    return found


def _words(table: object, where: str) -> WordsSpec:
    fields = Fields(table, where, WordsSpec.__slots__)
    name = fields.text("name")
    if not _NAME.match(name):
        hint = "names are lower-case letters, digits and underscores, 40 at most"
        fields.refuse("name", f"{name!r} is no name of a list", hint)
    return WordsSpec(
        name,
        fields.text("file"),
        fields.integer("max", 0, _MOST) if "max" in fields else None,
        fields.millionths("max_share", 0, 1) if "max_share" in fields else None,
    )
