"""What a build tells at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from flows.build.plan import BuildPlan
from lineage.errors import Conflict
from lineage.versions import Version
from pipelines.books import Books
from pipelines.decontamination.evaluation import Evaluation
from storage_tiers.tiers import TierStatus


@dataclass(frozen=True, slots=True)
class NearCounts:
    """What verifying near duplicates took, and what it left out.

    Attributes:
        compared: pairs of texts that were compared.
        cut_off: pairs that were not, of documents that stayed, since too many survivors
            shared a band key with them.
        largest: documents of the largest component.
        sampled: pairs of a removed document and its survivor that were looked at again.
        alike: those of them that are alike by runs of characters too.
    """

    compared: int
    cut_off: int
    largest: int
    sampled: int = 0
    alike: int = 0

    def to_json(self) -> dict[str, int]:
        """The counts as JSON values."""
        return asdict(self)

    def text(self) -> str:
        """The counts in a line; silent about what was cut off where nothing was."""
        cut = f"; {self.cut_off:,} more were not" if self.cut_off else ""
        return f"{self.compared:,} pairs, {self.largest:,} documents together at most{cut}"

    def sample_text(self) -> str:
        """How many of the sample are right, in a line."""
        return f"{self.alike:,} of {self.sampled:,} near duplicates are alike by characters too"


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
        seconds: wall time of the build.
        stage_seconds: work time by stage, summed over workers.
        start_seconds: wall time before and after it: Prefect's start and stop.
        near: of near duplicates, or None where none were looked for.
        evaluation: of evaluation items, or None where none were looked for.
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
    start_seconds: float = 0.0
    near: NearCounts | None = None
    evaluation: Evaluation | None = None

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
            "near_duplicates": None if self.near is None else self.near.to_json(),
            "evaluation": None if self.evaluation is None else self.evaluation.to_json(),
            "hot_bytes": None if tiers is None else tiers.hot_size_bytes,
            "cold_bytes": None if tiers is None else tiers.cold_size_bytes,
            "seconds": round(self.seconds, 3),
            "start_seconds": round(self.start_seconds, 3),
            "stage_seconds": {name: round(s, 3) for name, s in self.stage_seconds.items()},
        }

    def text(self) -> str:
        """The report for people, one fact a line."""
        if not self.published:
            return (
                f"nothing new    {self.version.name} is built from the same inputs "
                f"({self.seconds:.1f} s)"
            )
        return "\n".join(f"{name:<14} {value}" for name, value in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "version", f"{self.version.name}  {self.version.manifest}"
        for book in self.books or ():
            if book.stage == "ingest":
                yield "records in", f"{book.in_.records:,}, {book.in_.bytes:,} bytes"
                lost = sum(count.records for count in book.quarantined.values())
                see = f"; shardline quarantine {self.version.name}" if lost else ""
                yield "quarantined", f"{lost:,} records{see}"
            for verdict, counts in (("dropped", book.dropped), ("quarantined", book.quarantined)):
                for rule, count in counts.items():
                    yield f"  {verdict}", f"{count.records:,} by {rule} ({book.stage})"
            yield from self._looked_at(book.stage)
            if book.stage == "shard":
                yield "kept", f"{book.kept.records:,} documents"
                yield "tokens", f"{self.num_tokens:,}, and {book.fill_tokens:,} of fill"
        if self.version.number > 1:
            yield "changed", f"{self.num_new:,} documents added, {self.num_removed:,} removed"
        yield "shards", f"{self.num_shards:,}"
        if self.tiers is not None:
            hot, cold = self.tiers.hot_size_bytes, self.tiers.cold_size_bytes
            yield "sealed bytes", f"{hot:,} on hot, {cold:,} on cold"
        start = f", and {self.start_seconds:.1f} s for Prefect" if self.start_seconds else ""
        yield "time", f"{self.seconds:.1f} s{start}"

    def _looked_at(self, stage: str) -> Iterator[tuple[str, str]]:
        if stage == "clean" and self.evaluation is not None:
            yield from ((f"  {name}", value) for name, value in self.evaluation.lines())
        if stage == "dedup" and self.near is not None:
            yield "  compared", self.near.text()
            if self.near.sampled:
                yield "  sampled", self.near.sample_text()


def nothing_new(plan: BuildPlan, seconds: float) -> BuildReport:
    """The report of a build that had nothing to do.

    Raises:
        Conflict: there is no version yet.
    """
    if plan.parent is None:
        raise Conflict("nothing is new against a version that does not exist")
    return BuildReport(plan.parent, False, None, 0, 0, 0, 0, None, seconds)
