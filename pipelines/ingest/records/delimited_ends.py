"""Where the rows of a CSV file end (RFC 4180), in units of one byte or of two or four."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# In front of a field, in one without quotes, inside quotes, behind a quote inside quotes.
_FRONT, _PLAIN, _QUOTED, _QUOTE = 0, 1, 2, 3
_MAX_ENDS = 1024


class RowEnds:
    """A scan over the blocks of a stream.

    A quote counts at the start of a field alone; inside another field it is a character.

    Args:
        delimiter: one character of ASCII.
        unit: type of a unit as numpy writes it: ``<u2`` for UTF-16 in little endian.
    """

    def __init__(self, delimiter: str, unit: str = "u1") -> None:
        self._delimiter = ord(delimiter)
        self._unit = np.dtype(unit)
        self._state = np.zeros(1, np.int64)
        self._ends = np.zeros(_MAX_ENDS, np.int64)

    @property
    def quoted(self) -> bool:
        """Whether the bytes so far end inside quotes."""
        return bool(self._state[0] == _QUOTED)

    def of(self, block: bytes, start: int = 0) -> list[int]:
        """Places behind each row that ends in whole units, counted from a start."""
        units = np.frombuffer(block, self._unit)
        units = units.astype(self._unit.newbyteorder("="), copy=False)
        ends: list[int] = []
        found = _MAX_ENDS
        while found == _MAX_ENDS:
            at = ends[-1] if ends else 0
            found = _ends(units, at, self._delimiter, self._state, self._ends)
            ends += self._ends[:found].tolist()
        return [start + end * self._unit.itemsize for end in ends]


@numba.njit(cache=True, nogil=True)
def _ends(
    units: NDArray[Any], at: int, delimiter: int, state: NDArray[Any], ends: NDArray[Any]
) -> int:
    found, here = 0, state[0]
    while at < len(units) and found < len(ends):
        unit = units[at]
        at += 1
        if here == _QUOTED:
            if unit == 34:
                here = _QUOTE
        elif unit == 34 and here != _PLAIN:
            here = _QUOTED
        elif unit == 10:
            here = _FRONT
            ends[found] = at
            found += 1
        else:
            here = _FRONT if unit == delimiter else _PLAIN
    state[0] = here
    return found
