"""Side objects: sealed words that an entry names by an id."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError, NotFound
from lineage.keys.keytable import committed_head
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from lineage.side import read_side_object, side_path, write_side_object
from lineage.workspace import Workspace
from tests.lineage.published import lease_of, named

WORDS = b"because the licences were read by two of us"


def write(workspace: Workspace, data: bytes) -> bytes:
    """A side object, and the entry that commits its key."""
    object_id, head = write_side_object(workspace, "corpus", data)
    body = {"reason_object": object_id.hex(), "key_table": {"size": head.size, "root": head.root}}
    draft = Draft("approval", (Subject("x", named("x")),), body, (workspace.signer("owner"),))
    workspace.ledger.append([draft])
    return object_id


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=2000))
def test_what_was_written_is_read_back(workspace: Workspace, data: bytes) -> None:
    object_id = write(workspace, data)
    assert read_side_object(workspace, object_id, lease_of(workspace)) == data


def test_nothing_of_it_is_readable_on_the_disk(workspace: Workspace) -> None:
    object_id = write(workspace, WORDS)
    path = side_path(workspace, object_id)
    assert path.stat().st_mode & 0o777 == 0o600
    for file in workspace.root.rglob("*"):
        assert not file.is_file() or WORDS[:12] not in file.read_bytes()


def test_a_changed_byte_a_swapped_object_and_a_short_one_are_refused(workspace: Workspace) -> None:
    first, second = write(workspace, WORDS), write(workspace, b"other words")
    path, lease = side_path(workspace, first), lease_of(workspace)
    sound = path.read_bytes()
    changed = [sound[:n] + bytes([sound[n] ^ 1]) + sound[n + 1 :] for n in range(len(sound))]
    short = [sound[:n] for n in range(len(sound))]
    for data in [*changed, *short, side_path(workspace, second).read_bytes()]:
        path.write_bytes(data)
        with pytest.raises(IntegrityError):
            read_side_object(workspace, first, lease)


def test_a_missing_object_is_not_found(workspace: Workspace) -> None:
    object_id = write(workspace, WORDS)
    side_path(workspace, object_id).unlink()
    with pytest.raises(NotFound, match=object_id.hex()):
        read_side_object(workspace, object_id, lease_of(workspace))


def test_an_object_that_no_entry_came_to_name_has_its_key_cut_by_the_next_writer(
    workspace: Workspace,
) -> None:
    left, _ = write_side_object(workspace, "corpus", WORDS)  # a crash before the entry
    named_by_nobody = workspace.keys.head()
    kept = write(workspace, b"the next words")
    head = workspace.keys.head()
    assert head.size == named_by_nobody.size
    assert head == committed_head(workspace.ledger.entries())
    lease = lease_of(workspace)
    assert read_side_object(workspace, kept, lease) == b"the next words"
    with pytest.raises(NotFound, match="has no key"):
        read_side_object(workspace, left, lease)
