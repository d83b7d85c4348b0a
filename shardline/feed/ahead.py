"""One piece of work done ahead of its consumer, in a thread that ends with it."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from lineage.errors import Unavailable

T = TypeVar("T")
_EXIT_WAIT_S = 5.0


class Ahead(Generic[T]):
    """The result of some work, begun at once in a thread, or when asked for.

    A thread for each piece of work, instead of one that loops, needs no signal to stop: whatever
    becomes of the consumer, it ends with its work.

    Args:
        work: called once. What it raises is raised by `result`.
        what: names the work when it takes too long.
        background: False does the work inside `result`.
    """

    def __init__(self, work: Callable[[], T], what: Callable[[], str], *, background: bool) -> None:
        self._work, self._what = work, what
        self._done: list[T] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if background:
            # A daemon, as a disk that never answers must not keep the process from ending.
            self._thread = threading.Thread(target=self._run, name="shardline-feed", daemon=True)
            _running.add(self)
            self._thread.start()

    def result(self, timeout_s: float) -> T:
        """Waits for the work.

        Raises:
            Unavailable: the work is not done after `timeout_s`.
        """
        if self._thread is None:
            return self._work()
        if not self.ended(timeout_s):
            raise Unavailable(f"waited {timeout_s:g} s for {self._what()}", "is the tier there?")
        if self._error is not None:
            raise self._error
        return self._done.pop()

    def ended(self, timeout_s: float) -> bool:
        """Whether the thread ended, after waiting for it at most that long."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._done.append(self._work())
        except BaseException as error:  # noqa: BLE001 - the consumer's `result` raises it
            self._error = error


_running: weakref.WeakSet[Ahead[Any]] = weakref.WeakSet()


@atexit.register
def _wait_at_exit() -> None:
    # A thread inside pyarrow while the interpreter is taken down can abort the process.
    for ahead in list(_running):
        ahead.ended(_EXIT_WAIT_S)
