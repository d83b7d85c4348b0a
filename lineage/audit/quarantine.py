"""What could not be read: each record with its place and its reason."""

from __future__ import annotations

from lineage.audit.answer import Answer
from lineage.audit.reading import Reading
from lineage.versions import find_version


def ask_quarantine(reading: Reading, name: str, limit: int) -> Answer:
    """The records that a version's build could not read; what they hold is not shown.

    A build tells of the partitions that were new to the dataset; older versions tell of
    the others.

    Args:
        name: ``name@vN``, or ``name`` for its newest version.
        limit: most records told of; with more, the answer says it is not complete.

    Raises:
        NotFound: there is no such version.
    """
    entries = reading.workspace.ledger.entries(predicates={"version"})
    version = find_version(entries, name)
    rows = reading.table(version, "quarantine").drop_columns(["record"])
    facts = {
        "version": version.name,
        "num_records": rows.num_rows,
        "records": rows.slice(0, limit).to_pylist(),
    }
    complete = rows.num_rows <= limit
    return Answer(f"quarantine {version.name}", facts, reading.index.size, complete)
