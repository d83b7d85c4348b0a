"""Reading one partition: records and quarantine, chunk by chunk, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path

from lineage.digest import Digest
from lineage.errors import Conflict
from lineage.ids import IdHasher
from pipelines.ingest.chunk import CHUNK_BYTES, Chunk, ChunkBuilder
from pipelines.ingest.files import reading
from pipelines.ingest.jsonl import Refused, parse_line, read_jsonl
from pipelines.ingest.parquet import read_parquet
from pipelines.ingest.partition import Partition
from pipelines.ingest.text import read_texts
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.source import SourceSpec
from pipelines.transform import Transform

__all__ = ["Chunk", "read_partition", "read_transform"]

_REVISION = 1
# Lines on which JSON readers differ; what becomes of each is part of our behaviour.
_PROBE_LINES = (
    b"",
    b" \t\r",
    b'{"text": "a"}\r',
    b'\xef\xbb\xbf{"text": "a"}',
    b'{"text": "a", "text": "b"}',
    b'{"text": "\\ud800"}',
    b'{"text": "\\ud83d\\ude00"}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\xff"}',
    b'{"text": "\\u0000"}',
    b'{"text": "\x00"}',
    b'{"text": "a", "n": NaN}',
    b'{"text": "a", "n": 1e999}',
    b'{"text": "a", "n": 123456789012345678901234567890}',
    b'{"text": "a",}',
    b'{"text": "a"} {}',
    b"['text']",
    b'"text"',
    b'{"text": null}',
    b'{"text": 1}',
    b'{"a": "a"}',
    b"[" * 1025 + b"]" * 1025,
)


def read_partition(
    partition: Partition,
    source: SourceSpec,
    root: Path,
    hasher: IdHasher,
    seed: int,
    *,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Chunk]:
    """Reads one partition of a source.

    Every record is in `records` or in `quarantine`, once; their `num_bytes` together
    are the bytes read (unpacked ones of a compressed stream, of text in Parquet).
    What was read may only be used once the iterator has ended without an error: the
    digest of the bytes is known at the end.

    Args:
        root: the workspace's root.
        seed: the spec's seed.
        chunk_bytes: bytes of text in a chunk, about.

    Raises:
        Conflict: the bytes are not those that were planned.
        NotFound, ConfigError, Unavailable: a file is gone, or may or can not be read.
    """
    builder = ChunkBuilder(source.name, seed, hasher, chunk_bytes)
    with reading(f"source {source.name}: {partition.files[0].path!r}"):
        content = yield from _read(partition, source, root, builder)
        if content != partition.content:
            names = f"{partition.files[0].path!r} ({len(partition.files)} files)"
            raise Conflict(
                f"source {source.name}: {names} changed since it was planned", "build again"
            )
    if not builder.empty:
        yield builder.take()


def read_transform(source: SourceSpec, seed: int) -> Transform:
    """What a build key knows of reading a source: all that its records depend on."""
    parameters: dict[str, str | int | None] = {
        "source": source.name,
        "format": source.format,
        "text": source.text,
        "id": source.id,
        "seed": seed,
    }
    return Transform("read", _REVISION, parameters, behaviour_of(_probed()))


def _read(
    partition: Partition, source: SourceSpec, root: Path, builder: ChunkBuilder
) -> Generator[Chunk, None, Digest]:
    if partition.format == "jsonl":
        return read_jsonl(partition, source, root, builder)
    if partition.format == "parquet":
        return read_parquet(partition, source, root, builder)
    return read_texts(partition, root, builder)


def _probed() -> Iterator[bytes]:
    probe = SourceSpec("probe", "probe.jsonl", "jsonl", "CC0-1.0", "other", "2000-01")
    texts = [json.dumps({"text": text}).encode() for text in PROBE_TEXTS]
    for line in (*texts, *_PROBE_LINES):
        try:
            yield b"read" + parse_line(line, probe)[0]
        except Refused as refused:
            yield refused.reason.encode()
