"""A transform: one named, revisioned, deterministic act on documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lineage.digest import Digest, canonical_json, digest_of


@dataclass(frozen=True, slots=True)
class Transform:
    """What a build key knows of a transform.

    Attributes:
        revision: raised by us when the meaning changes.
        parameters: everything that the spec sets.
        behaviour: digest of its output on the fixed probe texts, so that a library that
            changed its mind is seen, and one that only changed its version is not.
    """

    name: str
    revision: int
    parameters: Mapping[str, str | int | None]
    behaviour: Digest

    def digest(self) -> Digest:
        """The digest of all fields (frozen, docs/formats.md section 5)."""
        return digest_of(
            canonical_json(
                {
                    "format": "shardline/transform/v1",
                    "name": self.name,
                    "revision": self.revision,
                    "parameters": self.parameters,
                    "behaviour": self.behaviour,
                }
            )
        )
