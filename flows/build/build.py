"""The build: ingest, clean, tokenize, shard, publish; each step idempotent.

The steps say what is done; the conductor says who runs them (Prefect or this process),
the engine where.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain

import pyarrow as pa

from flows.build.announcer import Announcer
from flows.build.assemble import assemble
from flows.build.batches import batches_of
from flows.build.conductor import Conductor
from flows.build.elsewhere import published_elsewhere
from flows.build.input import InputRows
from flows.build.near import CHOICES, CONTESTS, decide_near, lay_out, near_duplicates
from flows.build.ordered import SPILLS
from flows.build.pack import SHARD_KIND, PackJob, pack_shards, punch_shard
from flows.build.packing import Bucket, buckets_of, punch_jobs, runs_of
from flows.build.parent import AliveRows, Parent, open_parent, parent_keys
from flows.build.plan import BuildPlan, plan_build
from flows.build.prepare import KIND, PreparedPartition, prepare_partitions
from flows.build.publish import RECORDS, Publisher, seal_records
from flows.build.rails import require_kept, require_readable, require_small_clusters
from flows.build.recall import injected_recall, recall_job
from flows.build.records import (
    partition_table,
    placed_findings,
    placed_quarantine,
    placed_records,
)
from flows.build.report import BuildReport, NearCounts, nothing_new
from flows.build.resolve import NEW_KIND, ResolvedBuild, conclude
from flows.build.segments import BuiltSegment, SegmentBuilder
from flows.build.tally import TALLIES, tally_partitions, with_repeated
from flows.build.tokenize import KIND as TOKENS_KIND
from flows.build.tokenize import (
    TokenizedPartition,
    counted,
    tokenize_jobs,
    tokenize_partitions,
)
from flows.build.worker import REPEATED, Assignment, stage_store
from flows.storage import workspace_tiers
from lineage.digest import Digest
from lineage.keys.gate import AccessRequest, KeyLease
from lineage.versions import latest_version
from lineage.workspace import PUBLISH_LOCK, PUBLISH_WAIT_S, Workspace
from pipelines.books import Books, Count
from pipelines.clean.cleaning import Cleaning
from pipelines.decontamination.evaluation import Evaluation
from pipelines.dedup.resolve import Resolving

_ENTROPY_BUILD_ID = 16
# Longer than any build: a worker that starts late still has to be let in.
_LEASE = timedelta(days=30)


def build_dataset(
    workspace: Workspace,
    dataset: str,
    conductor: Conductor,
    num_workers: int,
    announce: Announcer,
    planned: BuildPlan | None = None,
) -> BuildReport:
    """Builds a dataset and publishes a version, unless nothing is new.

    Args:
        planned: a plan made a moment ago; it is made again if another build published since.
        announce: told of what is done, stage by stage.

    Raises:
        NotFound, ConfigError: the spec or a source is wrong.
        Conflict: another build of this dataset is running.
        IntegrityError: the books do not balance, or stored bytes are wrong.
        Unavailable: a disk is full, read-only or away.
    """
    started = time.monotonic()
    with workspace.locked(f"build-{dataset}", f"a build of {dataset} is running already"):
        plan = conductor.call("plan", partial(_plan, workspace, dataset, planned))
        if plan.nothing_new:
            return nothing_new(plan, time.monotonic() - started)
        return _Build(workspace, plan, conductor, num_workers, announce, started).run()


def _plan(workspace: Workspace, dataset: str, planned: BuildPlan | None) -> BuildPlan:
    newest = latest_version(workspace.ledger.entries(predicates={"version"}), dataset)
    if planned is not None and planned.parent == newest:
        return planned
    return plan_build(workspace, dataset)


class _Build:
    """One build on its way. The fields are what each step leaves for the next."""

    def __init__(
        self,
        workspace: Workspace,
        plan: BuildPlan,
        conductor: Conductor,
        num_workers: int,
        announce: Announcer,
        started: float,
    ) -> None:
        self._workspace = workspace
        self._plan = plan
        self._conductor = conductor
        self._num_workers = num_workers
        self._announce = announce
        self._started = started
        self._cleaning = Cleaning.of(plan.spec, workspace.root)
        self._stage = stage_store(workspace, plan.spec.name)
        self._seconds: Mapping[str, float] = {}
        self._near: NearCounts | None = None
        self._near_sample: pa.Table | None = None
        self._evaluation: Evaluation | None = None
        self._build_id = workspace.entropy(_ENTROPY_BUILD_ID).hex()
        self._lease = self._ask_gate()
        self._assignment = Assignment(
            str(workspace.root), plan.spec.name, plan.spec.digest(), self._build_id, plan.own
        )

    def run(self) -> BuildReport:
        self._tally()
        prepared = self._prepare()
        require_readable(self._plan.spec, prepared)
        parent = open_parent(self._workspace, self._plan, self._lease)
        documents = self._documents(parent, prepared)
        resolving = self._conductor.call("resolve", partial(self._resolve, parent, documents))
        if self._plan.spec.duplicates.near:
            self._drop_near(documents, resolving)
        if self._plan.spec.duplicates.largest_cluster is not None:
            require_small_clusters(self._plan, documents, resolving.largest_cluster())
        if self._plan.spec.decontamination is not None:
            self._measure_recall(documents, resolving)
        resolved = self._conductor.call(
            "conclude", partial(self._conclude, parent, documents, resolving)
        )
        tokenized = self._tokenize(resolved)
        resolved = self._conductor.call("count", partial(counted, self._stage, resolved, tokenized))
        segments = self._shard(parent, resolved, tokenized)
        self._seconds = _work_seconds(prepared, tokenized)
        publish = partial(self._publish, parent, prepared, resolved, segments)
        return self._conductor.call("publish", publish)

    def _ask_gate(self) -> KeyLease:
        """One access entry for the whole build; its workers ask by build id."""
        signer = self._workspace.signer("builder")
        dataset = self._plan.spec.name
        request = AccessRequest(
            signer, dataset, "raw", "build", on_behalf=self._build_id, lease=_LEASE
        )
        return self._workspace.gate.release(request)

    def _tally(self) -> None:
        """Asks the corpus what it repeats, where the spec takes that out of texts."""
        items = self._plan.partitions
        if not any(item.tally_key for item in items):
            return
        self._announce.expect("tally", sum(item.partition.num_bytes for item in items))
        batches = batches_of(items, lambda item: item.partition.num_bytes, self._num_workers)
        function = partial(tally_partitions, self._assignment)
        for num_bytes in self._conductor.map("tally", function, batches):
            self._announce.advance("tally", num_bytes=num_bytes)
        counting = partial(with_repeated, self._stage, self._plan)
        self._plan = self._conductor.call("repeated", counting)
        self._assignment = replace(self._assignment, repeated=self._plan.inputs)

    def _prepare(self) -> list[PreparedPartition]:
        total = sum(item.partition.num_bytes for item in self._plan.partitions)
        for stage in ("ingest", "clean"):
            self._announce.expect(stage, total)
        items = self._plan.partitions
        batches = batches_of(items, lambda item: item.partition.num_bytes, self._num_workers)
        function = partial(prepare_partitions, self._assignment)
        prepared: list[PreparedPartition] = []
        for results in self._conductor.map("prepare", function, batches):
            for item in results:
                prepared.append(item)
                self._tell(item)
        return sorted(prepared, key=lambda item: item.ordinal)

    def _tell(self, item: PreparedPartition) -> None:
        book = Books.parse(item.books).stage("ingest") if item.books else None
        for stage in ("ingest", "clean"):
            count = Count() if book is None else book.in_ if stage == "ingest" else book.kept
            self._announce.advance(stage, count.records, count.bytes, 0)

    def _documents(self, parent: Parent, prepared: Sequence[PreparedPartition]) -> InputRows:
        sources, rules = self._source_ordinals(parent), self._cleaning.rules
        rows = partial(InputRows, self._stage, self._plan, prepared, rules, sources)
        if not self._plan.against:
            return rows()
        found = published_elsewhere(self._workspace, self._plan, self._build_id, rows())
        return rows(elsewhere=found)

    def _resolve(self, parent: Parent, documents: InputRows) -> Resolving:
        return Resolving(documents, AliveRows(self._workspace, parent, self._lease))

    def _drop_near(self, documents: InputRows, resolving: Resolving) -> None:
        lay = partial(
            lay_out,
            self._stage,
            self._plan,
            self._assignment,
            resolving.contest(),
            self._num_workers,
        )
        ring = self._conductor.call("contest", lay)
        keys = list(self._conductor.map("near", decide_near, ring.jobs))
        near = near_duplicates(self._stage, self._plan, documents, ring, keys)
        self._near, self._near_sample = near.counts, near.sample
        threshold = self._plan.spec.duplicates.similarity
        resolving.make_way(near.rows, near.survivors, near.similarity, threshold)
        require_kept(self._plan.spec, *resolving.near_by_source())

    def _measure_recall(self, documents: InputRows, resolving: Resolving) -> None:
        job = recall_job(self._assignment, self._plan, documents, resolving.kept())
        (self._evaluation,) = self._conductor.map("recall", injected_recall, [job])

    def _conclude(
        self, parent: Parent, documents: InputRows, resolving: Resolving
    ) -> ResolvedBuild:
        keys = parent_keys(self._workspace, parent, self._lease)
        return conclude(self._stage, self._plan, documents, resolving, keys)

    def _source_ordinals(self, parent: Parent) -> tuple[int, ...]:
        names = parent.source_names(self._plan.spec)
        return tuple(names.index(source.name) for source in self._plan.spec.sources)

    def _tokenize(self, resolved: ResolvedBuild) -> list[TokenizedPartition]:
        jobs = tokenize_jobs(self._assignment, self._plan, resolved)
        self._announce.expect("tokenize", sum(job.num_bytes for job in jobs))
        batches = batches_of(jobs, lambda job: job.num_bytes, self._num_workers)
        tokenized: list[TokenizedPartition] = []
        for results in self._conductor.map("tokenize", tokenize_partitions, batches):
            for item in results:
                tokenized.append(item)
                self._announce.advance(
                    "tokenize", item.num_documents, item.num_bytes, item.num_tokens
                )
        return sorted(tokenized, key=lambda item: item.ordinal)

    def _shard(
        self,
        parent: Parent,
        resolved: ResolvedBuild,
        tokenized: Sequence[TokenizedPartition],
    ) -> list[BuiltSegment]:
        dataset = self._plan.spec.name
        builder = SegmentBuilder(self._workspace, self._stage, parent, self._lease, dataset)
        holes = self._punch(parent, resolved)
        segments = [
            builder.changed(info, holes[info.name])
            if info.name in holes
            else builder.unchanged(info)
            for info in parent.segments
        ]
        if len(resolved.new) or not segments:
            name = parent.next_segment
            segments.append(builder.new(name, self._pack(name, resolved, tokenized)))
        return segments

    def _pack(
        self, segment: str, resolved: ResolvedBuild, tokenized: Sequence[TokenizedPartition]
    ) -> list[Digest]:
        tokens = {item.ordinal: item.key for item in tokenized}
        buckets = buckets_of(self._plan, segment, resolved)
        runs = runs_of(buckets, self._plan.spec.shards.shard_bytes, self._num_workers)
        jobs = [PackJob(self._assignment, resolved.key, segment, run, tokens) for run in runs]
        done: dict[int, Digest] = {}
        for result in self._conductor.map("shard", pack_shards, jobs):
            done.update(result)
            for bucket in result:
                self._announce_shard(resolved, buckets[bucket])
        return [done[n] for n in range(len(buckets))]

    def _announce_shard(self, resolved: ResolvedBuild, bucket: Bucket) -> None:
        _, start, stop = bucket
        self._announce.advance("shard", stop - start, 0, resolved.num_tokens(start, stop))

    def _punch(self, parent: Parent, resolved: ResolvedBuild) -> dict[str, dict[int, Digest]]:
        jobs = punch_jobs(self._assignment, parent, resolved)
        holes: dict[str, dict[int, Digest]] = {}
        for name, shard, key in self._conductor.map("punch", punch_shard, jobs):
            holes.setdefault(name, {})[shard] = key
        return holes

    def _publish(
        self,
        parent: Parent,
        prepared: Sequence[PreparedPartition],
        resolved: ResolvedBuild,
        segments: Sequence[BuiltSegment],
    ) -> BuildReport:
        plan, workspace = self._plan, self._workspace
        tables = {
            "partitions": partition_table(plan.partitions),
        }
        if plan.spec.personal.actions:
            tables["findings"] = placed_findings(self._stage, plan, resolved.fresh)
        if self._near_sample is not None:
            tables["near_sample"] = self._near_sample
        if self._evaluation is not None:
            tables["evaluation"] = self._evaluation.table()
        decided = chain.from_iterable(
            (("decisions", decisions), ("signals", signals))
            for decisions, signals in placed_records(self._stage, plan, resolved)
        )
        quarantine = placed_quarantine(self._stage, plan, prepared, resolved.fresh)
        parts = chain(tables.items(), (("quarantine", rows) for rows in quarantine), decided)
        records = seal_records(workspace, self._stage, plan.spec.name, resolved.key, parts)
        assembled = assemble(plan, parent, prepared, resolved, segments, records.tables, workspace)
        with workspace.locked(PUBLISH_LOCK, "another build is publishing", PUBLISH_WAIT_S):
            publisher = Publisher(workspace, plan, parent, segments, records, self._announce)
            version = publisher.publish(assembled.manifest, self._build_id)
        self._prune()
        objects = publisher.objects()
        return BuildReport(
            version=version,
            published=True,
            books=assembled.books,
            num_new=len(resolved.new),
            num_removed=resolved.resolution.removed.num_rows,
            num_tokens=assembled.manifest.num_tokens,
            num_shards=sum(len(segment.info.shard_samples) for segment in segments),
            tiers=workspace_tiers(workspace).status(objects),
            seconds=time.monotonic() - self._started,
            stage_seconds=self._seconds,
            near=self._near,
            evaluation=self._evaluation,
        )

    def _prune(self) -> None:
        """Drops what the next build cannot reuse: only partitions and tallies stay."""
        self._stage.prune(KIND, {item.stage_key for item in self._plan.partitions})
        self._stage.prune(TALLIES, {i.tally_key for i in self._plan.partitions if i.tally_key})
        for kind in (
            REPEATED,
            CONTESTS,
            CHOICES,
            NEW_KIND,
            SPILLS,
            TOKENS_KIND,
            RECORDS,
            SHARD_KIND,
        ):
            self._stage.prune(kind, set())


def _work_seconds(
    prepared: Sequence[PreparedPartition], tokenized: Sequence[TokenizedPartition]
) -> Mapping[str, float]:
    stages = sorted({stage for item in prepared for stage in item.seconds})
    seconds = {stage: sum(item.seconds.get(stage, 0.0) for item in prepared) for stage in stages}
    return seconds | {"tokenize": sum(item.seconds for item in tokenized)}
