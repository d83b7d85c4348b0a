"""The key table: every wrapped key, beside the ledger (SQLite).

Rows are only added; the ledger commits the table's size and root at each change, so
rows behind the last committed size come from a publish that was interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sql

from lineage.digest import Digest, frame
from lineage.errors import Conflict, IntegrityError, NotFound, Unavailable
from lineage.keys.wrapping import KeyUse
from lineage.ledger.entry import Entry
from lineage.ledger.merkle import leaf_hash, root_of

SYSTEM_ZONE = "system"
_METADATA = sql.MetaData()
_KEYS = sql.Table(
    "keys",
    _METADATA,
    sql.Column("ordinal", sql.Integer, primary_key=True),
    sql.Column("key_id", sql.Text, nullable=False, unique=True),
    sql.Column("object_id", sql.LargeBinary, nullable=False, unique=True),
    sql.Column("dataset", sql.Text, nullable=False),
    sql.Column("zone", sql.Text, nullable=False),
    sql.Column("wrapping_key_id", sql.Text, nullable=False),
    sql.Column("wrapped", sql.LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """One row: a wrapped key and what it is for."""

    use: KeyUse
    wrapping_key_id: str
    wrapped: bytes

    def leaf(self) -> bytes:
        """RFC 6962 leaf data of the row (frozen, docs/formats.md section 4)."""
        return frame(
            b"shardline/key-row/v1",
            self.use.key_id.encode(),
            self.use.object_id,
            self.use.dataset.encode(),
            self.use.zone.encode(),
            self.wrapping_key_id.encode(),
            self.wrapped,
        )


@dataclass(frozen=True, slots=True)
class KeyTableHead:
    """Size and RFC 6962 root of the table's first rows."""

    size: int
    root: Digest


def committed_head(entries: Iterable[Entry]) -> KeyTableHead:
    """The newest size and root of the key table that the ledger commits.

    Raises:
        IntegrityError: no entry commits one.
    """
    found: KeyTableHead | None = None
    for entry in entries:
        head = entry.body.get("key_table")
        if head is not None:
            found = KeyTableHead(int(head["size"]), Digest.parse(head["root"]))
    if found is None:
        raise IntegrityError("no ledger entry commits a key table")
    return found


class KeyTable:
    """The workspace's wrapped keys. One writer at a time, which holds the publish lock.

    Every method may raise Unavailable (the disk refuses) or IntegrityError (no key table).
    """

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    @classmethod
    def create(cls, path: Path) -> KeyTable:
        """Makes a new, empty table.

        Raises:
            Conflict: the file is there already.
        """
        if path.exists():
            raise Conflict(f"{path} is there already")
        table = cls(_engine(path))
        with table._writing() as connection:
            _METADATA.create_all(connection)
        return table

    @classmethod
    def open(cls, path: Path) -> KeyTable:
        """Opens a table; never makes one.

        Raises:
            NotFound: there is no such file.
            IntegrityError: the file is no key table.
        """
        if not path.exists():
            raise NotFound(f"{path}: the key table is missing", "restore it from a backup")
        table = cls(_engine(path))
        with table._reading() as connection:
            if not sql.inspect(connection).has_table(_KEYS.name):
                raise IntegrityError(f"{path}: not a key table", "restore it from a backup")
        return table

    def add(self, rows: Sequence[WrappedKey]) -> None:
        """Adds rows in one transaction, durable on return.

        Raises:
            Conflict: a key id or an object id is there already.
        """
        if not rows:
            return
        with self._writing() as connection:
            connection.execute(sql.insert(_KEYS), [_values(row) for row in rows])

    def of_objects(self, object_ids: Iterable[bytes]) -> dict[bytes, WrappedKey]:
        """The rows of some objects; objects without a row are left out."""
        found: dict[bytes, WrappedKey] = {}
        ids = list(object_ids)
        with self._reading() as connection:
            for start in range(0, len(ids), 500):
                wanted = _KEYS.c.object_id.in_(ids[start : start + 500])
                for row in connection.execute(sql.select(_KEYS).where(wanted)):
                    found[row.object_id] = _row(row)
        return found

    def system(self, name: str) -> WrappedKey:
        """The newest key of the workspace itself: ``ledger``, ``ids`` or ``stage``.

        Raises:
            NotFound: there is none.
        """
        mine = (_KEYS.c.zone == SYSTEM_ZONE) & (_KEYS.c.dataset == name)
        query = sql.select(_KEYS).where(mine).order_by(_KEYS.c.ordinal.desc()).limit(1)
        with self._reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound(f"the key table holds no {name} key", "restore it from a backup")
        return _row(row)

    def close(self) -> None:
        """Closes the file."""
        self._engine.dispose()

    def rows(self, size: int | None = None) -> Iterator[WrappedKey]:
        """The first `size` rows in order; all when None."""
        query = sql.select(_KEYS).order_by(_KEYS.c.ordinal).limit(size)
        with self._reading() as connection:
            for row in connection.execute(query):
                yield _row(row)

    def head(self, size: int | None = None) -> KeyTableHead:
        """Size and root of the first `size` rows; of all when None."""
        leaves = [leaf_hash(row.leaf()) for row in self.rows(size)]
        return KeyTableHead(len(leaves), Digest(root_of(leaves)))

    def cut(self, size: int) -> int:
        """Drops the rows behind the last committed size; gives their number."""
        kept = sql.select(_KEYS.c.ordinal).order_by(_KEYS.c.ordinal).limit(size)
        with self._writing() as connection:
            done = connection.execute(sql.delete(_KEYS).where(_KEYS.c.ordinal.not_in(kept)))
        return int(done.rowcount)

    @contextmanager
    def _reading(self) -> Iterator[sql.Connection]:
        with _border(self._engine), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sql.Connection]:
        """One transaction. A crash before its commit leaves the table as it was."""
        with _border(self._engine), self._engine.begin() as connection:
            yield connection


def _engine(path: Path) -> sql.Engine:
    engine = sql.create_engine(f"sqlite:///{path}")

    @sql.event.listens_for(engine, "connect")
    def _durable(connection: object, _record: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine


@contextmanager
def _border(engine: sql.Engine) -> Iterator[None]:
    """Turns the library's errors into ours; no value of a row is shown."""
    where = engine.url.database
    try:
        yield
    except sql.exc.IntegrityError:
        raise Conflict("the key table holds such a key or object already") from None
    except sql.exc.OperationalError as error:
        raise Unavailable(f"{where}: {error.orig}", "see its disk, then retry") from None
    except sql.exc.DatabaseError as error:
        raise IntegrityError(
            f"{where}: not readable as a key table: {error.orig}", "restore it from a backup"
        ) from None


def _values(row: WrappedKey) -> dict[str, object]:
    return {
        "key_id": row.use.key_id,
        "object_id": row.use.object_id,
        "dataset": row.use.dataset,
        "zone": row.use.zone,
        "wrapping_key_id": row.wrapping_key_id,
        "wrapped": row.wrapped,
    }


def _row(row: sql.Row[tuple[object, ...]]) -> WrappedKey:
    use = KeyUse(row.key_id, row.object_id, row.dataset, row.zone)
    return WrappedKey(use, row.wrapping_key_id, row.wrapped)
