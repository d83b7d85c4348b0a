"""The scanner: places in texts where personal data or a secret may stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipelines.personal.kind import Literal, Trigger
from pipelines.personal.registry import usable_pairs
from pipelines.personal.scan import (
    AT_SIGN,
    BUCKET,
    CAPITALS_2,
    CAPITALS_6,
    COLON,
    COLUMNS,
    DIGIT,
    QUAD,
    SLASHED,
    scan,
)

_NEVER = 1 << 40
# From frequent to rare, as they are in many languages: a literal is found by its rarest pair.
# Capitals begin many words, so that they stand in the middle.
_FREQUENT = b" etaoinsrhldcumfpgw-.,yb/=vkxjqz_"
_CAPITAL = 12


@dataclass(frozen=True, slots=True)
class Scanner:
    """What is looked for, as tables of the kernel.

    Attributes:
        table: 65,536 bytes: what each pair of bytes may begin.
        triggers: whether each trigger is wanted.
        least: digits of the shortest stretch that is wanted.
        buckets: where each bucket's literals begin; one more than buckets.
        literals: in the order of the buckets, a row each, filled up with zeros.
        shapes: of each literal its length, the place of its pair, its number, whether it is
            assigned to.
    """

    table: NDArray[np.uint8]
    triggers: NDArray[np.bool_]
    least: int
    buckets: NDArray[np.int64]
    literals: NDArray[np.uint8]
    shapes: NDArray[np.int64]

    @classmethod
    def of(cls, anchors: Sequence[Trigger | Literal], least: int | None) -> Scanner:
        """Makes the tables; the code of a literal is `FIRST_LITERAL` and its number in anchors."""
        triggers = np.zeros(len(Trigger), np.bool_)
        triggers[[anchor for anchor in anchors if isinstance(anchor, Trigger)]] = True
        literals = [anchor for anchor in anchors if isinstance(anchor, Literal)]
        table = _table(triggers, least)
        by_pair: dict[bytes, list[tuple[Literal, int, int]]] = {}
        for number, literal in enumerate(literals):
            at = max(usable_pairs(literal.text), key=lambda at: _rarity(literal.text, at))
            by_pair.setdefault(literal.text[at - 1 : at + 1], []).append((literal, at, number))
        entries = [entry for pair in by_pair for entry in by_pair[pair]]
        for bucket, pair in enumerate(by_pair):
            table[pair[0], pair[1]] = BUCKET + bucket
        width = max((len(entry[0].text) for entry in entries), default=1)
        texts = b"".join(entry[0].text.ljust(width, b"\0") for entry in entries)
        shapes = [(len(entry[0].text), *entry[1:], entry[0].assigned) for entry in entries]
        return cls(
            table.reshape(-1),
            triggers,
            _NEVER if least is None else least,
            np.cumsum([0, *map(len, by_pair.values())], dtype=np.int64),
            np.frombuffer(texts, np.uint8).reshape(-1, width),
            np.array(shapes, np.int64).reshape(-1, 4),
        )

    def hits(self, data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Hits in texts, by row, then by the place at which they are seen.

        Args:
            data, starts: of `text_bytes`.

        Returns:
            Shape (n, 5): row, start and end in the row's bytes, code, number of digits.
        """
        # Arrow's buffers may be written to or not: as one type, the kernel is compiled once.
        data, starts = data.view(), starts.view()
        data.flags.writeable = starts.flags.writeable = False
        room = 1024 + (int(starts[-1]) - int(starts[0])) // 64
        while True:
            hits = np.empty((room, COLUMNS), np.int64)
            count = scan(
                data,
                starts,
                self.table,
                self.triggers,
                self.least,
                self.buckets,
                self.literals,
                self.shapes,
                hits,
            )
            if count <= room:
                return hits[:count]
            room = count


def _rarity(literal: bytes, at: int) -> int:
    pair = literal[at - 1 : at + 1]
    # Rulers are made of one mark.
    return 0 if pair[0] == pair[1] else sum(map(_rank, pair))


def _rank(byte: int) -> int:
    if 65 <= byte <= 90:
        return _CAPITAL
    rank = _FREQUENT.find(byte)
    return len(_FREQUENT) if rank < 0 else rank


def _table(triggers: NDArray[np.bool_], least: int | None) -> NDArray[np.uint8]:
    table = np.zeros((256, 256), np.uint8)
    digits, marks = np.zeros(256, np.bool_), np.ones(256, np.bool_)
    digits[list(b"0123456789")] = True
    # Before an at sign: anything but white space and marks that begin something.
    marks[:0x21], marks[list(b"\"'(,;<>@[]`{}\x7f")] = False, False
    if least is not None or triggers[[QUAD, CAPITALS_2, CAPITALS_6, SLASHED]].any():
        table[np.ix_(~digits, digits)] = DIGIT
    if triggers[Trigger.AT]:
        table[marks, ord("@")] = AT_SIGN
    if triggers[Trigger.HEXTET]:
        table[list(b"0123456789ABCDEFabcdef"), ord(":")] = COLON
    return table
