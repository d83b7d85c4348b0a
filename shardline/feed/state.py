"""Where a feed stands: all that an exact resume needs, in well under 1 KB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lineage.digest import Digest
from lineage.errors import ConfigError, IntegrityError

FORMAT = "shardline-feed-1"


@dataclass(frozen=True, slots=True)
class FeedState:
    """The point before the next batch. The same on every rank, and free of the number of ranks.

    Attributes:
        version: the digest of the version's content manifest.
        seed: the order's.
        batch_size: samples of a step over all ranks.
        drop_last: whether epochs end with their last full batch.
        epoch: of the next batch; the number of epochs once all are given.
        position: of the next batch's first sample in the epoch's order.
        step: steps given since the feed's beginning, through all epochs and resumes.
    """

    version: Digest
    seed: int
    batch_size: int
    drop_last: bool
    epoch: int
    position: int
    step: int

    def to_json(self) -> dict[str, str | int | bool]:
        """What `state_dict` gives: only str, int and bool."""
        return {
            "format": FORMAT,
            "version": str(self.version),
            "seed": self.seed,
            "batch_size": self.batch_size,
            "drop_last": self.drop_last,
            "epoch": self.epoch,
            "position": self.position,
            "step": self.step,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> FeedState:
        """Reads `to_json`.

        Raises:
            ConfigError: this is no state of a feed.
        """
        if value.get("format") != FORMAT:
            raise ConfigError("this is not the state of a feed", "pass what state_dict() gave")
        names = ("seed", "batch_size", "epoch", "position", "step")
        try:
            return cls(
                version=Digest.parse(str(value["version"])),
                drop_last=bool(value["drop_last"]),
                **{name: int(str(value[name])) for name in names},
            )
        except (KeyError, ValueError, IntegrityError) as error:
            raise ConfigError(f"the state of the feed cannot be read: {error}") from None

    def check_continues(self, saved: FeedState) -> None:
        """Refuses a saved state that this feed (at its own state) cannot continue exactly.

        Raises:
            ConfigError: it is of another version, seed, batch size or drop_last.
        """
        hints = {
            "version": "resume on the version that the run read",
            "seed": "pass the run's seed",
            "batch_size": "keep the global batch; the number of ranks is free",
            "drop_last": "pass the run's drop_last",
        }
        for name, hint in hints.items():
            ours, theirs = getattr(self, name), getattr(saved, name)
            if ours != theirs:
                raise ConfigError(f"the saved state has {name} {theirs}, this feed {ours}", hint)
