"""The section ``[licences]``: which licences documents may be under."""

from __future__ import annotations

from dataclasses import dataclass

from lineage.errors import ConfigError
from lineage.fields import Fields
from pipelines.licence import canonical_licence


@dataclass(frozen=True, slots=True)
class LicencesSpec:
    """Which licences are kept.

    Attributes:
        allowed: SPDX licences; when there are any, all others are denied.
        denied: SPDX licences.
        unknown: ``keep`` or ``drop`` documents whose licence nobody can read.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    unknown: str = "keep"


def licences_spec(table: object, where: str) -> LicencesSpec:
    """Reads ``[licences]``.

    Raises:
        ConfigError: an unknown key, a wrong type, or no single licence of SPDX.
    """
    fields = Fields(table, f"{where}, [licences]", LicencesSpec.__slots__)
    allowed, denied = (_licences(fields, key) for key in ("allowed", "denied"))
    if not allowed and not denied:
        fields.refuse("allowed", "neither allowed nor denied licences", "name some")
    return LicencesSpec(allowed, denied, fields.choice("unknown", ("keep", "drop"), "keep"))


def _licences(fields: Fields, key: str) -> tuple[str, ...]:
    found = []
    for text in fields.texts(key):
        try:
            licence = canonical_licence(text)
        except ConfigError as error:
            fields.refuse(key, error.message, error.hint)
        if " " in licence:
            fields.refuse(key, f"{text!r} is more than one licence", "name each by itself")
        found.append(licence)
    return tuple(found)
