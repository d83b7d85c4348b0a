"""Sections of a spec as JSON values, for its digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass


def section_json(value: object) -> object:
    """A record of a section as JSON: records become objects, tuples arrays.

    Raises:
        TypeError: a value that JSON does not hold, such as a float.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: section_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): section_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [section_json(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"a {type(value).__name__} in a spec")
