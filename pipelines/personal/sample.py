"""A masked sample of findings, the same however documents were divided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.clean.act import FINDINGS
from pipelines.clean.codepoints import text_bytes
from pipelines.personal.find import Findings
from pipelines.personal.mask import masked


def sample_findings(
    texts: pa.LargeStringArray,
    findings: Findings,
    document_ids: pa.FixedSizeBinaryArray,
    per_kind: int,
) -> pa.Table:
    """The first finding of each kind in the documents of the smallest ids.

    Ids are keyed digests, so that the smallest ones are documents of chance. A document gives
    one finding of a kind, however many it has.

    Args:
        document_ids: of the texts, 32 bytes each.
        per_kind: documents a kind at most.

    Returns:
        FINDINGS, by name of the kind and document id.
    """
    data, starts = text_bytes(texts)
    parts = []
    for place, kind in enumerate(findings.kinds):
        places = np.flatnonzero(findings.kind == place)
        # The findings of a row stand together, the first one first.
        rows, firsts = np.unique(findings.row[places], return_index=True)
        ids = document_ids.take(pa.array(rows)).cast(pa.binary())
        order = _smallest(ids, per_kind)
        shown = []
        for finding in places[firsts[order]].tolist():
            begin = starts[findings.row[finding]]
            low, high = begin + findings.start[finding], begin + findings.end[finding]
            shown.append(masked(data[low:high].tobytes(), kind))
        columns = [ids.take(pa.array(order)).cast(pa.binary(32)), [kind.name] * len(shown), shown]
        parts.append(pa.table(columns, schema=FINDINGS))
    return merge_samples(parts, per_kind)


def _smallest(ids: pa.BinaryArray, most: int) -> NDArray[np.int64]:
    """Places of the smallest ids, so many different ones, in order."""
    order = np.asarray(pc.sort_indices(ids)).astype(np.int64)
    if len(order) == 0:
        return order
    ordered = ids.take(pa.array(order))
    same = np.asarray(pc.equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1)))
    number = np.cumsum(np.concatenate([[True], ~same]))
    return order[number <= most]


def merge_samples(tables: Sequence[pa.Table], per_kind: int) -> pa.Table:
    """Samples of parts as one: what sampling all documents at once gives.

    Args:
        tables: FINDINGS, each of `sample_findings` with no smaller `per_kind`.

    Returns:
        FINDINGS, by name of the kind and document id.
    """
    table = pa.concat_tables([FINDINGS.empty_table(), *tables]).combine_chunks()
    # A document that occurs twice is one; of two texts under one id the smaller mask is shown.
    plain = table.set_column(0, "document_id", table["document_id"].cast(pa.binary()))
    keys = [("kind", "ascending"), ("document_id", "ascending"), ("masked", "ascending")]
    table = table.take(pc.sort_indices(plain, sort_keys=keys))
    kinds = np.array(table["kind"].to_pylist(), dtype=object)
    ids = np.array(table["document_id"].to_pylist(), dtype=object)
    new_kind = np.ones(len(table), np.bool_)
    new_kind[1:] = kinds[1:] != kinds[:-1]
    new = new_kind.copy()
    new[1:] |= ids[1:] != ids[:-1]
    number = np.cumsum(new)
    begins = np.maximum.accumulate(np.where(new_kind, number, 0))
    return table.filter(pa.array(new & (number - begins < per_kind)))
