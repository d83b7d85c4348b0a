"""Rails: what stops a build that lost too much, before anything is published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flows.build.plan import BuildPlan
from flows.build.prepare import PreparedPartition
from lineage.errors import ConfigError
from pipelines.books import Books
from pipelines.dedup.rows import Rows, gathered
from pipelines.ingest.chunk import PASSED_OVER
from pipelines.spec.dataset import DatasetSpec
from pipelines.spec.limits import NO_LIMIT, QuarantineLimit

_MILLION = 1_000_000


def require_readable(spec: DatasetSpec, prepared: Sequence[PreparedPartition]) -> None:
    """Refuses a build of which more records are unreadable than the spec allows.

    Raises:
        ConfigError: names the reasons and their counts.
    """
    if spec.max_quarantined == NO_LIMIT:
        return
    book = Books.total(Books.parse(list(item.books)) for item in prepared).stage("ingest")
    unread = {
        reason: count.records
        for reason, count in book.quarantined.items()
        if reason not in PASSED_OVER
    }
    total = sum(unread.values())
    if not _too_many(spec.max_quarantined, total, book.in_.records):
        return
    reasons = ", ".join(f"{count:,} by {reason}" for reason, count in sorted(unread.items()))
    raise ConfigError(
        f"{spec.name}: {total:,} of {book.in_.records:,} records could not be read ({reasons}), "
        f"and max_quarantined allows {_allowed(spec.max_quarantined)}",
        "look at the source files, or raise max_quarantined in the spec",
    )


def require_kept(spec: DatasetSpec, contested: np.ndarray, near: np.ndarray) -> None:
    """Refuses a build in which a source lost too many documents as near duplicates.

    Args:
        contested, near: documents of each source ordinal that took part, and that make way.

    Raises:
        ConfigError: names the source and the share.
    """
    cap = spec.duplicates.max_removed
    for ordinal in np.flatnonzero(near * _MILLION > cap * contested).tolist():
        name, lost, all_ = spec.sources[ordinal].name, int(near[ordinal]), int(contested[ordinal])
        raise ConfigError(
            f"{spec.name}: {lost:,} of {all_:,} documents of source {name} would leave as near "
            f"duplicates, and max_removed allows {cap / _MILLION:g} of them",
            "look at the source; then raise max_removed or similarity in [duplicates]",
        )


def require_small_clusters(plan: BuildPlan, documents: Rows, cluster: tuple[int, int]) -> None:
    """Refuses a build in which too many documents are one.

    Args:
        documents: the input, by partition and row.
        cluster: the row that stands for most documents, and how many they are.

    Raises:
        ConfigError: names the place of that row's record.
    """
    limit, (row, size) = plan.spec.duplicates.largest_cluster, cluster
    if limit is None or size <= limit:
        return
    columns = ["partition", "file", "offset"]
    (record,) = gathered(documents, np.array([row]), columns).to_pylist()
    partition = plan.partitions[record["partition"]].partition
    file = partition.files[record["file"]]
    raise ConfigError(
        f"{plan.spec.name}: {size:,} documents are one, exactly or nearly, and largest_cluster "
        f"allows {limit:,}; the record of source {partition.source} in {file.shown} at "
        f"{record['offset'] + file.offset_base} would stand for them",
        "look at that record; then raise largest_cluster or similarity in [duplicates], or take "
        "the template it repeats out of the texts",
    )


def _too_many(limit: QuarantineLimit, unread: int, records: int) -> bool:
    if limit.records is not None:
        return unread > limit.records
    return unread * _MILLION > (limit.share or 0) * records


def _allowed(limit: QuarantineLimit) -> str:
    if limit.records is not None:
        return f"{limit.records:,}"
    return f"{100 * (limit.share or 0) / _MILLION:g} %"
