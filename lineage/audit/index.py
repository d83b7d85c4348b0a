"""The ledger in the shape of questions: versions, builds, approvals, runs, checkpoints.

It is made from the entries at each question and kept nowhere, so it is complete up to
the tree size that every answer names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from lineage.consumption import Consumption, joined
from lineage.digest import Digest
from lineage.errors import ConfigError, NotFound
from lineage.keys.approvals import Approval, approvals
from lineage.ledger.entry import Entry
from lineage.versions import Version, published_versions

_MIN_PREFIX = 4


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Saved weights: whose, at which step, and their digest."""

    run: str
    step: int
    digest: Digest
    time: datetime
    position: int


@dataclass(slots=True)
class Run:
    """One training run as the ledger has it.

    Attributes:
        entry: its run entry.
        records: ledger position and consumption, in the order in which they were recorded.
        checkpoints: likewise.
    """

    entry: Entry
    records: list[tuple[int, Consumption]] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)

    @property
    def consumptions(self) -> list[Consumption]:
        """What the run was given, in the order in which it was recorded, without a cut between."""
        return joined([consumption for _, consumption in self.records])

    @property
    def id(self) -> str:
        """32 hex digits."""
        return str(self.entry.body["run"])

    @property
    def model(self) -> str:
        """What the model is called, for people."""
        return str(self.entry.body["model"])

    @property
    def version(self) -> Digest:
        """Digest of the content manifest it reads."""
        return Digest.parse(self.entry.body["version"])

    @property
    def base_checkpoint(self) -> Digest | None:
        """Digest of the checkpoint it started from, or None."""
        text = self.entry.body["base_checkpoint"]
        return None if text is None else Digest.parse(text)


class LedgerIndex:
    """What the entries up to one tree size say.

    Args:
        entries: from position 0, without a gap.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        everything = list(entries)
        self.size = len(everything)
        self.versions: list[Version] = published_versions(everything)
        self.approvals: list[Approval] = approvals(everything)
        self.builds = {e.body["build"]: e for e in everything if e.predicate == "build"}
        self.accesses = [e for e in everything if e.predicate == "access"]
        self.runs: dict[str, Run] = {}
        for entry in everything:
            self._take(entry)

    def run(self, name: str) -> Run:
        """A run by its id, the start of its id, or its model's name (the newest run of it).

        Raises:
            NotFound: there is none.
            ConfigError: several ids start so.
        """
        if name in self.runs:
            return self.runs[name]
        begun = [run for run in self.runs.values() if run.id.startswith(name)]
        if len(name) >= _MIN_PREFIX and len(begun) > 1:
            raise ConfigError(f"{name}: {len(begun)} runs start so", "give more of the id")
        named = [run for run in self.runs.values() if run.model == name]
        found = (begun if len(name) >= _MIN_PREFIX and begun else named)[-1:]
        if not found:
            raise NotFound(f"no run is called {name}", "shardline audit runs lists them")
        return found[0]

    def version_of(self, manifest: Digest) -> Version:
        """The version of a content manifest.

        Raises:
            NotFound: the ledger names no such version.
        """
        for version in self.versions:
            if version.manifest == manifest:
                return version
        raise NotFound(f"no version has the content manifest {manifest}")

    def approvals_of(self, manifest: Digest) -> list[Approval]:
        """The approvals of one version."""
        return [approval for approval in self.approvals if approval.manifest == manifest]

    def checkpoints_of(self, digest: Digest) -> list[Checkpoint]:
        """Every record of a checkpoint with this digest."""
        every = (item for run in self.runs.values() for item in run.checkpoints)
        return [item for item in every if item.digest == digest]

    def accesses_of(self, on_behalf: str) -> list[Entry]:
        """The access entries that a run or build caused."""
        return [entry for entry in self.accesses if entry.body["on_behalf"] == on_behalf]

    def _take(self, entry: Entry) -> None:
        if entry.predicate == "run":
            self.runs[entry.body["run"]] = Run(entry)
        elif entry.predicate == "consumption":
            body = {name: value for name, value in entry.body.items() if name != "run"}
            record = (entry.position, Consumption.from_json(body))
            self.runs[entry.body["run"]].records.append(record)
        elif entry.predicate == "checkpoint":
            self.runs[entry.body["run"]].checkpoints.append(_checkpoint(entry))


def _checkpoint(entry: Entry) -> Checkpoint:
    body = entry.body
    digest = Digest.parse(body["checkpoint"])
    return Checkpoint(body["run"], int(body["step"]), digest, entry.time, entry.position)
