"""Books: what went into each stage, what came out of it, and what became of the rest.

``in = kept + dropped + quarantined`` in records and in bytes, at every stage, and what a
stage kept is what the next one took in. Bytes are those of the source, carried through
all stages, so that they add up to the end. Tokens come to be in the stage ``tokenize``
and are balanced from there on. A version whose books do not balance is never published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lineage.errors import IntegrityError

STAGES = ("ingest", "clean", "dedup", "tokenize", "shard")
_FIRST_WITH_TOKENS = "tokenize"
_HINT = "build again into a fresh workspace; if it stays, this is a defect of Shardline"


@dataclass(frozen=True, slots=True)
class Count:
    """So many records, bytes of the source and tokens; none is below zero."""

    records: int = 0
    bytes: int = 0
    tokens: int = 0

    def __post_init__(self) -> None:
        if min(self.records, self.bytes, self.tokens) < 0:
            raise IntegrityError(f"a count below zero: {self}", _HINT)

    def __add__(self, other: Count) -> Count:
        return Count(
            self.records + other.records, self.bytes + other.bytes, self.tokens + other.tokens
        )

    def to_json(self) -> dict[str, int]:
        """The count as plain integers."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def parse(cls, value: object) -> Count:
        """Reads `to_json` back; integers may stand as decimal strings.

        Raises:
            IntegrityError: another shape, or not integers.
        """
        names = {item.name for item in fields(cls)}
        members = _members(value, names, "a count of the books")
        return cls(**{name: _integer(member) for name, member in members.items()})


@dataclass(frozen=True, slots=True)
class StageBook:
    """The book of one stage.

    Attributes:
        stage: one of `STAGES`.
        in_: what went in.
        kept: what went on to the next stage.
        dropped: by rule; rules that dropped nothing do not stand.
        quarantined: by reason, likewise.
        fill_tokens: tokens of fill beside the kept ones; only of the stage ``shard``.
    """

    stage: str
    in_: Count
    kept: Count
    dropped: Mapping[str, Count] = field(default_factory=dict)
    quarantined: Mapping[str, Count] = field(default_factory=dict)
    fill_tokens: int = 0

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise IntegrityError(f"the books have no stage {self.stage!r}", _HINT)
        if self.fill_tokens < 0:
            raise IntegrityError(f"a count below zero: {self.fill_tokens} tokens of fill", _HINT)
        # Equal facts give equal books, however the partitions were cut.
        object.__setattr__(self, "dropped", _tidy(self.dropped))
        object.__setattr__(self, "quarantined", _tidy(self.quarantined))

    def add(self, other: StageBook) -> StageBook:
        """The book of both parts of one stage."""
        return StageBook(
            self.stage,
            self.in_ + other.in_,
            self.kept + other.kept,
            _merged(self.dropped, other.dropped),
            _merged(self.quarantined, other.quarantined),
            self.fill_tokens + other.fill_tokens,
        )

    def balance(self) -> None:
        """Checks that what went in is what came out.

        Raises:
            IntegrityError: names the stage, the unit and the difference.
        """
        out = self.kept
        for count in (*self.dropped.values(), *self.quarantined.values()):
            out += count
        made = self.kept.tokens if self.stage == _FIRST_WITH_TOKENS else 0
        expected = self.in_ + Count(tokens=made)
        _compare(f"stage {self.stage}: in", expected, "kept + dropped + quarantined", out)

    def to_json(self) -> dict[str, Any]:
        """The book as plain mappings, strings and integers."""
        return {
            "stage": self.stage,
            "in": self.in_.to_json(),
            "kept": self.kept.to_json(),
            "dropped": {rule: count.to_json() for rule, count in self.dropped.items()},
            "quarantined": {why: count.to_json() for why, count in self.quarantined.items()},
            "fill_tokens": self.fill_tokens,
        }

    @classmethod
    def parse(cls, value: object) -> StageBook:
        """Reads `to_json` back.

        Raises:
            IntegrityError: another shape.
        """
        names = {"stage", "in", "kept", "dropped", "quarantined", "fill_tokens"}
        book = _members(value, names, "a book")
        return cls(
            str(book["stage"]),
            Count.parse(book["in"]),
            Count.parse(book["kept"]),
            _counts_from(book["dropped"]),
            _counts_from(book["quarantined"]),
            _integer(book["fill_tokens"]),
        )


@dataclass(frozen=True, slots=True)
class Books:
    """The books of some stages, in the order of `STAGES`."""

    stages: tuple[StageBook, ...] = ()

    def __post_init__(self) -> None:
        names = [book.stage for book in self.stages]
        if names != [stage for stage in STAGES if stage in names]:
            raise IntegrityError(f"the books stand out of order: {', '.join(names)}", _HINT)

    def __iter__(self) -> Iterator[StageBook]:
        return iter(self.stages)

    def stage(self, name: str) -> StageBook:
        """The book of one stage.

        Raises:
            IntegrityError: there is none.
        """
        for book in self.stages:
            if book.stage == name:
                return book
        raise IntegrityError(f"the books have no stage {name!r}", _HINT)

    def add(self, other: Books) -> Books:
        """The books of both: parts of a stage are summed, other stages put in order."""
        merged = {book.stage: book for book in self.stages}
        for book in other.stages:
            merged[book.stage] = merged[book.stage].add(book) if book.stage in merged else book
        return Books(tuple(merged[stage] for stage in STAGES if stage in merged))

    @classmethod
    def total(cls, parts: Iterable[Books]) -> Books:
        """The sum of many books, in any order."""
        books = cls()
        for part in parts:
            books = books.add(part)
        return books

    def balance(self) -> None:
        """Checks every stage, and that each took in what the one before it kept.

        Raises:
            IntegrityError: names the stage, the unit and the difference, or a stage that
                is missing between two others.
        """
        for book in self.stages:
            book.balance()
        for before, after in zip(self.stages, self.stages[1:], strict=False):
            if STAGES.index(after.stage) != STAGES.index(before.stage) + 1:
                message = f"no book of a stage between {before.stage} and {after.stage}"
                raise IntegrityError(message, _HINT)
            _compare(f"stage {before.stage}: kept", before.kept, f"{after.stage}: in", after.in_)

    def to_json(self) -> list[dict[str, Any]]:
        """The books as plain lists, mappings, strings and integers."""
        return [book.to_json() for book in self.stages]

    @classmethod
    def parse(cls, value: object) -> Books:
        """Reads `to_json` back; integers may stand as decimal strings.

        Raises:
            IntegrityError: another shape, or an unknown stage.
        """
        if not isinstance(value, list):
            raise IntegrityError("the books are not a list")
        return cls(tuple(StageBook.parse(item) for item in value))


def book_ingest(records: pa.Table, quarantine: pa.Table) -> StageBook:
    """The book of reading: RECORDS and QUARANTINE of a partition, or of a chunk of it."""
    read = Count(records.num_rows, _total(records["num_bytes"]))
    unread = _by_word(quarantine, "reason")
    return StageBook("ingest", sum(unread.values(), read), read, quarantined=unread)


def book_clean(documents: pa.Table) -> StageBook:
    """The book of cleaning: DOCUMENTS of a partition, or of a chunk of it."""
    everything = Count(documents.num_rows, _total(documents["num_bytes"]))
    kept = documents.filter(pc.is_null(documents["rule"]))
    dropped = _by_word(documents.filter(pc.is_valid(documents["rule"])), "rule")
    return StageBook("clean", everything, Count(kept.num_rows, _total(kept["num_bytes"])), dropped)


def _by_word(table: pa.Table, column: str) -> dict[str, Count]:
    grouped = table.group_by(column).aggregate([([], "count_all"), ("num_bytes", "sum")])
    rows = grouped.to_pylist()
    return {row[column]: Count(row["count_all"], row["num_bytes_sum"]) for row in rows}


def _total(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


def _tidy(counts: Mapping[str, Count]) -> dict[str, Count]:
    return {name: counts[name] for name in sorted(counts) if counts[name] != Count()}


def _merged(one: Mapping[str, Count], two: Mapping[str, Count]) -> dict[str, Count]:
    names = {*one, *two}
    return {name: one.get(name, Count()) + two.get(name, Count()) for name in names}


def _compare(left_name: str, left: Count, right_name: str, right: Count) -> None:
    if left == right:
        return
    differences = [
        f"{getattr(left, item.name) - getattr(right, item.name):+d} {item.name}"
        for item in fields(Count)
        if getattr(left, item.name) != getattr(right, item.name)
    ]
    message = f"the books do not balance: {left_name} - ({right_name}) = {', '.join(differences)}"
    raise IntegrityError(message, _HINT)


def _counts_from(value: object) -> dict[str, Count]:
    if not isinstance(value, Mapping):
        raise IntegrityError("counts by name are not a mapping")
    return {str(name): Count.parse(count) for name, count in value.items()}


def _members(value: object, names: set[str], what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or set(value) != names:
        raise IntegrityError(f"{what} has other members than {', '.join(sorted(names))}")
    return value


def _integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    raise IntegrityError("a number in the books is not an integer")
