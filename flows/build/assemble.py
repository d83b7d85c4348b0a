"""Puts the content manifest together, and balances the books before anything is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.build.parent import Parent
from flows.build.plan import BuildPlan
from flows.build.prepare import PreparedPartition
from flows.build.resolve import ResolvedBuild
from flows.build.segments import BuiltSegment
from lineage.errors import ConfigError, IntegrityError
from lineage.manifests.content import ContentManifest, SourceInfo, TableInfo
from lineage.workspace import Workspace
from pipelines.books import Books, Count, StageBook


@dataclass(frozen=True, slots=True)
class Assembled:
    """A version ready to be published."""

    manifest: ContentManifest
    books: Books


def assemble(
    plan: BuildPlan,
    parent: Parent,
    prepared: Sequence[PreparedPartition],
    resolved: ResolvedBuild,
    segments: Sequence[BuiltSegment],
    tables: Mapping[str, TableInfo],
    workspace: Workspace,
) -> Assembled:
    """The content manifest of the new version.

    Raises:
        ConfigError: no document was kept at all.
        IntegrityError: the books do not balance; the version is not published.
    """
    books = _books(prepared, resolved, segments, plan.spec.shards.sample_tokens)
    books.balance()
    if not sum(segment.info.num_documents for segment in segments) and plan.parent is None:
        raise ConfigError(
            f"{plan.spec.name}: no document was kept, so there is nothing to publish",
            _losses(books),
        )
    transforms = [
        {
            "name": transform.name,
            "revision": transform.revision,
            "parameters": transform.parameters,
            "behaviour": transform.behaviour,
        }
        for transform in plan.transforms
    ]
    manifest = ContentManifest(
        dataset=plan.spec.name,
        number=1 if plan.parent is None else plan.parent.number + 1,
        workspace_id=workspace.config.workspace_id,
        parent=None if plan.parent is None else plan.parent.manifest,
        spec=plan.spec.digest(),
        transforms=tuple(transforms),
        tokenizer=plan.tokenizer.to_json(),
        seed=plan.spec.seed,
        sample_tokens=plan.spec.shards.sample_tokens,
        order=plan.order.to_json(),
        sources=_sources(plan, parent),
        segments=tuple(segment.info for segment in segments),
        tables=tables,
        books=books.to_json(),
    )
    return Assembled(manifest, books)


def _books(
    prepared: Sequence[PreparedPartition],
    resolved: ResolvedBuild,
    segments: Sequence[BuiltSegment],
    sample_tokens: int,
) -> Books:
    """Ingest to tokenize over the whole input; shard counts what the shards' spans hold."""
    parts = [Books.parse(list(item.books)) for item in prepared]
    books = Books.total(parts).add(resolved.resolution.books)
    tokenized = books.stage("tokenize").kept
    placed = Count(
        sum(segment.info.num_documents for segment in segments),
        tokenized.bytes,
        sum(segment.info.num_tokens for segment in segments),
    )
    holes = sum(segment.info.num_hole_tokens for segment in segments)
    room = sample_tokens * sum(segment.info.num_samples for segment in segments)
    fill = room - placed.tokens - holes
    if fill < 0:
        raise IntegrityError("the shards hold fewer tokens than their spans say")
    return books.add(Books((StageBook("shard", tokenized, placed, fill_tokens=fill),)))


def _sources(plan: BuildPlan, parent: Parent) -> tuple[SourceInfo, ...]:
    """Every source the dataset ever had, by ordinal; the spec's word on it is the newest."""
    old = () if parent.content is None else parent.content.sources
    known = {source.name: source for source in old}
    for source in plan.spec.sources:
        known[source.name] = SourceInfo(
            source.name, source.licence, source.source_class, source.collected
        )
    return tuple(known[name] for name in parent.source_names(plan.spec))


def _losses(books: Books) -> str:
    lost = [
        f"{count.records} {word}"
        for book in books
        for word, count in (*book.quarantined.items(), *book.dropped.items())
    ]
    return f"of {books.stage('ingest').in_.records} records: {', '.join(lost) or 'none read'}"
