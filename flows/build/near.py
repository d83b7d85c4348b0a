"""Near duplicates: who contests with whom is found here, and decided in workers on the texts.

Memory here: the band keys that are held at once (256 MiB, or one band of all documents), 50
bytes a document while one band is looked through, 24 bytes for each pair of a document and a
crowd, and 120 for each document that shares a crowd. In a worker: the texts of some
components (64 MiB, or the largest component) and their shingles, about three times that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from flows.build.plan import BuildPlan
from flows.build.prepare import KIND as PREPARED
from flows.build.report import NearCounts
from flows.build.resolve import resolution_key
from flows.build.staged import staged, staged_rows, staged_table
from flows.build.texts import texts_at
from flows.build.worker import Assignment, bench
from lineage.digest import Digest, canonical_json, digest_of
from lineage.keys.sealing import parquet_writer
from lineage.tables import binary_matrix
from pipelines.dedup.choose import choose
from pipelines.dedup.crowds import components, crowds
from pipelines.dedup.order import Ints
from pipelines.dedup.precision import NEAR_SAMPLE, char_similarity, sampled
from pipelines.dedup.resolve import Contest
from pipelines.dedup.rows import Rows, gathered
from pipelines.dedup.shingles import shingles
from pipelines.schema import ID
from pipelines.signals.segments import Segmenter
from storage_tiers.stage import StageStore

CONTESTS, CHOICES = "contests", "choices"
_HELD_BYTES = 256 << 20
_JOB_CHARS = 32 << 20
_LEAST_CHARS = 1 << 20
_GROUP_ROWS = 1 << 16

# A row a document that shares a crowd, by component and rank; and its crowds.
_MEMBERS = pa.schema(
    [
        pa.field("partition", pa.int32()),
        pa.field("row", pa.int64()),
        pa.field("shuffle_key", ID),
    ]
)
_CROWDS = pa.schema([pa.field("crowd", pa.int64()), pa.field("member", pa.int64())])
# `char_similarity` is null where a pair is not in the sample of its job.
_CHOSEN = pa.schema(
    [
        pa.field("member", pa.int64()),
        pa.field("survivor", pa.int64()),
        pa.field("similarity", pa.int64()),
        pa.field("char_similarity", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class NearJob:
    """Some components of a contest.

    Attributes:
        contest: its key in the stage store.
        members: first and last (exclusive) of its members.
        pairs: first and last (exclusive) of the pairs of crowd and member.
        partitions: stage key of each partition that holds a member.
    """

    assignment: Assignment
    contest: Digest
    members: tuple[int, int]
    pairs: tuple[int, int]
    partitions: Mapping[int, Digest]


@dataclass(frozen=True, slots=True)
class Ring:
    """A contest that was laid out.

    Attributes:
        rows: of the input, of each member.
        jobs: what is to be decided.
        largest: documents of the largest component.
    """

    rows: Ints
    jobs: tuple[NearJob, ...]
    largest: int


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """What the workers decided.

    Attributes:
        rows, survivors: of the input: who makes way, and for whom.
        similarity: of each pair, in millionths.
        sample: NEAR_SAMPLE.
        counts: what it took.
    """

    rows: Ints
    survivors: Ints
    similarity: Ints
    sample: pa.Table
    counts: NearCounts


def lay_out(
    stage: StageStore,
    plan: BuildPlan,
    assignment: Assignment,
    contest: Contest,
    num_workers: int,
) -> Ring:
    """Finds who shares a band key, and stages the contest for the workers.

    Args:
        num_workers: there are several jobs for each, where the contest is large enough.
    """
    crowd, document = _crowds(stage, plan, contest)
    present, document = np.unique(document, return_inverse=True)
    component = components(crowd, document, len(present))
    rank, lie = contest.standing(present)
    order = np.lexsort((rank, component))
    number = np.empty(len(present), np.int64)
    number[order] = np.arange(len(order))
    member = number[document]
    by_member = np.argsort(member, kind="stable")
    places = lie.take(pa.array(order))
    pairs = pa.table([crowd[by_member], member[by_member]], schema=_CROWDS)
    key = resolution_key(plan)
    _stage_contest(stage, key, places.select(_MEMBERS.names).cast(_MEMBERS), pairs)
    chars = places["num_chars"].to_numpy()
    share = int(chars.sum()) // (2 * num_workers)
    ends = _job_ends(component[order], chars, min(max(share, _LEAST_CHARS), _JOB_CHARS))
    jobs = tuple(
        _jobs(assignment, plan, key, ends, places["partition"].to_numpy(), member[by_member])
    )
    sizes = np.unique(component[order], return_counts=True)[1]
    return Ring(contest.rows[present[order]], jobs, int(sizes.max(initial=1)))


def near_duplicates(
    stage: StageStore, plan: BuildPlan, documents: Rows, ring: Ring, keys: Sequence[Digest]
) -> NearDuplicates:
    """Reads what the workers decided.

    Args:
        documents: the input, by partition and row.
        keys: what `decide_near` gave for each job, in any order.
    """
    compared = cut_off = 0
    parts = [_CHOSEN.empty_table()]
    for key in keys:
        entry = staged(stage, CHOICES, key)
        parts.append(staged_table(entry, "chosen"))
        compared += entry.receipt["compared"]
        cut_off += entry.receipt["cut_off"]
    chosen = pa.concat_tables(parts)
    rows, survivors = (ring.rows[chosen[name].to_numpy()] for name in ("member", "survivor"))
    sample = _sample(documents, rows, survivors, chosen)
    least = plan.spec.duplicates.similarity
    alike = int((sample["char_similarity"].to_numpy() >= least).sum())
    counts = NearCounts(compared, cut_off, ring.largest, sample.num_rows, alike)
    return NearDuplicates(rows, survivors, chosen["similarity"].to_numpy(), sample, counts)


def _sample(documents: Rows, rows: Ints, survivors: Ints, chosen: pa.Table) -> pa.Table:
    """The sample of all pairs: it is among the samples of the jobs."""
    found = np.flatnonzero(np.asarray(chosen["char_similarity"].is_valid()))
    keys = _ids(documents, rows[found], "shuffle_key")
    found = found[sampled(binary_matrix(keys))]
    columns = [
        *(_ids(documents, each[found], "document_id") for each in (rows, survivors)),
        *(chosen[name].take(pa.array(found)) for name in ("similarity", "char_similarity")),
    ]
    sample = pa.table(columns, NEAR_SAMPLE.names).cast(NEAR_SAMPLE)
    return sample.sort_by("document_id")


def _ids(documents: Rows, numbers: Ints, name: str) -> pa.ChunkedArray:
    """A column of some rows, in any order."""
    each, back = np.unique(numbers, return_inverse=True)
    return gathered(documents, each, [name])[name].take(pa.array(back))


def decide_near(job: NearJob) -> Digest:
    """Decides some components; gives the key of the choices. Safe to run again."""
    at = bench(job.assignment)
    key = digest_of(canonical_json({"contest": job.contest, "members": list(job.members)}))
    if at.stage.get(CHOICES, key) is not None:
        return key
    spec, first = at.spec.duplicates, job.members[0]
    contest = staged(at.stage, CONTESTS, job.contest)
    members = staged_rows(contest, "members", *job.members)
    pairs = staged_rows(contest, "crowds", *job.pairs)
    places = members["partition"].to_numpy(), members["row"].to_numpy()
    texts = texts_at(at.stage, job.partitions, *places)
    segments = Segmenter().segments_of(texts)
    crowd = np.unique(pairs["crowd"].to_numpy(), return_inverse=True)[1]
    chosen = choose(
        shingles(segments, spec.words),
        crowd,
        pairs["member"].to_numpy() - first,
        spec.similarity,
        containment=spec.measure == "containment",
    )
    away = np.flatnonzero(chosen.survivor >= 0)
    others = chosen.survivor[away]
    judged = _judged(texts, members["shuffle_key"], away, others, spec.measure)
    columns = [away + first, others + first, chosen.similarity[away], judged]
    with at.stage.write(CHOICES, key) as part:
        part.receipt.update(compared=chosen.compared, cut_off=chosen.cut_off)
        with parquet_writer(part.path("chosen.parquet"), _CHOSEN, part.seal("chosen")) as writer:
            writer.write_table(pa.table(columns, schema=_CHOSEN))
    return key


def _judged(
    texts: pa.LargeStringArray, keys: pa.ChunkedArray, away: Ints, others: Ints, measure: str
) -> pa.Array:
    """For the pairs of a sample their similarity by characters; null for the others."""
    like = np.full(len(away), -1, np.int64)
    for pair in sampled(binary_matrix(keys)[away]).tolist():
        one, two = texts[int(away[pair])].as_py(), texts[int(others[pair])].as_py()
        like[pair] = char_similarity(one, two, containment=measure == "containment")
    return pa.array(like, mask=like < 0)


def _crowds(stage: StageStore, plan: BuildPlan, contest: Contest) -> tuple[Ints, Ints]:
    """Pairs of a crowd and a place in the contest, over all bands, by crowd."""
    bands = plan.spec.duplicates.bands
    held = max(1, _HELD_BYTES // max(8 * contest.num_documents, 1))
    found: list[tuple[Ints, Ints]] = []
    so_far = 0
    for start in range(0, bands, held):
        names = [f"band_{number:02d}" for number in range(start, min(start + held, bands))]
        keys = _band_keys(stage, plan, names)
        for name in names:
            crowd, document = crowds(keys[name].to_numpy()[contest.rows])
            found.append((crowd + so_far, document))
            so_far += int(crowd.max(initial=-1)) + 1
    return np.concatenate([c for c, _ in found]), np.concatenate([d for _, d in found])


def _band_keys(stage: StageStore, plan: BuildPlan, names: Sequence[str]) -> pa.Table:
    return pa.concat_tables(
        staged_table(staged(stage, PREPARED, item.stage_key), "bands", names)
        for item in plan.partitions
    )


def _stage_contest(stage: StageStore, key: Digest, members: pa.Table, pairs: pa.Table) -> None:
    if stage.get(CONTESTS, key) is not None:
        return
    with stage.write(CONTESTS, key) as part:
        for name, table in (("members", members), ("crowds", pairs)):
            path, seal = part.path(f"{name}.parquet"), part.seal(name)
            with parquet_writer(path, table.schema, seal) as writer:
                writer.write_table(table, row_group_size=_GROUP_ROWS)


def _job_ends(component: Ints, chars: Ints, most_chars: int) -> list[int]:
    """Where each job ends: whole components of about so much text."""
    ends, size = [], 0
    last = np.flatnonzero(np.append(component[1:] != component[:-1], True)) + 1
    begin = 0
    for end in last.tolist() if len(component) else ():
        size += int(chars[begin:end].sum())
        begin = end
        if size >= most_chars:
            ends.append(end)
            size = 0
    return ends if not len(component) or ends[-1:] == [len(component)] else [*ends, len(component)]


def _jobs(
    assignment: Assignment,
    plan: BuildPlan,
    key: Digest,
    ends: Sequence[int],
    partitions: np.ndarray,
    member: Ints,
) -> Iterator[NearJob]:
    start = 0
    for end in ends:
        pairs = np.searchsorted(member, [start, end])
        ordinals = np.unique(partitions[start:end]).tolist()
        keys = {ordinal: plan.partitions[ordinal].stage_key for ordinal in ordinals}
        yield NearJob(assignment, key, (start, end), (int(pairs[0]), int(pairs[1])), keys)
        start = end
