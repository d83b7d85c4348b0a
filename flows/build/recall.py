"""Recall of decontamination, measured by injection in a worker, which has the index anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flows.build.plan import BuildPlan
from flows.build.texts import texts_at
from flows.build.worker import Assignment, bench
from lineage.digest import Digest
from lineage.errors import ConfigError
from pipelines.decontamination.evaluation import Evaluation
from pipelines.decontamination.recall import sampled
from pipelines.dedup.order import Ints
from pipelines.dedup.rows import Rows, gathered


@dataclass(frozen=True, slots=True)
class RecallJob:
    """Documents to put evaluation items into.

    Attributes:
        partitions, rows: their places.
        keys: stage key of each of these partitions.
    """

    assignment: Assignment
    partitions: tuple[int, ...]
    rows: tuple[int, ...]
    keys: Mapping[int, Digest]


def recall_job(assignment: Assignment, plan: BuildPlan, documents: Rows, kept: Ints) -> RecallJob:
    """A job on a sample of the kept documents that is the same however the work is cut.

    Args:
        documents: the input, by partition and row.
        kept: rows of it.
    """
    chosen = np.sort(sampled(documents, kept))
    places = gathered(documents, chosen, ["partition", "row"])
    partitions, rows = (places[name].to_pylist() for name in ("partition", "row"))
    keys = {ordinal: plan.partitions[ordinal].stage_key for ordinal in sorted(set(partitions))}
    return RecallJob(assignment, tuple(partitions), tuple(rows), keys)


def injected_recall(job: RecallJob) -> Evaluation:
    """Puts items into the documents and looks for them. Safe to run again.

    Raises:
        ConfigError: the spec names no evaluation set.
    """
    at = bench(job.assignment)
    act = at.cleaning.decontamination
    if act is None:
        raise ConfigError(f"{at.spec.name}: there is no section [decontamination]")
    partitions, rows = np.array(job.partitions, np.int64), np.array(job.rows, np.int64)
    return act.evaluation(texts_at(at.stage, job.keys, partitions, rows), at.spec.seed)
