"""Formats whose files are row groups, and how a file of each is opened."""

from __future__ import annotations

import pyarrow as pa

from pipelines.ingest.columnar.arrow_batches import ArrowBatches
from pipelines.ingest.columnar.rowgroups import Groups, RowGroups

GROUPED = frozenset({"parquet", "arrow"})


def groups_of(format_: str, file: pa.NativeFile) -> Groups:
    """An open file of one of `GROUPED`, as row groups; it stays open.

    Raises:
        CorruptFile: it is none.
        OSError: the file cannot be read.
    """
    return ArrowBatches(file) if format_ == "arrow" else RowGroups(file)
