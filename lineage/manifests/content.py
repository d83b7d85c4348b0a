"""The content manifest: what a version holds (frozen, docs/formats.md section 9).

Its digest names the version. It is canonical JSON: integers stand as decimal strings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import IntegrityError
from lineage.order import OrderSegment

FORMAT = "shardline/content-manifest/v1"


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """One source of a version.

    Attributes:
        name: the source's name in the spec; its place in the list is the source ordinal.
        licence: SPDX expression.
        source_class: as the spec says, such as ``public_dataset``.
        collected: ``YYYY-MM``, or ``unknown``.
    """

    name: str
    licence: str
    source_class: str
    collected: str


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment as it stands in a version.

    Attributes:
        name: ``segment-0001``; the folder of its objects.
        order_id: content_root of the segment when it was new; fixes the running order.
        content_root: RFC 6962 root over its samples, holes included.
        commitment_root: RFC 6962 root over its documents, under the salt key.
        spans_root: table root over the spans of all shards.
        salt_object: object id of the salt key in the key table, 32 hex digits.
        source_documents, source_tokens: alive ones by source ordinal; end tokens count.
        num_holes, num_hole_tokens: documents that were removed, and their tokens.
        shard_samples: samples of each shard.
    """

    name: str
    order_id: Digest
    content_root: Digest
    commitment_root: Digest
    spans_root: Digest
    salt_object: str
    source_documents: tuple[int, ...]
    source_tokens: tuple[int, ...]
    num_holes: int
    num_hole_tokens: int
    shard_samples: tuple[int, ...]

    @property
    def num_documents(self) -> int:
        """Alive documents."""
        return sum(self.source_documents)

    @property
    def num_tokens(self) -> int:
        """Tokens of alive documents."""
        return sum(self.source_tokens)

    @property
    def num_samples(self) -> int:
        """Samples of all shards."""
        return sum(self.shard_samples)


@dataclass(frozen=True, slots=True)
class TableInfo:
    """One long list of a version, kept as sealed Parquet: rows and table root."""

    num_rows: int
    root: Digest


@dataclass(frozen=True, slots=True)
class ContentManifest:
    """What a version holds.

    Attributes:
        dataset: name.
        number: N of ``name@vN``, from 1.
        workspace_id: 32 hex digits.
        parent: digest of the version before it, or None.
        spec: digest of the spec.
        transforms: name, revision, parameters and behaviour of each transform.
        tokenizer: its identity: digests of file and behaviour, end token, dtype.
        seed: of the shuffle, 0 to 2**64 - 1.
        sample_tokens: tokens in a sample.
        order: parameters of the order.
        sources, segments: in order.
        tables: ``decisions``, ``quarantine``, ``partitions`` and others, by name.
        books: the books of every stage.
    """

    dataset: str
    number: int
    workspace_id: str
    parent: Digest | None
    spec: Digest
    transforms: tuple[Mapping[str, Any], ...]
    tokenizer: Mapping[str, Any]
    seed: int
    sample_tokens: int
    order: Mapping[str, Any]
    sources: tuple[SourceInfo, ...]
    segments: tuple[SegmentInfo, ...]
    tables: Mapping[str, TableInfo]
    books: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        """``name@vN``, for people."""
        return f"{self.dataset}@v{self.number}"

    @property
    def dtype(self) -> str:
        """Storage dtype of token ids: uint8, uint16 or uint32."""
        return str(self.tokenizer["dtype"])

    @property
    def num_tokens(self) -> int:
        """Tokens of alive documents, end tokens included."""
        return sum(segment.num_tokens for segment in self.segments)

    @property
    def num_documents(self) -> int:
        """Alive documents."""
        return sum(segment.num_documents for segment in self.segments)

    def of_source(self, ordinal: int) -> tuple[int, int]:
        """Alive documents and tokens of one source."""
        documents = sum(_at(segment.source_documents, ordinal) for segment in self.segments)
        return documents, sum(_at(segment.source_tokens, ordinal) for segment in self.segments)

    @property
    def order_segments(self) -> tuple[OrderSegment, ...]:
        """The segments as the running order wants them."""
        return tuple(OrderSegment(row.order_id, row.shard_samples) for row in self.segments)

    @property
    def packing(self) -> Digest:
        """Digest of all that gives a document its tokens, its sample and its place."""
        return packing_digest(self.tokenizer, self.seed, self.sample_tokens, self.order)

    def to_bytes(self) -> bytes:
        """The canonical bytes; `digest` names them."""
        return canonical_json(_content_json(self))

    def digest(self) -> Digest:
        """The version's identity."""
        return digest_of(self.to_bytes())


def packing_digest(
    tokenizer: Mapping[str, Any], seed: int, sample_tokens: int, order: Mapping[str, Any]
) -> Digest:
    """Two versions with one packing digest can share segments."""
    return digest_of(
        canonical_json(
            {
                "tokenizer": tokenizer,
                "seed": seed,
                "sample_tokens": sample_tokens,
                "order": order,
            }
        )
    )


def parse_content(data: bytes) -> ContentManifest:
    """Reads the canonical bytes of a content manifest.

    Raises:
        IntegrityError: another format, or a field is missing or wrong.
    """
    try:
        value = json.loads(data)
        if value["format"] != FORMAT:
            raise IntegrityError(
                f"content manifest of format {value['format']!r}", "use a newer shardline"
            )
        return _content(value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"not a content manifest: {type(error).__name__}") from None


def _content_json(manifest: ContentManifest) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "dataset": manifest.dataset,
        "number": manifest.number,
        "workspace_id": manifest.workspace_id,
        "parent": manifest.parent,
        "spec": manifest.spec,
        "transforms": manifest.transforms,
        "tokenizer": manifest.tokenizer,
        "seed": manifest.seed,
        "sample_tokens": manifest.sample_tokens,
        "order": manifest.order,
        "sources": [_fields(source) for source in manifest.sources],
        "segments": [_fields(segment) for segment in manifest.segments],
        "tables": {name: _fields(table) for name, table in manifest.tables.items()},
        "books": manifest.books,
    }


def _fields(row: SourceInfo | SegmentInfo | TableInfo) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def _content(value: Mapping[str, Any]) -> ContentManifest:
    parent = value["parent"]
    return ContentManifest(
        dataset=value["dataset"],
        number=int(value["number"]),
        workspace_id=value["workspace_id"],
        parent=None if parent is None else Digest.parse(parent),
        spec=Digest.parse(value["spec"]),
        transforms=tuple(value["transforms"]),
        tokenizer=value["tokenizer"],
        seed=int(value["seed"]),
        sample_tokens=int(value["sample_tokens"]),
        order=value["order"],
        sources=tuple(_source(row) for row in value["sources"]),
        segments=tuple(_segment(row) for row in value["segments"]),
        tables={
            name: TableInfo(int(row["num_rows"]), Digest.parse(row["root"]))
            for name, row in value["tables"].items()
        },
        books=value["books"],
    )


def _source(row: Mapping[str, str]) -> SourceInfo:
    return SourceInfo(row["name"], row["licence"], row["source_class"], row["collected"])


def _segment(row: Mapping[str, Any]) -> SegmentInfo:
    return SegmentInfo(
        name=row["name"],
        salt_object=row["salt_object"],
        num_holes=int(row["num_holes"]),
        num_hole_tokens=int(row["num_hole_tokens"]),
        order_id=Digest.parse(row["order_id"]),
        content_root=Digest.parse(row["content_root"]),
        commitment_root=Digest.parse(row["commitment_root"]),
        spans_root=Digest.parse(row["spans_root"]),
        source_documents=_integers(row["source_documents"]),
        source_tokens=_integers(row["source_tokens"]),
        shard_samples=_integers(row["shard_samples"]),
    )


def _integers(values: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _at(values: Sequence[int], place: int) -> int:
    return values[place] if place < len(values) else 0
