"""Tokenizes the new documents of partitions in a worker; what is published already is not.

Memory: one chunk of a partition (16 MiB of text) and its tokens.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.plan import BuildPlan
from flows.build.prepare import KIND as PREPARED
from flows.build.resolve import NEW_KIND, ResolvedBuild
from flows.build.staged import staged, staged_rows, staged_table
from flows.build.worker import Assignment, Bench, bench
from lineage.digest import Digest, canonical_json, digest_of
from lineage.keys.sealing import open_parquet, parquet_writer
from pipelines.schema import TOKENS
from pipelines.tokens.tokenizer import TokenizerIdentity, sampled_rows
from storage_tiers.stage import StageEntry, StageStore

KIND = "tokens"


@dataclass(frozen=True, slots=True)
class TokenizeJob:
    """The new documents of one partition.

    Attributes:
        ordinal: of the partition.
        stage_key: of its documents.
        content: of its bytes; chooses which documents a second engine checks.
        rows: digest of the numbers of its rows that are new.
        start, stop: of these rows among all places of new documents.
        num_bytes: source bytes of the partition.
    """

    assignment: Assignment
    resolution: Digest
    ordinal: int
    stage_key: Digest
    content: Digest
    rows: Digest
    start: int
    stop: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class TokenizedPartition:
    """What became of one job.

    Attributes:
        key: of its tokens in the stage store.
        num_documents, num_tokens: tokenized, end tokens included.
        seconds: work time; 0 when the tokens were there already.
    """

    ordinal: int
    key: Digest
    num_documents: int
    num_tokens: int
    num_bytes: int
    seconds: float


def tokens_key(stage_key: Digest, rows: Digest, tokenizer: TokenizerIdentity) -> Digest:
    """Names the tokens of some rows of a partition."""
    work = {"documents": stage_key, "rows": rows, "tokenizer": tokenizer.to_json()}
    return digest_of(canonical_json(work))


def tokenize_partitions(jobs: Iterable[TokenizeJob]) -> list[TokenizedPartition]:
    """Tokenizes a batch of jobs, or finds them done. Safe to run again.

    Raises:
        IntegrityError: two tokenizer engines disagree.
        Unavailable: the disk is full.
    """
    return [_tokenize(bench(job.assignment), job) for job in jobs]


def tokenize_jobs(
    assignment: Assignment, plan: BuildPlan, resolved: ResolvedBuild
) -> list[TokenizeJob]:
    """A job for each partition that holds new documents."""
    jobs, start = [], 0
    for item in plan.partitions:
        rows = resolved.new_rows(item.ordinal)
        if not len(rows):
            continue
        jobs.append(
            TokenizeJob(
                assignment,
                resolved.key,
                item.ordinal,
                item.stage_key,
                item.partition.content,
                digest_of(rows.astype("<i8").tobytes()),
                start,
                start + len(rows),
                item.partition.num_bytes,
            )
        )
        start += len(rows)
    return jobs


def counted(
    stage: StageStore, resolved: ResolvedBuild, tokenized: Sequence[TokenizedPartition]
) -> ResolvedBuild:
    """The resolution with the tokens of each new document.

    Args:
        tokenized: by ordinal.
    """
    parts = [_counts(stage, item.key) for item in tokenized]
    return resolved.with_tokens(np.concatenate([np.zeros(0, np.uint8), *parts]))


def _counts(stage: StageStore, key: Digest) -> np.ndarray:
    """Tokens of each document of a finished job, in the order of its rows, as small as can be."""
    table = staged_table(staged(stage, KIND, key), "tokens", ["num_tokens"])
    counts: np.ndarray = table["num_tokens"].to_numpy()
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _tokenize(at: Bench, job: TokenizeJob) -> TokenizedPartition:
    key = tokens_key(job.stage_key, job.rows, at.tokenizer.identity)
    entry = at.stage.get(KIND, key)
    if entry is not None:
        return _summary(job, key, entry.receipt, seconds=0.0)
    started = time.perf_counter()
    with at.stage.write(KIND, key) as part:
        path, seal = part.path("tokens.parquet"), part.seal("tokens")
        num_tokens = 0
        with parquet_writer(path, TOKENS, seal, compression="lz4") as writer:
            for table, counted in _encoded(at, job):
                writer.write_table(table)
                num_tokens += counted
        part.receipt["num_tokens"] = num_tokens
    return _summary(job, key, part.receipt, time.perf_counter() - started)


def _summary(
    job: TokenizeJob, key: Digest, receipt: Mapping[str, int], seconds: float
) -> TokenizedPartition:
    documents = job.stop - job.start
    return TokenizedPartition(
        job.ordinal, key, documents, receipt["num_tokens"], job.num_bytes, seconds
    )


def _encoded(at: Bench, job: TokenizeJob) -> Iterator[tuple[pa.Table, int]]:
    places = staged_rows(staged(at.stage, NEW_KIND, job.resolution), "places", job.start, job.stop)
    wanted = places["row"].to_numpy()
    token_bytes = np.dtype(at.tokenizer.identity.dtype).itemsize
    for first, texts in _texts(staged(at.stage, PREPARED, job.stage_key)):
        low, high = np.searchsorted(wanted, [first, first + len(texts)])
        rows = wanted[low:high]
        if not len(rows):
            continue
        chosen = texts if len(rows) == len(texts) else texts.take(pa.array(rows - first))
        batch = at.tokenizer.encode(chosen)
        sizes = pc.binary_length(chosen).to_numpy()
        sample = sampled_rows(len(chosen), job.content, sizes)
        at.tokenizer.check(chosen, batch.tokens, sample)
        counts = pc.divide(pc.binary_length(batch.tokens), token_bytes)
        yield pa.table([rows, counts, batch.tokens], schema=TOKENS), batch.num_tokens


def _texts(entry: StageEntry) -> Iterator[tuple[int, pa.LargeStringArray]]:
    """First row and texts of each chunk of a partition."""
    with open_parquet(entry.path("documents.parquet"), entry.seal("documents")) as file:
        first = 0
        for group in range(file.num_row_groups):
            texts = file.read_row_group(group, columns=["text"])["text"].combine_chunks()
            yield first, texts
            first += len(texts)
