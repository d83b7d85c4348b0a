"""How an answer is printed: as JSON, or as text with its reach in the last line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage.audit.answer import Answer

Text = Callable[[Mapping[str, Any]], Iterator[str]]


def show(answer: Answer, as_json: bool, text: Text) -> None:
    """Prints an answer on standard output."""
    if as_json:
        print(json.dumps(answer.to_json()))
        return
    for line in text(answer.facts):
        print(line)
    reach = "complete" if answer.complete else "not complete"
    print(f"answer {reach} up to ledger entry {answer.tree_size}, {answer.mode}")


def row(name: str, value: object) -> str:
    """One fact on a line."""
    return f"{name:<14} {value}"


def printable(name: str) -> str:
    """A name as it can stand in a line: what breaks or recolours the line is escaped."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
