"""Texts that versions of other datasets hold already: here they make way, by their content ids.

Content ids are keyed in the workspace, so they compare between its datasets. A version holds
no texts and no band keys, so only equal texts are found, not near ones.

Memory: content ids of a batch of published documents (about 100 MB), beside 4 bytes a
document of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from flows.build.parent import read_object
from flows.build.plan import BuildPlan
from lineage.keys.gate import AccessRequest
from lineage.versions import Version, read_storage
from lineage.workspace import Workspace
from pipelines.decisions import PUBLISHED
from pipelines.schema import ID

_BATCH_ROWS = 1 << 20
_FOUND = pa.schema(
    [
        pa.field("content_id", ID),
        pa.field("document_id", ID),  # in the version of the other dataset
        pa.field("rule", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Contents of the input that other datasets published.

    Attributes:
        found: a row a content: who stands for it there, and the rule that names the version.
    """

    found: pa.Table

    def dropped(self, documents: pa.Table) -> pa.Table:
        """The documents with the rule that drops those that no other rule dropped."""
        if not self.found.num_rows:
            return documents
        rule = pc.coalesce(documents["rule"], self._told(documents["content_id"], "rule"))
        at = documents.column_names.index("rule")
        return documents.set_column(at, documents.schema.field("rule"), rule)

    def named(self, decisions: pa.Table) -> pa.Table:
        """The decisions with the survivors of these documents, which are of other datasets."""
        if not self.found.num_rows:
            return decisions
        mine = pc.is_in(decisions["rule"], pc.unique(self.found["rule"]))
        contents = pc.if_else(mine, decisions["content_id"], None)
        survivor = pc.coalesce(decisions["survivor_id"], self._told(contents, "document_id"))
        at = decisions.column_names.index("survivor_id")
        return decisions.set_column(at, decisions.schema.field("survivor_id"), survivor)

    def _told(self, contents: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        column = self.found[name].combine_chunks()
        return column.take(pc.index_in(contents, self.found["content_id"].combine_chunks()))


def published_elsewhere(
    workspace: Workspace, plan: BuildPlan, build_id: str, documents: pa.Table
) -> Elsewhere:
    """Looks for the texts of the input in the versions that the plan names, in their order.

    Args:
        documents: the input; what a rule dropped is not looked for.

    Raises:
        AccessDenied: no grant lets the builder read another dataset.
        NotFound, IntegrityError: a version is not there, or not what the ledger names.
    """
    asked = documents.filter(pc.is_null(documents["rule"]))["content_id"].unique()
    found = [_FOUND.empty_table()]
    for version in plan.against:
        for published in _published(workspace, version, build_id):
            at = pc.index_in(asked, published["content_id"].combine_chunks())
            rows = published.take(at.drop_null())
            rule = pa.array([f"{PUBLISHED}.{version.name}"]).take(pa.array([0] * rows.num_rows))
            found.append(rows.append_column("rule", rule).cast(_FOUND))
            asked = asked.filter(pc.is_null(at))
    return Elsewhere(pa.concat_tables(found))


def _published(workspace: Workspace, version: Version, build_id: str) -> Iterator[pa.Table]:
    """Content and document ids of the documents that are alive in a version, in batches."""
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
        spans = read_object(workspace, stored, lease).select(["content_id", "document_id"])
        batch.append(spans.filter(pc.is_valid(spans["document_id"])))
        if sum(part.num_rows for part in batch) >= _BATCH_ROWS:
            yield pa.concat_tables(batch)
            batch = []
    if batch:
        yield pa.concat_tables(batch)
