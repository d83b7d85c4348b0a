"""Where is a document, and who was given it: downstream of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lineage.audit.answer import Answer
from lineage.audit.index import Checkpoint, Run
from lineage.audit.reading import Reading
from lineage.audit.rules import rules_of
from lineage.audit.search import Wanted, find_documents
from lineage.consumption import DocumentSpan, history
from lineage.errors import NotFound
from lineage.manifests.content import ContentManifest
from lineage.order import Order, OrderParameters
from lineage.versions import Version

_ID = pa.binary(32)


def ask_documents(reading: Reading, wanted: Wanted, dataset: str | None, limit: int) -> Answer:
    """Versions, shards, runs and first checkpoints of documents.

    Args:
        dataset: one dataset, or None for all.
        limit: most documents told of; with more, the answer says it is not complete.

    Raises:
        NotFound: no document fits, or there is no such dataset.
        ConfigError: the condition cannot be read.
    """
    versions = [v for v in reading.index.versions if dataset in (None, v.dataset)]
    if not versions:
        raise NotFound("no version was published" + (f" of {dataset}" if dataset else ""))
    found = find_documents(reading, versions, wanted)
    if not found:
        raise NotFound("no document fits", "look at its id, its exact text or the condition")
    told = found[:limit]
    places = {version.name: _places(reading, version, told) for version in versions}
    documents = [_document(reading, versions, places, document) for document in told]
    facts = {"num_documents": len(found), "documents": documents}
    return Answer("documents", facts, reading.index.size, complete=len(told) == len(found))


def ask_why(reading: Reading, dataset: str, document: str) -> Answer:
    """A document's whole way: every decision on it, its survivor, its tokens and shards.

    Raises:
        NotFound: there is no such dataset or document.
    """
    versions = [v for v in reading.index.versions if v.dataset == dataset]
    if not versions:
        raise NotFound(f"no version of {dataset} was published")
    found = find_documents(reading, versions, Wanted(id=document))
    decided = {version.name: _explained(reading, version, found) for version in versions}
    if not any(decided.values()):
        raise NotFound(
            f"{dataset} has no document {document}", "give a document id or a record's own id"
        )
    places = {version.name: _places(reading, version, found) for version in versions}
    ways = []
    for item in found:
        rows = [
            {"version": name, **row}
            for name, every in decided.items()
            for row in every
            if row["document_id"] == item.hex()
        ]
        lies = {name: _where(places[name].get(item, [])) for name in places}
        ways.append({"document_id": item.hex(), "decisions": rows, "lies_in": lies})
    return Answer(f"why {dataset} {document}", {"documents": ways}, reading.index.size)


def _places(
    reading: Reading, version: Version, documents: Sequence[bytes]
) -> dict[bytes, list[tuple[str, DocumentSpan]]]:
    """Shard name and span of each document that is alive in a version."""
    ids = pa.array(documents, _ID)
    places: dict[bytes, list[tuple[str, DocumentSpan]]] = {}
    for shard, name, stored in reading.spans(version):
        spans = reading.read(version.dataset, stored)
        for row in spans.filter(pc.is_in(spans["document_id"], ids)).to_pylist():
            span = DocumentSpan(shard, row["start"], row["num_tokens"])
            places.setdefault(row["document_id"], []).append((name, span))
    return places


def _document(
    reading: Reading,
    versions: Sequence[Version],
    places: Mapping[str, Mapping[bytes, list[tuple[str, DocumentSpan]]]],
    document: bytes,
) -> dict[str, Any]:
    holds = [version for version in versions if document in places[version.name]]
    runs = [
        _given(reading, run, version, [span for _, span in places[version.name][document]])
        for version in holds
        for run in reading.index.runs.values()
        if run.version == version.manifest
    ]
    last = [row for v in versions for row in _decisions(reading, v, [document])][-1:]
    return {
        "document_id": document.hex(),
        "last_decision": last[0] if last else None,
        "versions": [
            {"version": v.name, **_where(places[v.name][document], reading.content(v))}
            for v in holds
        ],
        "runs": runs,
    }


def _where(
    places: Sequence[tuple[str, DocumentSpan]], content: ContentManifest | None = None
) -> dict[str, Any]:
    where: dict[str, Any] = {
        "shards": sorted({name for name, _ in places}),
        "tokens": sum(span.num_tokens for _, span in places),
    }
    if content is not None:
        rows = [span.tokens_of_rows(content.sample_tokens)[0] for _, span in places]
        where["samples"] = [[int(part[0]), int(part[-1])] for part in rows]
    return where


def _given(
    reading: Reading, run: Run, version: Version, spans: Sequence[DocumentSpan]
) -> dict[str, Any]:
    content = reading.content(version)
    order = _orders(content, int(run.entry.body["seed"]))
    given = [item.given(spans, content.sample_tokens, order) for item in run.consumptions]
    steps = [item.first_step for item in given if item.first_step is not None]
    first = _first_checkpoint(run, spans, content, order)
    return {
        "run": run.id,
        "model": run.model,
        "version": version.name,
        "times": sum(item.times for item in given),
        "tokens": sum(item.num_tokens for item in given),
        "first_step": min(steps, default=None),
        "first_checkpoint": None
        if first is None
        else {"step": first.step, "checkpoint": str(first.digest)},
        "keys_released": bool(reading.index.accesses_of(run.id)),
    }


def _first_checkpoint(
    run: Run, spans: Sequence[DocumentSpan], content: ContentManifest, order: Any
) -> Checkpoint | None:
    for checkpoint in run.checkpoints:
        before = [part for at, part in run.records if at < checkpoint.position]
        parts = history(before, checkpoint.step)
        if any(part.given(spans, content.sample_tokens, order).times for part in parts):
            return checkpoint
    return None


def _orders(content: ContentManifest, seed: int) -> Any:
    parameters = OrderParameters.from_json(content.order)

    @lru_cache(maxsize=4)
    def order(epoch: int) -> Order:
        return Order(content.order_segments, parameters, seed, epoch)

    return order


def _explained(
    reading: Reading, version: Version, documents: Sequence[bytes]
) -> list[dict[str, Any]]:
    """The decisions, each with the document's signals and what every rule says of them."""
    rows = _decisions(reading, version, documents)
    content = reading.content(version)
    rules = rules_of(content.transforms)
    measured = _signals(reading, version, documents) if "signals" in content.tables else {}
    for row in rows:
        signals = measured.get((row["document_id"], row["path"], row["offset"]), {})
        row["signals"] = signals
        row["rules"] = [judged for rule in rules if (judged := rule.judged(signals))]
    return rows


def _signals(
    reading: Reading, version: Version, documents: Sequence[bytes]
) -> dict[tuple[str, str | None, int | None], dict[str, Any]]:
    """Signals by document and place. The table has a row a decision, in the same order."""
    decisions, signals = reading.table(version, "decisions"), reading.table(version, "signals")
    wanted = pc.is_in(decisions["document_id"], pa.array(documents, _ID))
    places = decisions.filter(wanted).select(["document_id", "path", "offset"]).to_pylist()
    values = signals.filter(wanted).drop_columns(["document_id"]).to_pylist()
    return {
        (place["document_id"].hex(), place["path"], place["offset"]): row
        for place, row in zip(places, values, strict=True)
    }


def _decisions(
    reading: Reading, version: Version, documents: Sequence[bytes]
) -> list[dict[str, Any]]:
    decisions = reading.table(version, "decisions")
    rows = decisions.filter(pc.is_in(decisions["document_id"], pa.array(documents, _ID)))
    ids = {"document_id", "survivor_id", "raw_content_id", "content_id"}
    return [
        {
            name: value.hex() if name in ids and value is not None else value
            for name, value in row.items()
            if name not in ("raw_content_id", "content_id")
        }
        for row in rows.to_pylist()
    ]
