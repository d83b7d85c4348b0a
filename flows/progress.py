"""Progress of a build, on standard error: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

LINES_EVERY_S = 5.0
_REFRESHES_PER_S = 8.0


@dataclass(slots=True)
class StageCount:
    """What one stage has done so far.

    Attributes:
        started_s, seen_s: first and latest sign of life, by the clock handed in.
        total_bytes: what there is to do, where it is known.
    """

    stage: str
    started_s: float
    seen_s: float
    documents: int = 0
    num_bytes: int = 0
    tokens: int = 0
    total_bytes: int | None = None
    done: bool = False

    def numbers(self) -> str:
        """Documents, MB/s and tokens, leaving out what the stage does not count."""
        parts = [f"{self.documents:,} documents"] if self.documents else []
        seconds = self.seen_s - self.started_s
        if self.num_bytes and seconds > 0:
            parts.append(f"{self.num_bytes / seconds / 1e6:,.1f} MB/s")
        if self.tokens:
            parts.append(f"{self.tokens:,} tokens")
        return "  ".join(parts)


class Display(Protocol):
    """Where counts are shown. Called under a lock, often: showing is the display's choice."""

    def start(self) -> None: ...

    def show(self, count: StageCount, /) -> None: ...

    def stop(self) -> None: ...


class Progress:
    """Counts what the stages do, and shows it. Threads may share it.

    Use it as a context manager; a stage appears with its first `expect` or `advance`.

    Args:
        console: a rich console; standard error when left out.
        quiet: whether to show nothing at all.
        clock: seconds, from any start.
    """

    def __init__(
        self,
        console: Console | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._counts: dict[str, StageCount] = {}
        self._lock = threading.Lock()
        self._display = _display(console or Console(stderr=True), quiet, clock)

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            for stage in list(self._counts):
                self.finish(stage)
        self._display.stop()

    def expect(self, stage: str, total_bytes: int) -> None:
        """Says how many bytes a stage has to read, for its bar."""
        with self._lock:
            count = self._count(stage)
            count.total_bytes = total_bytes
            self._display.show(count)

    def advance(self, stage: str, documents: int = 0, num_bytes: int = 0, tokens: int = 0) -> None:
        """Adds what a stage has done since the last call."""
        with self._lock:
            count = self._count(stage)
            count.documents += documents
            count.num_bytes += num_bytes
            count.tokens += tokens
            count.seen_s = self._clock()
            self._display.show(count)

    def finish(self, stage: str) -> None:
        """Says that a stage is done."""
        with self._lock:
            count = self._count(stage)
            count.done = True
            self._display.show(count)

    def _count(self, stage: str) -> StageCount:
        if stage not in self._counts:
            now = self._clock()
            self._counts[stage] = StageCount(stage, now, now)
        return self._counts[stage]


def _display(console: Console, quiet: bool, clock: Callable[[], float]) -> Display:
    if quiet:
        return _Silence()
    if console.is_terminal and not console.is_dumb_terminal:
        return _BarDisplay(console)
    return _LineDisplay(console, clock)


class _Silence:
    def start(self) -> None:
        return

    def show(self, _count: StageCount, /) -> None:
        return

    def stop(self) -> None:
        return


class _LineDisplay:
    """A line a stage every few seconds, and one when it is done: for logs and pipes."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._next_s: dict[str, float] = {}

    def start(self) -> None:
        return

    def show(self, count: StageCount, /) -> None:
        now = self._clock()
        due = self._next_s.setdefault(count.stage, now + LINES_EVERY_S)
        if now < due and not count.done:
            return
        self._next_s[count.stage] = now + LINES_EVERY_S
        end = "  done" if count.done else ""
        line = f"{count.stage:<9} {count.numbers()}{end}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        return


class _NumbersColumn(ProgressColumn):
    """Documents, MB/s and tokens of the stage."""

    def render(self, task: Task) -> Text:
        return Text(str(task.fields["numbers"]))


class _BarDisplay:
    """One bar a stage, redrawn a few times a second by rich's own thread."""

    def __init__(self, console: Console) -> None:
        self._tasks: dict[str, TaskID] = {}
        self._bars = Bars(
            TextColumn("{task.description:<9}"),
            BarColumn(bar_width=24),
            _NumbersColumn(),
            console=console,
            refresh_per_second=_REFRESHES_PER_S,
        )

    def start(self) -> None:
        self._bars.start()

    def show(self, count: StageCount, /) -> None:
        if count.stage not in self._tasks:
            # Without a total the bar moves to and fro.
            task = self._bars.add_task(count.stage, total=None, numbers="")
            self._tasks[count.stage] = task
        completed, total = count.num_bytes, count.total_bytes
        if count.done:
            completed = total = 1
        self._bars.update(
            self._tasks[count.stage], completed=completed, total=total, numbers=count.numbers()
        )

    def stop(self) -> None:
        self._bars.stop()
