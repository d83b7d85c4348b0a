"""Prefect's own database, made in a moment.

Prefect makes an empty database by its whole history of migrations, which takes ten
seconds. `prefect_schema.sql` is what those migrations leave behind, for the one
release of Prefect that it names; with any other release, and with a database that
is already there, Prefect's migrations do their work as always.

To renew the file after an upgrade of Prefect: run `prefect server database upgrade -y`
with an empty folder as PREFECT_HOME, and write there `schema_of` its `prefect.db`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path

from lineage.errors import Unavailable

SCHEMA = Path(__file__).with_name("prefect_schema.sql")
DATABASE = "prefect.db"


def prepare_database(home: Path) -> bool:
    """Makes Prefect's database under `home` where it is missing and we know how.

    Args:
        home: Prefect's home; made when missing.

    Returns:
        Whether the database needs no migration.

    Raises:
        Unavailable: the disk refuses the file.
    """
    if "PREFECT_SERVER_DATABASE_CONNECTION_URL" in os.environ or not _is_known_release():
        return False
    database = home / DATABASE
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not database.exists():
            _make(database)
        return _revision(database) == _known_revision()
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(
            f"Prefect's database {database} cannot be made or read",
            "check the disk's free space and rights; it holds only a history of flow runs",
        ) from error


def schema_of(database: Path) -> str:
    """The SQL that makes an empty database like this one.

    Args:
        database: SQLite file that Prefect's migrations have made.
    """
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name != 'alembic_version'"
            " AND name NOT LIKE 'sqlite_%' ORDER BY type != 'table', name"
        ).fetchall()
    revision = _revision(database)
    lines = [
        f"-- prefect {version('prefect')}",
        f"-- revision {revision}",
        "CREATE TABLE alembic_version (",
        "    version_num VARCHAR(32) NOT NULL,",
        "    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)",
        ");",
        f"INSERT INTO alembic_version (version_num) VALUES ('{revision}');",  # noqa: S608
        *(f"{_without_trailing_space(sql)};" for (sql,) in rows),
    ]
    return "\n".join(lines) + "\n"


def _make(database: Path) -> None:
    unfinished = database.with_suffix(f".{os.getpid()}.new")
    with closing(sqlite3.connect(unfinished)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA.read_text(encoding="utf-8"))
    # Crash here: a stray file, and the next start makes another. A database that
    # somebody else has made meanwhile stays.
    with suppress(FileExistsError):
        os.link(unfinished, database)
    unfinished.unlink()


def _revision(database: Path) -> str:
    with closing(sqlite3.connect(database)) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else ""


def _is_known_release() -> bool:
    return SCHEMA.is_file() and _header("prefect") == version("prefect")


def _known_revision() -> str:
    return _header("revision")


def _header(name: str) -> str:
    with SCHEMA.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(f"-- {name} "):
                return line.split()[2]
    return ""


def _without_trailing_space(sql: str) -> str:
    return "\n".join(line.rstrip() for line in sql.strip().splitlines())
