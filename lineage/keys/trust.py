"""Whom a verifier believes: the keys that the workspace's settings pin, and whom they certify."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from lineage.config import Config
from lineage.errors import IntegrityError
from lineage.ledger.entry import Entry
from lineage.ledger.envelope import keyid_of
from lineage.ledger.history import Keys, PrincipalKey, Trust


def workspace_trust(config: Config) -> Trust:
    """Trust in the root key and the log key of `shardline.toml`, and in nobody else.

    The caller MUST have got these two keys from somebody it trusts.
    """
    root = _principal_key(config.principals["root"], config.root_key)
    keys = {keyid_of(root.public_key): root}

    def learn(known: Keys, entry: Entry) -> Keys:
        return _learn(config, known, entry)

    return Trust((_public_key(config.log_key),), keys, learn)


def _learn(config: Config, known: Keys, entry: Entry) -> Keys:
    """Genesis must pin what the settings pin; a principal's key is certified by the root."""
    if entry.predicate == "genesis":
        pinned = (entry.body["root_keys"][0]["key"], entry.body["log_key"])
        if pinned != (config.root_key, config.log_key) or entry.position != 0:
            raise IntegrityError("the genesis entry pins other keys than shardline.toml")
    elif entry.predicate == "principal":
        if entry.principal != config.principals["root"]:
            raise IntegrityError("a principal was certified by somebody else than the root")
        added = _principal_key(entry.body["principal"], entry.body["key"])
        return {**known, keyid_of(added.public_key): added}
    return known


def _principal_key(principal: str, key: str) -> PrincipalKey:
    return PrincipalKey(principal, _public_key(key))


def _public_key(text: str) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
    except ValueError:
        raise IntegrityError("a public key of 64 hex digits was expected") from None
