"""The section ``[duplicates]``: what counts as a near duplicate, and when a build stops."""

from __future__ import annotations

from dataclasses import dataclass, field

from lineage.fields import Fields
from pipelines.spec.section import LATER

MEASURES = ("jaccard", "containment")
_MILLION = 1_000_000
_MOST = 10**12


@dataclass(frozen=True, slots=True)
class DuplicatesSpec:
    """How near duplicates are found.

    Attributes:
        near: whether they are looked for; exact duplicates always are.
        similarity: from which on a text is a near duplicate, in millionths.
        measure: ``jaccard`` of the shingles, or ``containment``: the share of the smaller.
        words: in a shingle.
        bands, rows: of the MinHash signature that finds candidates.
        max_removed: share of a source's documents that may leave as near duplicates before
            the build stops, in millionths.
        largest_cluster: documents that may be one, exactly or nearly, before the build stops;
            None for no limit.
        against: versions of other datasets, as ``name@vN`` or ``name`` for the newest; what
            stands in them makes way here.
    """

    near: bool = False
    similarity: int = 800_000
    measure: str = "jaccard"
    words: int = 5
    bands: int = 14
    rows: int = 8
    max_removed: int = _MILLION
    largest_cluster: int | None = field(default=None, metadata=LATER)
    against: tuple[str, ...] = field(default=(), metadata=LATER)


EXACT_ONLY = DuplicatesSpec()


def duplicates_spec(table: object, where: str) -> DuplicatesSpec:
    """Reads ``[duplicates]``.

    Raises:
        ConfigError: an unknown key, a wrong type or value.
    """
    fields = Fields(table, f"{where}, [duplicates]", DuplicatesSpec.__slots__)
    return DuplicatesSpec(
        near=fields.flag("near", default=False),
        similarity=fields.millionths("similarity", 0.1, 1, 800_000),
        measure=fields.choice("measure", MEASURES, "jaccard"),
        words=fields.integer("words", 1, 64, 5),
        bands=fields.integer("bands", 1, 64, 14),
        rows=fields.integer("rows", 1, 64, 8),
        max_removed=fields.millionths("max_removed", 0, 1, _MILLION),
        largest_cluster=fields.integer("largest_cluster", 1, _MOST)
        if "largest_cluster" in fields
        else None,
        against=fields.texts("against"),
    )
