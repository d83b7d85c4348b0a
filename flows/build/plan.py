"""Plans a build: which partitions there are, and which are new to the dataset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flows.build.worker import spec_path, tokenizer_of
from flows.sources import source_files
from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import ConfigError
from lineage.manifests.content import packing_digest
from lineage.order import OrderParameters
from lineage.versions import Version, find_version, latest_version
from lineage.workspace import Workspace
from pipelines.clean.cleaning import Cleaning
from pipelines.dedup.repeated import Repeated
from pipelines.ingest.partition import Partition, plan_source
from pipelines.ingest.read import read_transform
from pipelines.rules.decide import rules_transform
from pipelines.shards.write import rows_per_group
from pipelines.spec.dataset import DatasetSpec, load_spec
from pipelines.spec.section import section_json
from pipelines.tokens.tokenizer import TokenizerIdentity
from pipelines.transform import Transform

# Raised when the bytes of stage files change, so that old ones are not reused.
_STAGE_FORMAT = "shardline/stage/v2"


@dataclass(frozen=True, slots=True)
class PlannedPartition:
    """A partition and the key under which its outputs are reused.

    Attributes:
        ordinal: its place in the plan.
        source: source ordinal.
        partition: where its bytes lie.
        stage_key: digest of its content and of all acts on it: names its outputs.
        key: digest of that and of all that is decided later: thresholds, duplicates,
            tokenizer.
        tally_key: names its tally of parts, where the corpus is asked what it repeats.
    """

    ordinal: int
    source: int
    partition: Partition
    stage_key: Digest
    key: Digest
    tally_key: Digest | None = None


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What a build will do.

    Attributes:
        spec: the dataset's spec.
        tokenizer: its identity.
        transforms: the acts of cleaning, and the rules.
        own: digests of the files of own transforms.
        partitions: in the order of the sources and their files.
        parent: the newest version, or None.
        inputs: digest of the spec and of all build keys.
        order: parameters of the running order.
        act: digest of all that is decided later, in the keys of partitions.
        against: versions of other datasets whose texts make way here.
    """

    spec: DatasetSpec
    tokenizer: TokenizerIdentity
    transforms: tuple[Transform, ...]
    own: tuple[Digest, ...]
    partitions: tuple[PlannedPartition, ...]
    parent: Version | None
    inputs: Digest
    order: OrderParameters
    act: Digest
    against: tuple[Version, ...] = ()

    @property
    def packing(self) -> Digest:
        """Digest of all that gives a document its tokens, its sample and its place."""
        return packing_digest(
            self.tokenizer.to_json(),
            self.spec.seed,
            self.spec.shards.sample_tokens,
            self.order.to_json(),
        )

    @property
    def nothing_new(self) -> bool:
        """Whether the newest version was built from the very same inputs."""
        return self.parent is not None and self.parent.inputs == self.inputs


def plan_build(workspace: Workspace, dataset: str) -> BuildPlan:
    """Reads the spec and every source's bytes, and finds the parent version.

    Raises:
        NotFound: there is no such spec, or no version of another dataset that it names.
        ConfigError: the spec, a source or the tokenizer file is wrong.
    """
    spec = load_spec(spec_path(workspace, dataset))
    tokenizer = tokenizer_of(spec, workspace.root).identity
    cleaning = Cleaning.of(spec, workspace.root)
    acts = tuple(act.transform() for act in cleaning.acts)
    transforms = (*acts, rules_transform(cleaning.rules))
    against = _against(workspace, spec)
    act = _act(spec, tokenizer, transforms, against)
    partitions = _partitions(workspace, spec, acts, act)
    parent = latest_version(workspace.ledger.entries(predicates={"version"}), dataset)
    keys = sorted(f"{item.partition.source}/{item.key}" for item in partitions)
    inputs = digest_of(canonical_json({"spec": spec.digest(), "act": act, "partitions": keys}))
    order = _order(spec, tokenizer)
    return BuildPlan(
        spec, tokenizer, transforms, cleaning.own, partitions, parent, inputs, order, act, against
    )


def _against(workspace: Workspace, spec: DatasetSpec) -> tuple[Version, ...]:
    """The versions of other datasets that a spec names, as they are now, each once."""
    found: dict[Digest, Version] = {}
    for name in spec.duplicates.against:
        version = find_version(workspace.ledger.entries(predicates={"version"}), name)
        if version.dataset == spec.name:
            raise ConfigError(
                f"{spec.name}: against names {name}, which is this dataset itself",
                "what it published before is always looked at; name other datasets",
            )
        found[version.manifest] = version
    return tuple(found.values())


def _order(spec: DatasetSpec, tokenizer: TokenizerIdentity) -> OrderParameters:
    token_bytes = np.dtype(tokenizer.dtype).itemsize
    return OrderParameters(
        group_shards=spec.shards.group_shards,
        block_samples=rows_per_group(spec.shards.sample_tokens, token_bytes),
        window_samples=spec.shards.window_samples,
    )


def _act(
    spec: DatasetSpec,
    tokenizer: TokenizerIdentity,
    transforms: tuple[Transform, ...],
    against: tuple[Version, ...],
) -> Digest:
    act: dict[str, object] = {
        "format": _STAGE_FORMAT,
        "seed": spec.seed,
        "transforms": [transform.digest() for transform in transforms],
        "duplicates": digest_of(canonical_json(section_json(spec.duplicates))),
        "tokenizer": tokenizer.to_json(),
    }
    if against:
        act["against"] = [version.manifest for version in against]
    return digest_of(canonical_json(act))


def _partitions(
    workspace: Workspace, spec: DatasetSpec, acts: tuple[Transform, ...], act: Digest
) -> tuple[PlannedPartition, ...]:
    planned: list[PlannedPartition] = []
    digests = [transform.digest() for transform in acts]
    tallied = _tallied(spec, acts)
    for ordinal, source in enumerate(spec.sources):
        read = read_transform(source, spec.seed).digest()
        for partition in plan_source(source, source_files(source, workspace.root)):
            work = {
                "content": partition.content,
                "compression": partition.compression,
                "read": read,
                "format": _STAGE_FORMAT,
            }
            stage_key = digest_of(canonical_json(work | {"acts": digests}))
            key = digest_of(canonical_json({"stage": stage_key, "act": act}))
            tally = digest_of(canonical_json(work | {"tallied": digests[:tallied]}))
            keys = (stage_key, key, tally if tallied else None)
            planned.append(PlannedPartition(len(planned), ordinal, partition, *keys))
    return tuple(planned)


def _tallied(spec: DatasetSpec, acts: tuple[Transform, ...]) -> int:
    """How many acts a tally hangs on: those up to the one that takes out what is repeated.

    0 where nothing is to be tallied.
    """
    if spec.repeated is None or spec.repeated.max_documents is None:
        return 0
    return 1 + [transform.name for transform in acts].index(Repeated.name)
