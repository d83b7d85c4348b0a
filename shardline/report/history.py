"""What the report counts: the newest decision on every document, with its signals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.audit.reading import Reading
from lineage.tables import binary_matrix
from lineage.versions import Version

_COLUMNS = [
    "document_id",
    "verdict",
    "rule",
    "value",
    "threshold",
    "survivor_id",
    "num_bytes",
    "num_tokens",
    "edits",
    "source",
    "path",
    "offset",
]


def newest_decisions(reading: Reading, version: Version) -> pa.Table:
    """The newest decision on each record up to a version, with the signals beside it.

    A build tells of what was new to the dataset, so older versions tell of the rest. A
    document that left the dataset does not stand in it.
    """
    parts = [
        _with_signals(reading, one)
        for one in reading.index.versions
        if one.dataset == version.dataset and one.number <= version.number
    ]
    table = pa.concat_tables(parts, promote_options="default")
    table = table.take(pa.array(_last_rows(table)))
    return table.filter(pc.not_equal(table["verdict"], "removed"))


def _with_signals(reading: Reading, version: Version) -> pa.Table:
    table = reading.table(version, "decisions").select(_COLUMNS)
    if "signals" not in reading.content(version).tables:
        return table
    # A row a decision, in the same order.
    signals = reading.table(version, "signals")
    for name in signals.column_names:
        if name not in table.column_names:
            table = table.append_column(name, signals[name])
    return table


def _last_rows(table: pa.Table) -> np.ndarray:
    """The last row of each (document, path, offset); a removal is the last of its document."""
    ids = binary_matrix(table["document_id"]).view(">u8").astype(np.uint64)
    paths = table["path"].dictionary_encode().unify_dictionaries().combine_chunks()
    path = np.asarray(pc.fill_null(paths.indices, -1))
    offset = np.asarray(pc.fill_null(table["offset"], -1))
    number = np.arange(table.num_rows)
    order = np.lexsort((number, offset, path, *ids.T[::-1]))
    ids, path, offset = ids[order], path[order], offset[order]
    ends = np.ones(len(order), np.bool_)
    same = (ids[1:] == ids[:-1]).all(axis=1) & (path[1:] == path[:-1])
    ends[:-1] = ~(same & (offset[1:] == offset[:-1]))
    return np.sort(order[ends])
