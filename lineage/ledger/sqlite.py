"""A ledger store in one SQLite file, for one machine and any number of processes.

WAL, so that readers never wait; ``synchronous=FULL``, so that a commit is on the disk
when it returns. The writing order is one transaction: SQLite's log is synced, then the
commit record counts. A crash before that leaves the last good state, and the next
opener's ordinary recovery drops the rest; there is no recovery code of ours.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy import event, exc

from lineage.errors import Conflict, IntegrityError, NotFound, OutcomeUnknown, Unavailable
from lineage.ledger import schema
from lineage.ledger.merkle import HASH_BYTES, Place
from lineage.ledger.store import Appending, Batch, Row

_PAGE_ROWS = 512
_POLL_S = 0.002
_BUSY_TIMEOUT_S = 30
_TURN_TIMEOUT_S = 120


class SqliteLedgerStore:
    """Opens a ledger file that exists; only `create` makes one.

    Args:
        path: the file; two lock files and SQLite's own lie beside it.

    Raises:
        NotFound: there is no such file.
        IntegrityError: the file is no ledger.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise NotFound(
                f"no ledger at {path.name}",
                "restore it from a backup, or make a new workspace with `shardline init`",
            )
        self._path = path
        self._engine = _engine(path)
        # Polling alone would let the last writer in again before those who wait. Whoever
        # holds the place in front of the door is next, so the last writer queues behind.
        self._next = _lock(path.with_name(path.name + ".next.lock"))
        self._turn = _lock(path.with_name(path.name + ".lock"))
        with _border(path), self._engine.connect() as connection:
            names = set(sa.inspect(connection).get_table_names())
        if not names.issuperset(schema.METADATA.tables):
            self.close()
            raise IntegrityError(f"{path.name} is not a ledger")

    @classmethod
    def create(cls, path: Path) -> SqliteLedgerStore:
        """Makes a new file with empty tables, durable on return.

        Raises:
            Conflict: something is there already; it is left alone.
        """
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            with _border(path):
                _make_tables(unfinished)
            # A crash here leaves only a file with another name, which nobody opens.
            os.link(unfinished, path)
            _sync_directory(path.parent)
        except FileExistsError:
            raise Conflict(f"a ledger lies at {path.name} already") from None
        except OSError as error:
            raise Unavailable(f"cannot make {path.name}: {error.strerror}") from None
        finally:
            unfinished.unlink(missing_ok=True)
        return cls(path)

    @contextmanager
    def appending(self) -> Iterator[Appending]:
        """Waits for the turn to append, at most two minutes."""
        with (
            _taking_turns(self._next, self._turn),
            _border(self._path),
            self._engine.connect() as connection,
        ):
            writing = connection.execution_options(begin="BEGIN IMMEDIATE")
            yield _SqliteAppending(self, writing)

    def size(self) -> int:
        """Rows in the store: the last position and one, or 0."""
        with self._reading() as connection:
            return _size(connection)

    def rows(self, start: int, end: int) -> Iterator[Row]:
        """Rows by position, read in pages, so that no long reader keeps SQLite's log growing."""
        columns = schema.ENTRIES.c
        while start < end:
            stop = min(start + _PAGE_ROWS, end)
            query = (
                sa.select(columns.position, columns.entry_id, columns.leaf, columns.payload)
                .where(columns.position >= start, columns.position < stop)
                .order_by(columns.position)
            )
            with self._reading() as connection:
                page = connection.execute(query).all()
            for position, entry_id, leaf, payload in page:
                yield Row(position, entry_id, leaf, payload)
            start = stop

    def find(self, entry_id: str) -> Row | None:
        """The row of an entry id."""
        query = sa.select(schema.ENTRIES).where(schema.ENTRIES.c.entry_id == entry_id)
        with self._reading() as connection:
            found = connection.execute(query).one_or_none()
        return None if found is None else Row(*found)

    def nodes_at(self, places: Collection[Place]) -> dict[Place, bytes]:
        """Stored nodes of 32 bytes, by (level, index)."""
        with self._reading() as connection:
            return _nodes_at(connection, places)

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """Every stored node as (level, index, hash), by level, then index."""
        query = (
            sa.select(schema.NODES)
            .order_by(schema.NODES.c.level, schema.NODES.c.idx)
            .limit(_PAGE_ROWS)
        )
        last: tuple[int, int] | None = None
        while True:
            paged = query if last is None else query.where(sa.tuple_(*last) < schema.PLACE)
            with self._reading() as connection:
                page = connection.execute(paged).all()
            if not page:
                return
            yield from page
            last = (page[-1][0], page[-1][1])

    def tree_head(self) -> str | None:
        """The newest tree head, or None in a new store."""
        with self._reading() as connection:
            return _tree_head(connection)

    def tree_heads(self) -> Iterator[tuple[int, str]]:
        """Every tree head as (size, note), by size."""
        query = sa.select(schema.TREE_HEADS).order_by(schema.TREE_HEADS.c.size).limit(_PAGE_ROWS)
        last: int | None = None
        while True:
            paged = query if last is None else query.where(schema.TREE_HEADS.c.size > last)
            with self._reading() as connection:
                page = connection.execute(paged).all()
            if not page:
                return
            yield from page
            last = page[-1][0]

    def sequences(self) -> Mapping[str, int]:
        """Every principal's last sequence number."""
        with self._reading() as connection:
            found = connection.execute(sa.select(schema.SEQUENCES)).all()
        return dict(found)

    def close(self) -> None:
        """Closes every connection; the last one folds SQLite's log into the file."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with _border(self._path), self._engine.connect() as connection:
            yield connection

    def _finish(self, connection: sa.Connection) -> None:
        """Makes the open transaction durable."""
        connection.commit()


class _SqliteAppending:
    """One write transaction, begun by its first statement."""

    def __init__(self, store: SqliteLedgerStore, connection: sa.Connection) -> None:
        self._store = store
        self._connection = connection

    def tree_head(self) -> str | None:
        return _tree_head(self._connection)

    def size(self) -> int:
        return _size(self._connection)

    def nodes_at(self, places: Collection[Place]) -> dict[Place, bytes]:
        return _nodes_at(self._connection, places)

    def sequence(self, principal: str) -> int:
        found = self._connection.execute(schema.SEQUENCE, {"name": principal})
        return int(found.scalar_one_or_none() or 0)

    def commit(self, batch: Batch) -> None:
        self._write(batch)
        # A crash before the commit record is on the disk: nothing of the batch is there.
        # A crash after it, before we return: all of it is. The caller looks for its ids.
        try:
            self._store._finish(self._connection)  # noqa: SLF001
        except (exc.DBAPIError, sqlite3.Error):
            raise OutcomeUnknown(
                "the ledger's answer to a commit was lost", "look for the entry id, then decide"
            ) from None

    def _write(self, batch: Batch) -> None:
        size = _size(self._connection)
        places = [row.position for row in batch.rows]
        if places != list(range(size, size + len(places))):
            raise Conflict(f"the ledger has {size} entries; another position was to be written")
        rows = [
            {"position": r.position, "entry_id": r.entry_id, "leaf": r.leaf, "payload": r.payload}
            for r in batch.rows
        ]
        nodes = [
            {"level": level, "idx": index, "hash": hashed}
            for (level, index), hashed in batch.nodes.items()
        ]
        self._insert(schema.ENTRIES, rows)
        self._insert(schema.NODES, nodes)
        self._insert(schema.TREE_HEADS, [{"size": batch.size, "note": batch.tree_head}])
        names = [{"name": name} for name in batch.sequences]
        if names:
            self._connection.execute(schema.FORGET, names)
        self._insert(
            schema.SEQUENCES,
            [{"principal": name, "sequence": last} for name, last in batch.sequences.items()],
        )

    def _insert(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._connection.execute(sa.insert(table), rows)


def _size(connection: sa.Connection) -> int:
    last = connection.execute(schema.SIZE).scalar_one_or_none()
    return 0 if last is None else int(last) + 1


def _nodes_at(connection: sa.Connection, places: Collection[Place]) -> dict[Place, bytes]:
    rows = connection.execute(schema.NODES_AT, {"places": list(places)})
    found = {(level, index): hashed for level, index, hashed in rows}
    for level, index in places:
        if len(found.get((level, index), b"")) != HASH_BYTES:
            raise IntegrityError(f"node {level}/{index} of the ledger is missing or damaged")
    return found


def _tree_head(connection: sa.Connection) -> str | None:
    found = connection.execute(schema.TREE_HEAD).scalar_one_or_none()
    return None if found is None else str(found)


def _make_tables(path: Path) -> None:
    path.unlink(missing_ok=True)  # of a crashed process that had our number
    # Only SQLite's own recipe makes the file complete before its name: the log is folded
    # in when the last connection closes.
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    engine = _engine(path)
    try:
        schema.METADATA.create_all(engine)
    finally:
        engine.dispose()


def _engine(path: Path) -> sa.Engine:
    # mode=rw: SQLite must never make a missing file by itself.
    url = sa.URL.create(
        "sqlite", database=path.resolve().as_uri(), query={"mode": "rw", "uri": "true"}
    )
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S})
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    # The driver would begin transactions at times of its own choice; `_begin` does it.
    connection.isolation_level = None
    # Bytes that are no text any more must reach the verifier, which names their place.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


def _lock(path: Path) -> FileLock:
    return FileLock(path, poll_interval=_POLL_S, fallback_to_soft=False, preserve_lock_file=True)


@contextmanager
def _taking_turns(place: FileLock, turn: FileLock) -> Iterator[None]:
    try:
        with place.acquire(timeout=_TURN_TIMEOUT_S):
            turn.acquire(timeout=_TURN_TIMEOUT_S)
    except Timeout:
        raise Unavailable(
            "other writers held the ledger for two minutes", "see which process holds it"
        ) from None
    except OSError as error:
        raise Unavailable(f"the ledger's lock cannot be taken: {error.strerror}") from None
    try:
        yield
    finally:
        turn.release()


@contextmanager
def _border(path: Path) -> Iterator[None]:
    """Turns the library's errors into ours; nothing of a statement's values is shown."""
    try:
        yield
    except exc.IntegrityError:
        raise Conflict(f"{path.name} holds an entry of this position or id already") from None
    except (exc.OperationalError, sqlite3.OperationalError) as error:
        raise Unavailable(f"{path.name}: {_reason(error)}", "see its disk, then retry") from None
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        raise IntegrityError(f"{path.name} cannot be read: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    return str(cause) or type(error).__name__


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
