"""The section ``[repair]``: damage that is undone before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass

from lineage.fields import Fields


@dataclass(frozen=True, slots=True)
class RepairSpec:
    """Which kinds of damage are repaired.

    Attributes:
        mojibake: UTF-8 that was read as another encoding.
        controls: control characters that no text needs.
        line_endings: line ends of other systems become line feeds.
    """

    mojibake: bool = False
    controls: bool = False
    line_endings: bool = False


NO_REPAIR = RepairSpec()


def repair_spec(table: object, where: str) -> RepairSpec:
    """Reads ``repair = true`` for all kinds, or a table that names some.

    Raises:
        ConfigError: an unknown key, or another type.
    """
    if isinstance(table, bool):
        return RepairSpec(table, table, table)
    fields = Fields(table, f"{where}, [repair]", RepairSpec.__slots__)
    return RepairSpec(**{name: fields.flag(name, default=False) for name in RepairSpec.__slots__})
