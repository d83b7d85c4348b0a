"""Who runs a build's steps: this process alone, or Prefect with its task runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from flows.engine import Engine

A = TypeVar("A")
T = TypeVar("T")


class Conductor(Protocol):
    """Runs steps. Both kinds below give the same results; only what is recorded differs."""

    def call(self, name: str, function: Callable[[], T]) -> T:
        """Runs one step in this process."""

    def map(self, name: str, function: Callable[[A], T], items: Sequence[A]) -> Iterator[T]:
        """Runs a step for each item on the engine's workers; results as they come."""


class PlainConductor:
    """Runs steps with nothing between: for benchmarks and for embedding.

    Args:
        engine: where mapped steps run.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def call(self, name: str, function: Callable[[], T]) -> T:
        return function()

    def map(self, name: str, function: Callable[[A], T], items: Sequence[A]) -> Iterator[T]:
        return self._engine.map_unordered(function, items)
