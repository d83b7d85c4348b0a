"""An engine runs work in other processes, and nothing of it outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from flows.engine import LocalEngine
from lineage.errors import ConfigError, IntegrityError, Unavailable

_WAIT_S = 20.0


def square(number: int) -> int:
    """What most tests ask for."""
    return number * number


def add(left: int, right: int) -> int:
    """A call with two arguments."""
    return left + right


def process_id(_: int) -> int:
    """Which worker did it; slow enough that both get some."""
    time.sleep(0.02)
    return os.getpid()


def refuse(number: int) -> int:
    """A stage that finds broken bytes."""
    raise IntegrityError(f"partition {number} does not match its digest", "restore it")


def killed_by_the_system(_: int) -> int:
    """What the kernel does to a process when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def settings_of_worker(_: int) -> tuple[int, str, bool]:
    """Arrow's threads, Rayon's threads, and whether Prefect is there."""
    import pyarrow as pa

    return pa.cpu_count(), os.environ["RAYON_NUM_THREADS"], "prefect" in sys.modules


@pytest.fixture(scope="module")
def pair() -> Iterator[LocalEngine]:
    with LocalEngine(2) as engine:
        yield engine


@pytest.mark.parametrize("num_workers", [1, 3])
def test_results_are_the_same_with_any_number_of_workers(num_workers: int) -> None:
    with LocalEngine(num_workers) as engine:
        assert engine.num_workers == num_workers
        assert engine.submit(add, 2, 3).result() == 5
        assert list(engine.map(square, range(20))) == [n * n for n in range(20)]
        assert sorted(engine.map_unordered(square, range(20))) == [n * n for n in range(20)]


def test_one_worker_is_this_process() -> None:
    with LocalEngine(1) as engine:
        assert set(engine.map(process_id, range(3))) == {os.getpid()}


def test_threads_that_share_one_worker_take_turns() -> None:
    working: list[int] = []

    def work(number: int) -> int:
        working.append(number)
        time.sleep(0.01)
        at_once = len(working)
        working.remove(number)
        return at_once

    with LocalEngine(1) as engine, ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(engine.submit, work, number) for number in range(8)]
        assert [call.result().result() for call in calls] == [1] * 8


def test_several_workers_are_other_processes(pair: LocalEngine) -> None:
    workers = set(pair.map_unordered(process_id, range(20)))
    assert len(workers) == 2
    assert os.getpid() not in workers


def test_a_worker_has_one_thread_a_library_and_no_prefect(pair: LocalEngine) -> None:
    assert pair.submit(settings_of_worker, 0).result() == (1, "1", False)


def test_threads_are_limited_in_workers_only(pair: LocalEngine) -> None:
    pair.submit(square, 1).result()
    assert os.environ.get("RAYON_NUM_THREADS") != "1"


@pytest.mark.parametrize("num_workers", [1, 2])
def test_an_error_keeps_its_class_message_and_hint(num_workers: int) -> None:
    with LocalEngine(num_workers) as engine, pytest.raises(IntegrityError) as caught:
        list(engine.map_unordered(refuse, [7]))
    assert (caught.value.message, caught.value.hint) == (
        "partition 7 does not match its digest",
        "restore it",
    )


def test_items_are_taken_only_as_there_is_room(pair: LocalEngine) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(50):
            taken += 1
            yield number

    seen = 0
    for _ in pair.map_unordered(square, items(), in_flight=3):
        seen += 1
        assert taken - seen <= 3
    assert seen == 50


def test_a_killed_worker_is_one_clear_error() -> None:
    with LocalEngine(2) as engine:
        lost: Future[int] = engine.submit(killed_by_the_system, 0)
        with pytest.raises(Unavailable, match="memory ran out") as caught:
            lost.result()
        assert "fewer workers" in caught.value.hint
        with pytest.raises(Unavailable, match="memory ran out"):
            engine.submit(square, 1).result()


def test_no_workers_are_refused() -> None:
    with pytest.raises(ConfigError, match="0 workers"):
        LocalEngine(0)


def test_an_error_in_the_block_ends_what_the_workers_do_at_once() -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), LocalEngine(2) as engine:
        engine.submit(square, 1).result()
        engine.submit(time.sleep, 60)
        raise KeyboardInterrupt
    assert time.monotonic() - started < _WAIT_S


# No main guard: starting a worker must not run the user's script again.
_SCRIPT = """
import os, sys, time
from flows.engine import LocalEngine
with LocalEngine(2, start_method=sys.argv[1]) as engine:
    pids = set()
    while len(pids) < 2:
        pids.add(engine.submit(os.getpid).result())
        engine.submit(time.sleep, 0.05)
    print(*pids, flush=True)
    list(engine.map(time.sleep, [60, 60]))
"""


@pytest.mark.parametrize("start_method", ["forkserver", "spawn"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_workers_leave_when_their_parent_ends(
    tmp_path: Path, start_method: str, ending: signal.Signals
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, str(script), start_method],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    # Ctrl-C in a terminal goes to the whole process group.
    (os.killpg if ending == signal.SIGINT else os.kill)(parent.pid, ending)
    _, complaints = parent.communicate(timeout=_WAIT_S)
    assert parent.returncode == -ending
    assert complaints.count("Traceback") == (1 if ending == signal.SIGINT else 0)
    deadline = time.monotonic() + _WAIT_S
    while any(_is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_alive(pid) for pid in workers)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
