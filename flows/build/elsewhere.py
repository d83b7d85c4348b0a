"""Texts that versions of other datasets hold already: here they make way, by their ids.

The ids of texts are keyed in the workspace, so they compare between its datasets. A version holds
no texts and no band keys, so only equal texts are found, not near ones.

Memory: the ids of a batch of published documents (about 100 MB), and 72 bytes a document of
the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from flows.build.parent import read_object
from flows.build.plan import BuildPlan
from lineage.keys.gate import AccessRequest
from lineage.versions import Version, read_storage
from lineage.workspace import Workspace
from pipelines.decisions import PUBLISHED
from pipelines.dedup.rows import Rows
from pipelines.schema import ID

_BATCH_ROWS = 1 << 20
# Texts are equal as they were cleaned, or as they were read: another dataset may clean otherwise.
KEYS = ("content_id", "raw_content_id")
_FOUND = pa.schema(
    [
        pa.field("key", ID),
        pa.field("document_id", ID),  # in the version of the other dataset
        pa.field("rule", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Texts of the input that other datasets published.

    Attributes:
        found: for each of the two ids of a text, a row an id: who stands for it there, and the
            rule that names the version.
    """

    found: Mapping[str, pa.Table]

    def dropped(self, documents: pa.Table) -> pa.Table:
        """The documents with the rule that drops those that no other rule dropped."""
        rule = pc.coalesce(documents["rule"], self._told(documents, "rule"))
        at = documents.column_names.index("rule")
        return documents.set_column(at, documents.schema.field("rule"), rule)

    def named(self, decisions: pa.Table) -> pa.Table:
        """The decisions with the survivors of these documents, which are of other datasets."""
        mine = pc.starts_with(decisions["rule"], f"{PUBLISHED}.")
        told = pc.if_else(mine, self._told(decisions, "document_id"), None)
        survivor = pc.coalesce(decisions["survivor_id"], told)
        at = decisions.column_names.index("survivor_id")
        return decisions.set_column(at, decisions.schema.field("survivor_id"), survivor)

    def _told(self, rows: pa.Table, name: str) -> pa.ChunkedArray:
        told = []
        for key, found in self.found.items():
            at = pc.index_in(rows[key], found["key"].combine_chunks())
            told.append(found[name].combine_chunks().take(at))
        return pc.coalesce(*told)


def published_elsewhere(
    workspace: Workspace, plan: BuildPlan, build_id: str, documents: Rows
) -> Elsewhere:
    """Looks for the texts of the input in the versions that the plan names, in their order.

    Args:
        documents: the input; what a rule dropped is not looked for.

    Raises:
        AccessDenied: no grant lets the builder read another dataset.
        NotFound, IntegrityError: a version is not there, or not what the ledger names.
    """
    asked = pa.concat_tables(
        piece.filter(pc.is_null(piece["rule"])).select(KEYS)
        for _, piece in documents.read([*KEYS, "rule"])
    )
    found = {key: [_FOUND.empty_table()] for key in KEYS}
    for version in plan.against:
        for published in _published(workspace, version, build_id):
            places = [pc.index_in(asked[key], published[key].combine_chunks()) for key in KEYS]
            for key, at in zip(KEYS, places, strict=True):
                rows = published.take(at.drop_null().unique())
                rule = pa.repeat(f"{PUBLISHED}.{version.name}", rows.num_rows)
                columns = [rows[key], rows["document_id"], rule]
                found[key].append(pa.table(columns, schema=_FOUND))
            asked = asked.filter(pc.and_(*(pc.is_null(at) for at in places)))
    return Elsewhere({key: pa.concat_tables(parts) for key, parts in found.items()})


def _published(workspace: Workspace, version: Version, build_id: str) -> Iterator[pa.Table]:
    """The ids of the documents that are alive in a version, in batches."""
    request = AccessRequest(
        workspace.signer("builder"),
        version.dataset,
        "processed",
        "build",
        on_behalf=build_id,
        version=version.manifest,
    )
    lease = workspace.gate.release(request)
    storage = read_storage(workspace.root / "manifests", version, lease)
    batch: list[pa.Table] = []
    for stored in storage.objects:
        if "/spans-" not in stored.name:
            continue
        spans = read_object(workspace, stored, lease).select([*KEYS, "document_id"])
        batch.append(spans.filter(pc.is_valid(spans["document_id"])))
        if sum(part.num_rows for part in batch) >= _BATCH_ROWS:
            yield pa.concat_tables(batch)
            batch = []
    if batch:
        yield pa.concat_tables(batch)
