"""How many findings of each kind every document has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipelines.personal.find import Findings


def counts(findings: Findings, num_rows: int) -> dict[str, NDArray[np.int64]]:
    """The signals of all kinds that were looked for, by name of the signal.

    Returns:
        Arrays of `num_rows` int64.
    """
    return {
        kind.signal.name: np.bincount(
            findings.row[findings.kind == place], minlength=num_rows
        ).astype(np.int64)
        for place, kind in enumerate(findings.kinds)
    }
