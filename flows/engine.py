"""Engines: where a stage's work runs. One process, or several on this machine.

A function that is handed to an engine lives at the top level of a module that
does not import Prefect. Its arguments and its result are small: ids, paths and
counts. They travel by the transport of the standard library's multiprocessing,
which pickles them between our own processes and stores nothing; bytes of documents
travel as sealed files.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Protocol, Self, TypeVar, TypeVarTuple

from lineage.errors import ConfigError, Unavailable

A = TypeVar("A")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# One thread a worker: the engine already has a worker for every core.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# Modules read once by the process that workers are forked from.
_PRELOAD = ("numpy", "pyarrow", "pyarrow.parquet", "flows.engine")
_main_module = threading.Lock()


class Engine(Protocol):
    """Runs functions somewhere. Each may run more than once: they are idempotent."""

    @property
    def num_workers(self) -> int:
        """How many calls can run at the same time."""

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Starts one call; its future raises what the call raised.

        Raises:
            Unavailable: by the future, when a worker was lost.
        """

    def map(self, function: Callable[[A], T], items: Iterable[A]) -> Iterator[T]:
        """Results in the order of the items; few items are in flight at a time."""

    def map_unordered(
        self, function: Callable[[A], T], items: Iterable[A], in_flight: int | None = None
    ) -> Iterator[T]:
        """Results as they come; at most `in_flight` items are taken ahead.

        Args:
            in_flight: 1 or more; two a worker when left out.
        """


class LocalEngine:
    """Worker processes on this machine; with one worker, this process itself.

    Workers leave when this process ends, however it ends. Use it as a context
    manager: after an error or Ctrl-C the workers are ended at once.

    Args:
        num_workers: 1 or more.
        preload: modules that workers find already imported, where the platform
            allows it. None may start threads or import Prefect.
        start_method: ``forkserver`` or ``spawn``; the quicker one that there is.

    Raises:
        ConfigError: less than one worker.
    """

    def __init__(
        self, num_workers: int, preload: Sequence[str] = (), start_method: str = ""
    ) -> None:
        if num_workers < 1:
            raise ConfigError(f"{num_workers} workers cannot work", "give 1 or more")
        self._num_workers = num_workers
        self._lifeline: Connection | None = None
        self._pool: ProcessPoolExecutor | None = None
        # Threads may share an engine: with one worker, one of them works at a time.
        self._working = threading.RLock()
        if num_workers > 1:
            self._pool = self._start_pool(preload, start_method or _quickest_start_method())

    @property
    def num_workers(self) -> int:
        """How many calls can run at the same time."""
        return self._num_workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(at_once=kind is not None)

    def close(self, at_once: bool = False) -> None:
        """Ends the workers; `at_once` does not wait for what they are doing."""
        if self._pool is None or self._lifeline is None:
            return
        if at_once:
            self._lifeline.close()
        self._pool.shutdown(wait=True, cancel_futures=at_once)
        self._lifeline.close()

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Starts one call, or makes it here when there is one worker."""
        outer: Future[T] = Future()
        if self._pool is None:
            with self._working:
                _call_here(outer, function, arguments)
            return outer
        try:
            with _bare_main():
                inner = self._pool.submit(function, *arguments)
        except BrokenProcessPool as error:
            outer.set_exception(_worker_lost(error))
            return outer
        inner.add_done_callback(lambda done: _pass_on(done, outer))
        return outer

    def map(self, function: Callable[[A], T], items: Iterable[A]) -> Iterator[T]:
        """Results in the order of the items; two items a worker are in flight."""
        pending: deque[Future[T]] = deque()
        for item in items:
            pending.append(self.submit(function, item))
            if len(pending) >= self._ahead(None):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def map_unordered(
        self, function: Callable[[A], T], items: Iterable[A], in_flight: int | None = None
    ) -> Iterator[T]:
        """Results as they come; at most `in_flight` items are taken ahead."""
        pending: set[Future[T]] = set()
        for item in items:
            pending.add(self.submit(function, item))
            if len(pending) >= self._ahead(in_flight):
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)

    def _ahead(self, in_flight: int | None) -> int:
        if self._pool is None:
            return 1
        return max(1, in_flight or 2 * self._num_workers)

    def _start_pool(self, preload: Sequence[str], start_method: str) -> ProcessPoolExecutor:
        context = multiprocessing.get_context(start_method)
        if start_method == "forkserver":
            with _bare_main(), _one_thread():
                context.set_forkserver_preload([*_PRELOAD, *preload])
                forkserver.ensure_running()
        held_by_workers, self._lifeline = multiprocessing.Pipe(duplex=False)
        return ProcessPoolExecutor(
            self._num_workers, context, initializer=_begin_work, initargs=(held_by_workers,)
        )


def _quickest_start_method() -> str:
    methods = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in methods else "spawn"


def _call_here(outer: Future[T], function: Callable[[*Ts], T], arguments: tuple[*Ts]) -> None:
    try:
        outer.set_result(function(*arguments))
    except Exception as error:  # noqa: BLE001 - the future hands it to the caller, unchanged
        outer.set_exception(error)


def _pass_on(inner: Future[T], outer: Future[T]) -> None:
    if inner.cancelled():
        outer.cancel()
        return
    error = inner.exception()
    if isinstance(error, BrokenProcessPool):
        outer.set_exception(_worker_lost(error))
    elif error is not None:
        outer.set_exception(error)
    else:
        outer.set_result(inner.result())


def _worker_lost(cause: BrokenProcessPool) -> Unavailable:
    lost = Unavailable(
        "a worker process was killed from outside, most often because memory ran out",
        "nothing half-made is kept: run the command again, with fewer workers or more memory",
    )
    lost.__cause__ = cause
    return lost


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sets the thread counts that libraries read when they are imported."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _bare_main() -> Iterator[None]:
    """Hides the main module while a worker starts.

    Otherwise every worker runs the user's main module again: Prefect's runner in
    a scheduled build (four seconds), or a script that has no main guard.
    """
    with _main_module:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _begin_work(lifeline: Connection) -> None:
    # Ctrl-C reaches the whole process group; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, args=(lifeline,), daemon=True).start()
    os.environ.update(_ONE_THREAD)
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _leave_with_parent(lifeline: Connection) -> None:
    # Only the parent holds the other end: it closes when the parent stops us or
    # dies, also by kill -9. Recovery is the next build, which finds stored outputs.
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)
