"""What a build tells at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage.versions import Version
from pipelines.books import Books
from storage_tiers.tiers import TierStatus


@dataclass(frozen=True, slots=True)
class BuildReport:
    """One build's outcome.

    Attributes:
        version: the newest version of the dataset after the build.
        published: False when there was nothing new.
        books: of every stage, or None when there was nothing new.
        num_new, num_removed: documents added and removed against the parent.
        num_tokens, num_shards: of the whole version.
        tiers: objects and bytes of the version on hot and cold.
        seconds: wall time.
        stage_seconds: work time by stage, summed over workers.
    """

    version: Version
    published: bool
    books: Books | None
    num_new: int
    num_removed: int
    num_tokens: int
    num_shards: int
    tiers: TierStatus | None
    seconds: float
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
