"""Who is told of a build's progress."""

from __future__ import annotations

from typing import Protocol


class Announcer(Protocol):
    """Told of what stages do; `flows.progress.Progress` shows it to people."""

    def expect(self, stage: str, total_bytes: int) -> None:
        """A stage has so many bytes to go through."""

    def advance(self, stage: str, documents: int = 0, num_bytes: int = 0, tokens: int = 0) -> None:
        """A stage has done so much more."""


class Silence:
    """Tells nobody."""

    def expect(self, stage: str, total_bytes: int) -> None:
        """Does nothing."""

    def advance(self, stage: str, documents: int = 0, num_bytes: int = 0, tokens: int = 0) -> None:
        """Does nothing."""
