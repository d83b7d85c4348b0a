"""The gate: no grant, no key; and what it gives stands in the ledger before it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lineage.approvals import approve
from lineage.digest import Digest, digest_of
from lineage.errors import AccessDenied, IntegrityError, NotFound, Unavailable
from lineage.keys.gate import AccessRequest, Gate
from lineage.keys.grants import Grant
from lineage.keys.sealing import Seal
from lineage.keys.trust import workspace_trust
from lineage.keys.wrapping import FileWrappingKey
from lineage.ledger.draft import Draft
from lineage.ledger.entry import Entry
from lineage.ledger.statement import Subject
from lineage.ledger.verify import verify_ledger
from lineage.workspace import Workspace
from tests.lineage.ledger.world import Clock
from tests.lineage.published import publish

RUN = "0a" * 16
JOINS = """
import datetime, json, pathlib, sys
from lineage.workspace import Workspace
now = datetime.datetime.fromisoformat(sys.argv[4])
opened = Workspace(pathlib.Path(sys.argv[1]), now=lambda: now)
lease = opened.gate.rejoin(sys.argv[2], "corpus")
seal = lease.seal(bytes.fromhex(sys.argv[3]))
print(json.dumps([lease.position, opened.ledger.size, seal.object_id.hex()]))
"""


def key_of(workspace: Workspace, dataset: str = "corpus", zone: str = "processed") -> Seal:
    """A key in the table, as a publish leaves it."""
    seal, row = workspace.minter.mint(dataset, zone)
    workspace.keys.add([row])
    return seal


def request(workspace: Workspace, role: str = "owner", **changes: object) -> AccessRequest:
    asked = AccessRequest(workspace.signer(role), "corpus", "processed", "train", on_behalf=RUN)
    return replace(asked, **changes)  # type: ignore[arg-type]


def newest(workspace: Workspace) -> Entry:
    return workspace.ledger.entry(workspace.ledger.size - 1)


def grant(workspace: Workspace, role: str, *zones: str, hours: int | None = None) -> str:
    principal = workspace.config.principals[role]
    expires = None if hours is None else workspace.now() + timedelta(hours=hours)
    body = Grant("", principal, "corpus", zones, ("train",), expires).body()
    draft = Draft("grant", (_subject(),), body, (workspace.signer("owner"),))
    return workspace.ledger.append([draft])[0].entry_id


def revoke(workspace: Workspace, entry_id: str) -> None:
    draft = Draft("revoke", (_subject(),), {"grant": entry_id}, (workspace.signer("owner"),))
    workspace.ledger.append([draft])


def _subject() -> Subject:
    return Subject("corpus", digest_of(b"corpus"))


def test_a_granted_request_is_recorded_and_gives_the_keys(workspace: Workspace) -> None:
    seal = key_of(workspace)
    version = digest_of(b"version")
    lease = workspace.gate.release(request(workspace, version=version))
    entry = workspace.ledger.entry(lease.position)
    assert entry.predicate == "access"
    assert entry.body["version"] == str(version)
    assert (entry.body["zone"], entry.body["purpose"]) == ("processed", "train")
    assert (entry.body["on_behalf"], entry.body["mode"]) == (RUN, "self-attested")
    assert lease.seal(seal.object_id) == seal


def test_the_requester_and_the_gate_both_sign_an_access(workspace: Workspace) -> None:
    lease = workspace.gate.release(request(workspace))
    entry = workspace.ledger.entry(lease.position)
    signers = {workspace.signer(role).keyid for role in ("owner", "gate")}
    assert {signature.keyid for signature in entry.signatures} == signers
    assert entry.principal == workspace.config.principals["owner"]
    assert not verify_ledger(workspace.ledger, workspace_trust(workspace.config))


def test_the_access_stands_in_the_ledger_before_any_key_is_unwrapped(workspace: Workspace) -> None:
    object_id = key_of(workspace).object_id
    cannot_unwrap = FileWrappingKey(bytes(32), os.urandom)
    gate = Gate(
        workspace.id_bytes,
        workspace.ledger,
        workspace.keys,
        cannot_unwrap,
        workspace.signer("gate"),
        workspace.now,
    )
    before = workspace.ledger.size
    lease = gate.release(request(workspace))
    with pytest.raises(IntegrityError, match="wrong wrapping key"):
        lease.seal(object_id)
    assert lease.position == before
    assert workspace.ledger.entry(before).predicate == "access"


def test_where_the_access_cannot_be_recorded_no_lease_is_given(workspace: Workspace) -> None:
    key_of(workspace)
    asked = request(workspace)
    gate = workspace.gate
    workspace.ledger.store.close()
    (workspace.state / "ledger.db").rename(workspace.state / "away.db")
    with pytest.raises(Unavailable, match=r"ledger\.db"):
        gate.release(asked)


def test_nobody_without_a_grant_is_given_a_key_and_the_refusal_is_recorded(
    workspace: Workspace,
) -> None:
    asked = request(workspace, "builder")
    with pytest.raises(AccessDenied, match="no grant lets this principal read zone processed"):
        workspace.gate.release(asked)
    refusal = newest(workspace)
    assert (refusal.predicate, refusal.body["reason"]) == ("refusal", "no-grant")
    assert refusal.principal == workspace.config.principals["builder"]
    assert refusal.body["on_behalf"] == RUN
    with pytest.raises(AccessDenied):
        workspace.gate.rejoin(RUN, "corpus")


@pytest.mark.parametrize(
    "changes", [{"zone": "raw"}, {"purpose": "audit"}, {"dataset": "other"}], ids=str
)
def test_another_zone_purpose_or_dataset_is_not_covered(
    workspace: Workspace, changes: dict[str, object]
) -> None:
    grant(workspace, "builder", "processed")
    workspace.gate.release(request(workspace, "builder"))
    with pytest.raises(AccessDenied):
        workspace.gate.release(request(workspace, "builder", **changes))
    assert newest(workspace).predicate == "refusal"


def test_an_expired_grant_no_longer_lets_in(workspace: Workspace) -> None:
    grant(workspace, "builder", "processed", hours=1)
    workspace.gate.release(request(workspace, "builder"))
    clock = workspace.now
    assert isinstance(clock, Clock)
    clock.time += timedelta(hours=1)
    with pytest.raises(AccessDenied):
        workspace.gate.release(request(workspace, "builder"))


def test_a_revoked_grant_no_longer_lets_in(workspace: Workspace) -> None:
    given = grant(workspace, "builder", "processed")
    workspace.gate.release(request(workspace, "builder"))
    revoke(workspace, given)
    with pytest.raises(AccessDenied):
        workspace.gate.release(request(workspace, "builder"))
    assert newest(workspace).body["reason"] == "no-grant"


def test_the_access_names_the_grant_that_allowed_it(workspace: Workspace) -> None:
    given = grant(workspace, "builder", "processed")
    lease = workspace.gate.release(request(workspace, "builder"))
    assert workspace.ledger.entry(lease.position).body["grant"] == given


def test_a_lease_ends(workspace: Workspace) -> None:
    seal = key_of(workspace)
    lease = workspace.gate.release(request(workspace, lease=timedelta(hours=1)))
    assert lease.seals([seal.object_id]) == {seal.object_id: seal}
    clock = workspace.now
    assert isinstance(clock, Clock)
    clock.time = lease.expires
    with pytest.raises(AccessDenied, match=f"access entry {lease.position} is over") as caught:
        lease.seal(seal.object_id)
    assert caught.value.hint == "ask again"
    with pytest.raises(AccessDenied, match="its lease is over"):
        workspace.gate.rejoin(RUN, "corpus")


def test_a_worker_in_another_process_is_given_the_same_lease_and_records_nothing(
    workspace: Workspace,
) -> None:
    seal = key_of(workspace)
    lease = workspace.gate.release(request(workspace))
    command = [sys.executable, "-c", JOINS, str(workspace.root), RUN, seal.object_id.hex()]
    done = subprocess.run(
        [*command, workspace.now().isoformat()],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == [lease.position, lease.position + 1, seal.object_id.hex()]


def test_a_worker_of_an_unknown_run_or_another_dataset_is_given_nothing(
    workspace: Workspace,
) -> None:
    workspace.gate.release(request(workspace))
    for run, dataset in (("0b" * 16, "corpus"), (RUN, "other")):
        with pytest.raises(AccessDenied, match="was given no keys"):
            workspace.gate.rejoin(run, dataset)


def test_keys_of_another_dataset_are_not_given(workspace: Workspace) -> None:
    other = key_of(workspace, "other")
    lease = workspace.gate.release(request(workspace))
    with pytest.raises(IntegrityError, match="is of another dataset"):
        lease.seal(other.object_id)


@pytest.mark.parametrize(
    ("zone", "opens"), [("raw", {"raw", "processed"}), ("processed", {"processed"})]
)
def test_a_lease_opens_keys_of_its_zones_alone(
    workspace: Workspace, zone: str, opens: set[str]
) -> None:
    keys = {name: key_of(workspace, zone=name) for name in ("raw", "processed", "system")}
    lease = workspace.gate.release(request(workspace, "owner", zone=zone))
    for name, seal in keys.items():
        if name in opens:
            assert lease.seal(seal.object_id) == seal
        else:
            with pytest.raises(IntegrityError, match="of another dataset or zone"):
                lease.seal(seal.object_id)


def test_no_lease_opens_the_keys_of_the_workspace_itself(workspace: Workspace) -> None:
    asked = request(workspace, "owner", dataset="ledger", zone="raw")
    lease = workspace.gate.release(asked)
    with pytest.raises(IntegrityError, match="of another dataset or zone"):
        lease.seal(workspace.keys.system("ledger").use.object_id)


def test_a_key_that_is_gone_is_not_found(workspace: Workspace) -> None:
    lease = workspace.gate.release(request(workspace))
    with pytest.raises(NotFound, match="has no key: it was destroyed or cut"):
        lease.seal(bytes(16))


def test_a_lease_shows_no_key(workspace: Workspace) -> None:
    seal = key_of(workspace)
    lease = workspace.gate.release(request(workspace))
    assert seal.key.hex() not in f"{lease!r} {vars(lease)} {lease.seal(seal.object_id)!r}"


def approved(workspace: Workspace, version: Digest | None, **changes: object) -> AccessRequest:
    return request(workspace, "owner", zone="approved", version=version, **changes)


def test_a_version_that_nobody_approved_is_not_read_as_approved(workspace: Workspace) -> None:
    version = publish(workspace)
    with pytest.raises(AccessDenied, match="nobody approved corpus@v1") as caught:
        workspace.gate.release(approved(workspace, version.manifest))
    assert caught.value.hint == "shardline approve corpus@v1 --reason …"
    assert caught.value.exit_code == 4
    refusal = newest(workspace)
    assert (refusal.predicate, refusal.body["reason"]) == ("refusal", "not-approved")
    assert refusal.body["version"] == str(version.manifest)


def test_an_approved_version_is_read(workspace: Workspace) -> None:
    version = publish(workspace)
    approve(workspace, version, "looked at it")
    lease = workspace.gate.release(approved(workspace, version.manifest))
    assert workspace.ledger.entry(lease.position).body["zone"] == "approved"


def test_an_approval_opens_neither_the_next_version_nor_another_dataset(
    workspace: Workspace,
) -> None:
    first, second = publish(workspace), publish(workspace, number=2)
    publish(workspace, "other")
    approve(workspace, first, "looked at it")
    for asked in (
        approved(workspace, second.manifest),
        approved(workspace, first.manifest, dataset="other"),
        approved(workspace, None),
    ):
        with pytest.raises(AccessDenied, match="nobody approved"):
            workspace.gate.release(asked)


def test_a_grant_is_needed_beside_the_approval(workspace: Workspace) -> None:
    version = publish(workspace)
    approve(workspace, version, "looked at it")
    asked = replace(approved(workspace, version.manifest), signer=workspace.signer("builder"))
    with pytest.raises(AccessDenied, match="no grant"):
        workspace.gate.release(asked)
