"""The gate: the one way to a data key.

It checks a grant at a ledger position, appends the access entry, and only when that is
durable unwraps. In a workspace it runs in-process (mode ``self-attested``): whoever
holds the folder and its wrapping key could go round it, and every answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn

from lineage.clock import parse_time, time_text
from lineage.digest import Digest
from lineage.errors import AccessDenied, IntegrityError, NotFound
from lineage.keys.approvals import approvals
from lineage.keys.grants import APPROVED, Grant, standing_grants
from lineage.keys.keytable import KeyTable, WrappedKey
from lineage.keys.sealing import Seal
from lineage.keys.wrapping import WrappingKey
from lineage.ledger.draft import Draft
from lineage.ledger.entry import Entry
from lineage.ledger.envelope import Signer
from lineage.ledger.log import Ledger
from lineage.ledger.statement import Subject

MODE = "self-attested"
DEFAULT_LEASE = timedelta(hours=12)
# The zones of keys that an access to a zone opens. Keys of the workspace itself: never.
_OPENS = {
    "raw": frozenset({"raw", "processed"}),
    "processed": frozenset({"processed"}),
    APPROVED: frozenset({"processed"}),
}


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """Who wants keys to what, and why.

    Attributes:
        signer: the requester.
        dataset: its name.
        zone: ``raw``, ``processed`` or ``approved``; the last needs an approved `version`.
        purpose: ``build``, ``train``, ``audit`` or ``lookup``.
        on_behalf: id of the run or build, 32 hex digits, or None.
        version: digest of the version's content manifest, or None.
        lease: how long workers of the run or build may ask again.
    """

    signer: Signer
    dataset: str
    zone: str
    purpose: str
    on_behalf: str | None = None
    version: Digest | None = None
    lease: timedelta = DEFAULT_LEASE


class KeyLease:
    """Keys released by one access entry. It never shows a key.

    Attributes:
        position: of the access entry in the ledger.
        expires: the moment after which it gives no more keys.
    """

    def __init__(
        self,
        position: int,
        expires: datetime,
        unwrap: Callable[[list[bytes]], dict[bytes, Seal]],
        now: Callable[[], datetime],
    ) -> None:
        self.position = position
        self.expires = expires
        self._unwrap = unwrap
        self._now = now

    def seals(self, object_ids: Iterable[bytes]) -> dict[bytes, Seal]:
        """The seals of some objects.

        Raises:
            AccessDenied: the lease is over.
            NotFound: an object has no key (it may have been destroyed).
            IntegrityError: a wrapped key was changed, or is of another dataset.
        """
        if self._now() >= self.expires:
            raise AccessDenied(f"the lease of access entry {self.position} is over", "ask again")
        return self._unwrap(list(object_ids))

    def seal(self, object_id: bytes) -> Seal:
        """The seal of one object; raises as `seals` does."""
        return self.seals([object_id])[object_id]


class Gate:
    """Releases data keys of one workspace.

    Args:
        workspace_id: 16 bytes, bound into every seal.
        signer: the gate's own key, which signs beside the requester.
    """

    def __init__(
        self,
        workspace_id: bytes,
        ledger: Ledger,
        keys: KeyTable,
        wrapping: WrappingKey,
        signer: Signer,
        now: Callable[[], datetime],
    ) -> None:
        self._workspace_id = workspace_id
        self._ledger = ledger
        self._keys = keys
        self._wrapping = wrapping
        self._signer = signer
        self._now = now

    def release(self, request: AccessRequest) -> KeyLease:
        """Checks the grant, records the access, then gives a lease.

        Raises:
            AccessDenied: no standing grant allows it, or the zone is ``approved`` and nobody
                approved the version; a refusal entry records which.
        """
        grant = self._grant(request)
        if grant is None:
            self._refuse(
                request,
                "no-grant",
                f"no grant lets this principal read zone {request.zone} of "
                f"{request.dataset} for {request.purpose}",
                "ask an administrator for a grant",
            )
        if request.zone == APPROVED and not self._is_approved(request):
            name = self._name(request)
            hint = f"shardline approve {name} --reason …"
            self._refuse(request, "not-approved", f"nobody approved {name}", hint)
        expires = self._now() + request.lease
        more = {"grant": grant.entry_id, "lease_expires": time_text(expires), "mode": MODE}
        (entry,) = self._ledger.append([self._draft("access", request, more)])
        return self._lease(entry, expires)

    def rejoin(self, on_behalf: str, dataset: str) -> KeyLease:
        """The lease that a run or build was given already: for its workers.

        Raises:
            AccessDenied: there is none, or it is over.
        """
        for entry in reversed(list(self._ledger.entries(predicates={"access"}))):
            if entry.body["on_behalf"] == on_behalf and entry.body["dataset"] == dataset:
                expires = parse_time(entry.body["lease_expires"])
                if self._now() < expires:
                    return self._lease(entry, expires)
        raise AccessDenied(f"{on_behalf} was given no keys to {dataset}, or its lease is over")

    def _refuse(self, request: AccessRequest, reason: str, message: str, hint: str) -> NoReturn:
        self._ledger.append([self._draft("refusal", request, {"reason": reason})])
        raise AccessDenied(message, hint)

    def _is_approved(self, request: AccessRequest) -> bool:
        """An approval of this dataset's version: one of another opens nothing here."""
        given = approvals(self._ledger.entries(predicates={"approval"}))
        wanted = (request.dataset, request.version)
        return any((item.dataset, item.manifest) == wanted for item in given)

    def _name(self, request: AccessRequest) -> str:
        """``name@vN`` of the version that is asked for, for messages."""
        for entry in self._ledger.entries(predicates={"version"}):
            if entry.body["manifest"] == str(request.version):
                return f"{entry.body['dataset']}@v{entry.body['number']}"
        return f"{request.dataset}@vN"

    def _grant(self, request: AccessRequest) -> Grant | None:
        grants = standing_grants(self._ledger.entries(predicates={"grant", "revoke"}))
        wanted = (request.signer.principal, request.dataset, request.zone, request.purpose)
        now = self._now()
        return next((grant for grant in grants if grant.covers(*wanted, now)), None)

    def _draft(self, predicate: str, request: AccessRequest, more: Mapping[str, object]) -> Draft:
        version = request.version
        subject = Subject(request.dataset, version or Digest(bytes(32)))
        body = {
            "dataset": request.dataset,
            "version": version,
            "zone": request.zone,
            "purpose": request.purpose,
            "on_behalf": request.on_behalf,
            **more,
        }
        return Draft(predicate, (subject,), body, (request.signer, self._signer))

    def _lease(self, access: Entry, expires: datetime) -> KeyLease:
        dataset, zones = access.body["dataset"], _OPENS[access.body["zone"]]

        def unwrap(object_ids: list[bytes]) -> dict[bytes, Seal]:
            return self._unwrapped(object_ids, dataset, zones)

        return KeyLease(access.position, expires, unwrap, self._now)

    def _unwrapped(
        self, object_ids: list[bytes], dataset: str, zones: frozenset[str]
    ) -> dict[bytes, Seal]:
        rows = self._keys.of_objects(object_ids)
        for object_id in object_ids:
            if object_id not in rows:
                raise NotFound(f"object {object_id.hex()} has no key: it was destroyed or cut")
        for row in rows.values():
            if row.use.dataset != dataset or row.use.zone not in zones:
                name = row.use.object_id.hex()
                raise IntegrityError(f"object {name} is of another dataset or zone")
        return {object_id: self._seal(row) for object_id, row in rows.items()}

    def _seal(self, row: WrappedKey) -> Seal:
        key = self._wrapping.unwrap(row.wrapped, row.use)
        return Seal(self._workspace_id, row.use.object_id, key)
