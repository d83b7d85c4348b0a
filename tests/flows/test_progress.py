"""Progress is shown as bars on a terminal, as a few lines elsewhere, or not at all."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from flows.progress import Progress


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _terminal() -> Console:
    return Console(
        file=io.StringIO(), record=True, force_terminal=True, width=100, color_system=None
    )


def _pipe() -> Console:
    return Console(file=io.StringIO(), record=True, force_terminal=False, width=40)


def test_a_terminal_shows_one_bar_a_stage_with_documents_speed_and_tokens() -> None:
    clock, console = Clock(), _terminal()
    with Progress(console, clock=clock) as progress:
        progress.expect("ingest", 4_000_000)
        progress.advance("ingest", 10)
        clock.now += 2
        progress.advance("ingest", 990, 4_000_000)
        progress.advance("tokenize", 1000, 0, 1_234_567)
    # The record holds every redrawing: the last line of a stage is what stays.
    last = {line.split()[0]: line for line in console.export_text().splitlines() if line}
    assert set(last) == {"ingest", "tokenize"}
    assert "1,000 documents  2.0 MB/s" in last["ingest"]
    assert "1,234,567 tokens" in last["tokenize"]


def test_elsewhere_a_stage_says_a_line_every_few_seconds_and_when_it_is_done() -> None:
    clock, console = Clock(), _pipe()
    with Progress(console, clock=clock) as progress:
        for _ in range(120):
            clock.now += 0.1
            progress.advance("ingest", 10, 1_000_000)
    lines = console.export_text().splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("ingest    1,200 documents  10.")
    assert lines[-1].endswith("MB/s  done")
    assert "\x1b" not in "".join(lines)


def test_a_stage_without_documents_only_says_that_it_is_done() -> None:
    console = _pipe()
    with Progress(console, clock=Clock()) as progress:
        progress.advance("publish")
    assert console.export_text().split() == ["publish", "done"]


def test_an_interrupted_build_does_not_call_its_stages_done() -> None:
    console = _pipe()
    with pytest.raises(KeyboardInterrupt), Progress(console, clock=Clock()) as progress:
        progress.advance("ingest", 10)
        raise KeyboardInterrupt
    assert console.export_text() == ""


def test_quiet_shows_nothing_even_on_a_terminal() -> None:
    console = _terminal()
    with Progress(console, quiet=True) as progress:
        progress.advance("ingest", 10, 10, 10)
    assert console.export_text() == ""


def test_it_speaks_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.advance("ingest", 1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "1 documents" in captured.err
