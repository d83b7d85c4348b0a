"""What a build tells at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flows.build.plan import BuildPlan
from lineage.errors import Conflict
from lineage.versions import Version
from pipelines.books import Books, Count
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

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        tiers = self.tiers
        return {
            "version": self.version.name,
            "manifest": str(self.version.manifest),
            "published": self.published,
            "books": None if self.books is None else self.books.to_json(),
            "documents_added": self.num_new,
            "documents_removed": self.num_removed,
            "tokens": self.num_tokens,
            "shards": self.num_shards,
            "hot_bytes": None if tiers is None else tiers.hot_size_bytes,
            "cold_bytes": None if tiers is None else tiers.cold_size_bytes,
            "seconds": round(self.seconds, 3),
            "stage_seconds": {name: round(s, 3) for name, s in self.stage_seconds.items()},
        }

    def text(self) -> str:
        """The report for people, one fact a line."""
        if not self.published:
            return (
                f"nothing new  {self.version.name} is built from the same inputs "
                f"({self.seconds:.1f} s)"
            )
        return "\n".join([f"{name:<12} {value}" for name, value in self._lines()])

    def _lines(self) -> list[tuple[str, str]]:
        lines = [("version", f"{self.version.name}  {self.version.manifest}")]
        for book in self.books or ():
            if book.stage == "ingest":
                lines.append(("records in", _counted(book.in_)))
            lines += [(f"  {book.stage}", line) for line in _losses(book.dropped, "dropped")]
            lines += [(f"  {book.stage}", line) for line in _losses(book.quarantined, "quarantined")]
            if book.stage == "shard":
                lines.append(("kept", f"{book.kept.records:,} documents"))
                fill = f"{book.fill_tokens:,} of fill"
                lines.append(("tokens", f"{self.num_tokens:,}, and {fill}"))
        lines.append(("against the", f"parent: {self.num_new:,} added, {self.num_removed:,} removed"))
        lines.append(("shards", f"{self.num_shards:,}"))
        if self.tiers is not None:
            hot, cold = self.tiers.hot_size_bytes, self.tiers.cold_size_bytes
            lines.append(("bytes", f"{hot:,} on hot, {cold:,} on cold, sealed"))
        lines.append(("time", f"{self.seconds:.1f} s"))
        return lines


def nothing_new(plan: BuildPlan, seconds: float) -> BuildReport:
    """The report of a build that had nothing to do.

    Raises:
        Conflict: there is no version yet.
    """
    if plan.parent is None:
        raise Conflict("nothing is new against a version that does not exist")
    return BuildReport(plan.parent, False, None, 0, 0, 0, 0, None, seconds)


def _counted(count: Count) -> str:
    return f"{count.records:,}, {count.bytes:,} bytes"


def _losses(counts: Mapping[str, Count], verdict: str) -> list[str]:
    return [f"{verdict} {count.records:,} by {rule}" for rule, count in counts.items()]
