"""Reads TOML strictly: every key is known, every value has its type and range."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lineage.errors import ConfigError, NotFound


def read_toml(path: Path) -> Settings:
    """The top table of a TOML file.

    Raises:
        NotFound: there is no such file.
        ConfigError: it is no UTF-8 TOML.
    """
    try:
        return Settings(tomllib.loads(path.read_text("utf-8")), str(path))
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not readable as TOML: {error}") from None


class Settings:
    """One TOML table. Each key is taken once; `finish` refuses what was not taken.

    Args:
        values: the parsed table.
        where: file and table, for messages.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = dict(values)
        self._taken: list[str] = []
        self.where = where

    def text(self, key: str, default: str | None = None) -> str:
        """A string; required when no default is given."""
        return str(self._typed(key, str, "a string", default))

    def optional_text(self, key: str) -> str | None:
        """A string, or None when the key is absent."""
        self._taken.append(key)
        return self.text(key) if key in self._values else None

    def integer(
        self, key: str, default: int | None = None, *, low: int = 0, high: int = 2**63 - 1
    ) -> int:
        """An integer from low to high, both included."""
        value = self._typed(key, int, "a whole number", default)
        if isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"{key} = {value!r}: expected a whole number from {low} to {high}")
        return int(value)

    def texts(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        """A list of strings."""
        value = self._typed(key, list, "a list of strings", list(default))
        if not all(isinstance(item, str) for item in value):
            raise self.error(f"{key}: expected a list of strings")
        return tuple(value)

    def table(self, key: str, *, required: bool = False) -> Settings:
        """A table; an absent one reads as empty unless it is required."""
        value = self._typed(key, dict, "a table", None if required else {})
        return Settings(value, f"{self.where} [{key}]")

    def tables(self, key: str) -> list[Settings]:
        """An array of tables."""
        value = self._typed(key, list, "an array of tables", [])
        if not all(isinstance(item, dict) for item in value):
            raise self.error(f"{key}: expected an array of tables, written [[{key}]]")
        return [Settings(item, f"{self.where} [[{key}]] {n}") for n, item in enumerate(value, 1)]

    def keys(self) -> tuple[str, ...]:
        """The keys that stand in the table."""
        return tuple(self._values)

    def finish(self) -> None:
        """Refuses every key that nobody took.

        Raises:
            ConfigError: naming the key and the nearest known one.
        """
        for key in self._values:
            if key not in self._taken:
                near = difflib.get_close_matches(key, self._taken, 1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(self._taken)}"
                raise self.error(f"unknown key {key!r}", hint)

    def error(self, message: str, hint: str = "") -> ConfigError:
        """A ConfigError that says where."""
        return ConfigError(f"{self.where}: {message}", hint)

    def _typed(self, key: str, kind: type, what: str, default: Any) -> Any:
        self._taken.append(key)
        if key not in self._values:
            if default is None:
                raise self.error(f"{key} is missing", f"give {what}")
            return default
        value = self._values[key]
        if not isinstance(value, kind):
            raise self.error(f"{key}: expected {what}, found {type(value).__name__}")
        return value
