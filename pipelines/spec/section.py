"""Sections of a spec as JSON values, for its digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import MappingProxyType
from typing import Any

# Metadata of a field that its section got after it was frozen: it stands only where it is
# used, so that it renames no spec.
LATER = MappingProxyType({"later": True})


def section_json(value: object) -> object:
    """A record of a section as JSON: records become objects, tuples arrays.

    Raises:
        TypeError: a value that JSON does not hold, such as a float.
    """
    if is_dataclass(value) and not isinstance(value, type):
        stand = [item for item in fields(value) if _stands(item, getattr(value, item.name))]
        return {item.name: section_json(getattr(value, item.name)) for item in stand}
    if isinstance(value, Mapping):
        return {str(key): section_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [section_json(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"a {type(value).__name__} in a spec")


def _stands(item: Field[Any], value: object) -> bool:
    return "later" not in item.metadata or value != item.default
