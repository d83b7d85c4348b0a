"""The section ``[[scores]]``: classifiers of the user's own, and what they must say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lineage.fields import Fields

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class ScoreSpec:
    """One classifier; without a limit it is only asked.

    Attributes:
        name: stands in the names of its signal and rules.
        model: path of a fastText file below the workspace's root.
        label: whose probability is the score, as it stands in the model.
        min, max: bounds of the score in millionths, or None.
    """

    name: str
    model: str
    label: str
    min: int | None = None
    max: int | None = None


def score_specs(tables: object, where: str) -> tuple[ScoreSpec, ...]:
    """Reads all tables ``[[scores]]``, in the order of the file.

    Raises:
        ConfigError: an unknown key, a wrong type or value, or two of one name.
    """
    spec = Fields({"scores": tables}, where, ("scores",))
    if not isinstance(tables, list):
        spec.refuse("scores", "a list of tables [[scores]] was expected")
    found = tuple(_score(table, f"{where}, scores {i}") for i, table in enumerate(tables, 1))
    names = [item.name for item in found]
    for name in names:
        if names.count(name) > 1:
            spec.refuse("scores", f"the name {name!r} stands twice", "give one another name")
    return found


def _score(table: object, where: str) -> ScoreSpec:
    fields = Fields(table, where, ScoreSpec.__slots__)
    name = fields.text("name")
    if not _NAME.match(name):
        hint = "names are lower-case letters, digits and underscores, 40 at most"
        fields.refuse("name", f"{name!r} is no name of a score", hint)
    low, high = (fields.millionths(key, 0, 1) if key in fields else None for key in ("min", "max"))
    return ScoreSpec(name, fields.text("model"), fields.text("label"), low, high)
