"""Drafts: what somebody wants to say, and how it becomes a stored row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lineage.errors import ConfigError
from lineage.ledger.envelope import Signer, sign_envelope
from lineage.ledger.leaf import (
    BLIND_BYTES,
    ENTRY_ID_BYTES,
    NONCE_BYTES,
    Leaf,
    commitment,
    leaf_data,
    seal_payload,
)
from lineage.ledger.statement import Claim, Statement, Subject, predicate_uri, statement_bytes
from lineage.ledger.store import Row


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be: what to say, and who signs it.

    Attributes:
        predicate: a short name of `statement.PREDICATES`.
        subjects: one or more.
        body: ids, digests, counts; never text, paths, reasons or names of people.
        signers: the first is the entry's principal.
    """

    predicate: str
    subjects: tuple[Subject, ...]
    body: Mapping[str, object]
    signers: tuple[Signer, ...]

    def check(self) -> None:
        """Refuses what could never be appended.

        Raises:
            ConfigError: an unknown predicate, no subject, or no signer.
        """
        predicate_uri(self.predicate)
        if not self.signers or not self.subjects:
            raise ConfigError(f"a draft of a {self.predicate} entry has no signer or no subject")

    @property
    def principal(self) -> str:
        """The first signer's id."""
        return self.signers[0].principal


def row_of(
    draft: Draft,
    claim: Claim,
    *,
    position: int,
    ledger_key: bytes,
    entropy: Callable[[int], bytes],
) -> Row:
    """Signs a draft, commits to the envelope and seals it.

    Args:
        claim: of the draft's principal, with the draft's body.
        entropy: gives the commitment's blind, the entry id and the nonce, in this order.

    Raises:
        ConfigError: a value that canonical JSON cannot hold, or an entry over 64 KiB.
    """
    statement = Statement(predicate_uri(draft.predicate), draft.subjects, claim.predicate())
    envelope = sign_envelope(statement_bytes(statement), draft.signers)
    blind = entropy(BLIND_BYTES)
    leaf = Leaf(claim.log_id, entropy(ENTRY_ID_BYTES).hex(), commitment(blind, envelope))
    payload = seal_payload(
        blind, envelope, leaf=leaf, ledger_key=ledger_key, nonce=entropy(NONCE_BYTES)
    )
    return Row(position, leaf.entry_id, leaf_data(leaf), payload)
