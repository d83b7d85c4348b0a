"""The fields of one TOML table: typed, in range, and no unknown key.

A misspelt key that is silently ignored changes what is done, so every key that nobody
asked for is an error that names its nearest known neighbour.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from lineage.errors import ConfigError, NotFound, Unavailable


def read_fields(path: Path, known: Sequence[str]) -> Fields:
    """The top table of a TOML file.

    Args:
        known: every key that it may hold.

    Raises:
        NotFound: there is no such file.
        ConfigError: not TOML in UTF-8, or a key that is not known.
        Unavailable: the file cannot be read.
    """
    where = path.name
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such file", "write it first") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: not UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not TOML: {error}") from None
    except OSError as error:
        raise Unavailable(f"{where}: cannot be read: {error.strerror}") from None
    return Fields(table, where, known)


class Fields:
    """Reads one table of a file.

    Args:
        table: the table as a TOML parser gives it.
        where: names file and table in messages.
        known: every key that the table may hold.

    Raises:
        ConfigError: not a table, or a key that is not known.
    """

    def __init__(self, table: object, where: str, known: Sequence[str]) -> None:
        if not isinstance(table, Mapping):
            raise ConfigError(f"{where}: a table was expected, not {_type_name(table)}")
        self._table, self.where = table, where
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)
                hint = f"the nearest known key is {near[0]!r}" if near else ""
                raise ConfigError(f"{where}: unknown key {key!r}", hint)

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def value(self, key: str) -> object:
        """Any value, to be read as a table or a list.

        Raises:
            ConfigError: the key is missing.
        """
        if key not in self._table:
            raise ConfigError(f"{self.where}: {key!r} is missing")
        value: object = self._table[key]
        return value

    def table(self, key: str, known: Sequence[str]) -> Fields:
        """A table below this one; an absent one reads as empty.

        Raises:
            ConfigError: another type, or a key that is not known.
        """
        return Fields(self._table.get(key, {}), f"{self.where}, [{key}]", known)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; an absent one reads as empty.

        Raises:
            ConfigError: another type.
        """
        values = self._table.get(key, [])
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            self.refuse(key, "a list of strings was expected")
        return tuple(values)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not empty.

        Raises:
            ConfigError: missing without a default, another type, or empty.
        """
        if default is not None and key not in self._table:
            return default
        value = self.value(key)
        if not isinstance(value, str):
            self.refuse(key, f"a string was expected, not {_type_name(value)}")
        if not value or "\0" in value:
            self.refuse(key, "the string is empty or holds a NUL character")
        return value

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """An integer between two bounds, both included.

        Raises:
            ConfigError: missing without a default, another type, or out of range.
        """
        if default is not None and key not in self._table:
            return default
        value = self.value(key)
        # In Python a boolean is an integer; in a spec it is a slip.
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(key, f"an integer was expected, not {_type_name(value)}")
        if not low <= value <= high:
            self.refuse(key, f"{value} is not between {low} and {high}")
        return value

    def millionths(self, key: str, low: float, high: float, default: int | None = None) -> int:
        """A number such as 0.35 as whole millionths, exactly as it is written.

        Args:
            low, high: bounds of the number, both included.
            default: in millionths.

        Raises:
            ConfigError: missing without a default, no number, out of range, or finer
                than a millionth.
        """
        if default is not None and key not in self._table:
            return default
        value = self.value(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.refuse(key, f"a number was expected, not {_type_name(value)}")
        if not low <= value <= high:
            self.refuse(key, f"{value} is not between {low} and {high}")
        millionths = Decimal(repr(value)) * 1_000_000
        if millionths != int(millionths):
            self.refuse(key, f"{value} is finer than a millionth")
        return int(millionths)

    def flag(self, key: str, default: bool) -> bool:
        """A boolean.

        Raises:
            ConfigError: another type.
        """
        value = self._table.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, f"true or false was expected, not {_type_name(value)}")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of a few strings.

        Raises:
            ConfigError: missing without a default, another type, or another string.
        """
        value = self.text(key, default)
        if value not in choices:
            self.refuse(key, f"{value!r} is none of {', '.join(choices)}")
        return value

    def refuse(self, key: str, reason: str, hint: str = "") -> NoReturn:
        """Refuses the value of a key.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{self.where}: {key}: {reason}", hint)


def _type_name(value: object) -> str:
    return type(value).__name__
