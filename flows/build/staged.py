"""Reads what a build staged before."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lineage.digest import Digest
from lineage.errors import NotFound
from lineage.keys.sealing import open_parquet
from storage_tiers.stage import StageEntry, StageStore


def staged(stage: StageStore, kind: str, key: Digest) -> StageEntry:
    """An entry that this build made before.

    Raises:
        NotFound: somebody deleted it meanwhile.
    """
    entry = stage.get(kind, key)
    if entry is None:
        raise NotFound(f"stage entry {kind}/{key.hex} is gone", "build again")
    return entry


def staged_table(entry: StageEntry, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """One file of an entry, some of its columns."""
    with open_parquet(entry.path(f"{name}.parquet"), entry.seal(name)) as file:
        return file.read(columns=None if columns is None else list(columns))


def staged_rows(entry: StageEntry, name: str, start: int, stop: int) -> pa.Table:
    """Some rows of a file; only the row groups that hold them are read."""
    with open_parquet(entry.path(f"{name}.parquet"), entry.seal(name)) as file:
        groups, first, at = [], None, 0
        for number in range(file.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            if at < stop and at + rows > start:
                groups.append(number)
                first = at if first is None else first
            at += rows
        if first is None:
            return file.schema_arrow.empty_table()
        return file.read_row_groups(groups).slice(start - first, stop - start)
