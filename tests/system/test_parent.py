"""The documents of the parent version are read shard by shard, and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from flows.build.parent import AliveRows, Parent, open_parent
from flows.build.plan import plan_build
from lineage.errors import IntegrityError
from lineage.keys.gate import AccessRequest, KeyLease
from lineage.workspace import Workspace
from pipelines.dedup.columns import PUBLISHED
from tests.system.world import DATASET, World

pytestmark = pytest.mark.system


@dataclass(frozen=True)
class Opened:
    """A version, open as a build of the next one has it."""

    workspace: Workspace
    parent: Parent
    lease: KeyLease

    def rows(self, more: int = 0) -> AliveRows:
        """Its alive documents; the manifest may count some more than there are."""
        first, *rest = self.parent.segments
        counts = (first.source_documents[0] + more, *first.source_documents[1:])
        segments = (replace(first, source_documents=counts), *rest)
        return AliveRows(self.workspace, replace(self.parent, segments=segments), self.lease)


@pytest.fixture
def opened(built: World) -> Iterator[Opened]:
    with built.open() as workspace:
        signer = workspace.signer("builder")
        request = AccessRequest(signer, DATASET, "raw", "build", on_behalf="0f" * 16)
        lease = workspace.gate.release(request)
        yield Opened(
            workspace, open_parent(workspace, plan_build(workspace, DATASET), lease), lease
        )


def test_every_document_has_a_number_and_its_columns(opened: Opened) -> None:
    rows = opened.rows()
    pieces = list(rows.read(PUBLISHED.names))
    assert len(pieces) > 2
    assert np.concatenate([numbers for numbers, _ in pieces]).tolist() == list(range(len(rows)))
    assert all(table.schema.names == PUBLISHED.names for _, table in pieces)


def test_only_what_is_wanted_is_read(opened: Opened) -> None:
    rows = opened.rows()
    ids = {
        number: value
        for numbers, table in rows.read(["document_id"])
        for number, value in zip(numbers.tolist(), table["document_id"].to_pylist(), strict=True)
    }
    wanted = np.zeros(len(rows), np.bool_)
    wanted[[0, len(rows) - 1]] = True
    found = [
        (numbers.tolist(), table["document_id"].to_pylist())
        for numbers, table in rows.read(["document_id"], wanted)
    ]
    last = len(rows) - 1
    assert found == [([0], [ids[0]]), ([last], [ids[last]])]
    assert list(rows.read(["document_id"], np.zeros(len(rows), np.bool_))) == []


@pytest.mark.parametrize("more", [-1, 1])
def test_a_manifest_that_counts_other_documents_is_refused(opened: Opened, more: int) -> None:
    with pytest.raises(IntegrityError, match="do not hold the .* documents that its manifest"):
        list(opened.rows(more).read(["span"]))
