"""What the SQLite store promises beyond the contract: files, crashes, lost answers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from lineage.errors import Conflict, IntegrityError, NotFound, OutcomeUnknown, Unavailable
from lineage.ledger.log import AppendUnknown
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.verify import verify_ledger
from tests.lineage.ledger.world import TRUST, begun, draft, reopened

ROOT = Path(__file__).parents[3]


class LostBefore(SqliteLedgerStore):
    """The disk goes away just before the commit."""

    def _finish(self, connection: sa.Connection) -> None:
        raise sqlite3.OperationalError("disk I/O error")


class LostAfter(SqliteLedgerStore):
    """The commit is stored, but the answer is lost."""

    def _finish(self, connection: sa.Connection) -> None:
        super()._finish(connection)
        raise sqlite3.OperationalError("disk I/O error")


def test_a_missing_ledger_is_never_made_by_opening(path: Path) -> None:
    with pytest.raises(NotFound, match="shardline init"):
        SqliteLedgerStore(path)
    assert list(path.parent.iterdir()) == []


def test_creating_leaves_what_is_there_alone(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(Conflict, match=r"ledger\.sqlite"):
        SqliteLedgerStore.create(path)
    assert path.read_bytes() == b"precious"
    assert list(path.parent.iterdir()) == [path]


def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    odd = tmp_path / "a b%41?#ü.sqlite"
    begun(SqliteLedgerStore.create(odd)).append([draft()])
    assert reopened(SqliteLedgerStore(odd)).size == 1
    assert odd.is_file()


@pytest.mark.parametrize("content", [b"", b"not a database, and long enough to be read" * 200])
def test_a_file_that_is_no_ledger_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match=r"ledger\.sqlite"):
        SqliteLedgerStore(path)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"x\.sqlite"):
        SqliteLedgerStore.create(tmp_path / "missing" / "x.sqlite")


def test_entries_outlive_the_process(
    make_store: Callable[[], SqliteLedgerStore],
) -> None:
    ledger = begun(make_store())
    entries = ledger.append([draft(step=1), draft(step=2)])
    assert list(reopened(make_store()).entries()) == entries


def test_every_connection_syncs_each_commit(
    make_store: Callable[[], SqliteLedgerStore],
) -> None:
    with make_store()._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_commit_that_failed_is_unknown_and_then_found_missing(
    path: Path, make_store: Callable[[], SqliteLedgerStore]
) -> None:
    begun(make_store()).append([draft()])
    ledger = reopened(LostBefore(path))
    with pytest.raises(AppendUnknown) as caught:
        ledger.append([draft(), draft()])
    assert isinstance(caught.value, OutcomeUnknown)
    assert len(caught.value.entry_ids) == 2
    assert [ledger.find(entry_id) for entry_id in caught.value.entry_ids] == [None, None]
    assert ledger.size == 1
    assert verify_ledger(ledger, TRUST) == []


def test_a_commit_whose_answer_was_lost_is_unknown_and_then_found(
    path: Path, make_store: Callable[[], SqliteLedgerStore]
) -> None:
    begun(make_store())
    ledger = reopened(LostAfter(path))
    with pytest.raises(AppendUnknown) as caught:
        ledger.append([draft(step=7)])
    found = ledger.find(caught.value.entry_ids[0])
    assert found is not None
    assert found.body == {"step": "7"}
    assert ledger.size == 1
    assert verify_ledger(ledger, TRUST) == []
    assert [entry.claim.sequence for entry in reopened(make_store()).append([draft()])] == [2]


WRITER = """
import os, sys
from pathlib import Path
from lineage.ledger.sqlite import SqliteLedgerStore
from tests.lineage.ledger.world import Clock, LEDGER_KEY, LOG_ID, LOG_SIGNER, draft
from lineage.ledger.log import Ledger
ledger = Ledger.open(SqliteLedgerStore(Path(sys.argv[1])), LOG_ID, ledger_key=LEDGER_KEY,
                     log_signer=LOG_SIGNER, entropy=os.urandom, now=Clock())
for _ in range(int(sys.argv[2])):
    print(ledger.append([draft(worker=sys.argv[3])] * 3)[-1].position, flush=True)
"""


def writer(path: Path, num_appends: int, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(num_appends), name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=path.parent
    )


def test_a_killed_writer_leaves_the_last_good_state_and_the_others_go_on(
    path: Path, make_store: Callable[[], SqliteLedgerStore]
) -> None:
    begun(make_store())
    killed = writer(path, 100_000, "killed")
    others = [writer(path, 8, f"writer {number}") for number in range(3)]
    assert killed.stdout is not None
    acknowledged = [int(killed.stdout.readline()) for _ in range(3)]
    killed.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in killed.stdout.read().split("\n")[:-1]]
    killed.wait()
    outputs = [process.communicate(timeout=120)[0].split() for process in others]
    assert [len(output) for output in outputs] == [8] * 3
    ledger = reopened(make_store())
    assert ledger.size % 3 == 0
    assert verify_ledger(ledger, TRUST) == []
    durable = [position for output in outputs for position in map(int, output)] + acknowledged
    assert [ledger.entry(position).position for position in durable] == durable
    assert ledger.append([draft()])[0].position == ledger.size - 1


def test_a_locked_database_is_unavailable_and_nothing_is_stored(
    path: Path, make_store: Callable[[], SqliteLedgerStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(make_store())
    monkeypatch.setattr("lineage.ledger.sqlite._BUSY_TIMEOUT_S", 0.05)
    ledger = reopened(SqliteLedgerStore(path))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        ledger.append([draft()])
    other.close()
    assert ledger.size == 0
    ledger.append([draft()])


def test_a_turn_that_never_comes_is_unavailable(
    path: Path, make_store: Callable[[], SqliteLedgerStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = begun(make_store())
    monkeypatch.setattr("lineage.ledger.sqlite._TURN_TIMEOUT_S", 0.05)
    other = SqliteLedgerStore(path)
    with other.appending(), pytest.raises(Unavailable, match="other writers"):
        ledger.append([draft()])
    ledger.append([draft()])
    other.close()


def test_a_full_disk_is_unavailable_and_stores_nothing(
    make_store: Callable[[], SqliteLedgerStore],
) -> None:
    store = make_store()
    ledger = begun(store)
    num_pages = 0
    with store._engine.connect() as connection:
        num_pages = int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())

    def limit(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={num_pages + 4}")

    sa.event.listen(store._engine, "connect", limit)
    store._engine.dispose()
    with pytest.raises(Unavailable, match="full"):
        ledger.append([draft(many="x" * 40_000)] * 2)
    assert ledger.size == 0
    assert verify_ledger(ledger, TRUST) == []
