"""Examples: documents just inside and just outside each threshold, with their first words.

The texts are those of the stage store, which this machine may have cleared; then the
report goes without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.prepare import KIND
from lineage.audit.rules import Keeps, VersionRule
from lineage.keys.sealing import open_parquet
from storage_tiers.stage import StageEntry, StageStore

_EXCERPT_CHARS = 280
_EACH_SIDE = 2


@dataclass(frozen=True, slots=True)
class Example:
    """One document near a threshold.

    Attributes:
        document_id: 32 bytes.
        passes: whether the rule keeps it.
        value: of the signal.
    """

    rule: str
    signal: str
    document_id: bytes
    source: str
    passes: bool
    value: int


def near_thresholds(decisions: pa.Table, rules: Iterable[VersionRule]) -> list[Example]:
    """For each rule the nearest documents on both sides, by id where several are as near."""
    ids = decisions["document_id"].to_pylist()
    sources = decisions["source"].to_pylist()
    order = np.argsort(np.array([item[:8] for item in ids], "S8"), kind="stable")
    found = []
    for rule in rules:
        keeps = rule.keeps
        if keeps is None or not isinstance(keeps.limit, int):
            continue
        if keeps.signal not in decisions.column_names:
            continue
        values = decisions[keeps.signal].fill_null(0).to_numpy()
        for passes, at in _nearest(values, keeps, order):
            value = int(values[at])
            found.append(Example(rule.name, keeps.signal, ids[at], sources[at], passes, value))
    return found


def excerpts(stage: StageStore, wanted: Iterable[bytes]) -> dict[bytes, str]:
    """The first words of documents, as far as the stage store holds them."""
    missing = set(wanted)
    found: dict[bytes, str] = {}
    for entry in stage.entries(KIND):
        if not missing:
            break
        for document_id, text in _texts(entry, missing):
            found[document_id] = text
            missing.discard(document_id)
    return found


def _nearest(
    values: np.ndarray[Any, np.dtype[np.int64]], keeps: Keeps, order: np.ndarray
) -> Iterator[tuple[bool, int]]:
    limit = keeps.limit if isinstance(keeps.limit, int) else 0
    ordered = values[order]
    passes = ordered >= limit if keeps.side == ">=" else ordered <= limit
    for side in (True, False):
        places = np.flatnonzero(passes == side)
        distance = np.abs(ordered[places].astype(np.float64) - limit)
        for place in places[np.argsort(distance, kind="stable")[:_EACH_SIDE]]:
            yield side, int(order[place])


def _texts(entry: StageEntry, wanted: set[bytes]) -> Iterator[tuple[bytes, str]]:
    with open_parquet(entry.path("documents.parquet"), entry.seal("documents")) as file:
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, columns=["document_id"])["document_id"]
            asked = pa.array(sorted(wanted), pa.binary(32))
            rows = np.flatnonzero(np.asarray(pc.is_in(ids, asked)))
            if len(rows):
                table = file.read_row_group(group, columns=["document_id", "text"])
                for row in table.take(pa.array(rows)).to_pylist():
                    yield row["document_id"], _excerpt(row["text"])


def _excerpt(text: str) -> str:
    words = " ".join(text[: 4 * _EXCERPT_CHARS].split())
    return words if len(words) <= _EXCERPT_CHARS else words[:_EXCERPT_CHARS] + " ..."
