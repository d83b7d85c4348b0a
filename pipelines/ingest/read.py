"""Reading one partition: records and quarantine, chunk by chunk, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

from lineage.digest import Digest, digest_of_file
from lineage.errors import Conflict
from lineage.ids import IdHasher
from pipelines.ingest.chunk import CHUNK_BYTES, Chunk, ChunkBuilder
from pipelines.ingest.fields import FieldMap
from pipelines.ingest.files import reading
from pipelines.ingest.jsonl import parse_line
from pipelines.ingest.parquet import read_parquet
from pipelines.ingest.partition import FileRange, Partition, files_content
from pipelines.ingest.refused import Refused
from pipelines.ingest.streams import HashedRange, decompressed
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.source import PAGES, SourceSpec
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
_PROBE_PAGES = tuple(
    page.encode()
    for page in (
        """<html><body><nav><a href='/'>Home</a></nav><main><h1>Head</h1><p>A paragraph of a few
        words, <b>bold</b> and plain.</p><ul><li>one</li><li>two</li></ul><pre>a  b\n c</pre>
        </main><footer>Foot</footer><script>x = 1</script></body></html>""",
        "<p>one<p>two<table><tr><td>a<td>b</table><img alt='alt'><!-- no --><br>three",
        "<html lang='ar'><body dir='rtl'><article><p>\u0645\u0631\u062d \u4e2d\u6587</p></article>",
    )
)

# A reader of one unpacked stream: blocks, source, builder, ordinal of the file.
Reader = Callable[[Iterable[bytes], SourceSpec, ChunkBuilder, int], Iterator[Chunk]]


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
    content = yield from _read(partition, source, root, builder)
    if content != partition.content:
        names = f"{partition.files[0].path!r} ({len(partition.files)} files)"
        raise Conflict(f"source {source.name}: {names} changed since it was planned", "build again")
    if not builder.empty:
        yield builder.take()


def read_transform(source: SourceSpec, seed: int) -> Transform:
    """What a build key knows of reading a source: all that its records depend on."""
    own = ("format", "text", "id", "url", "record_licence", "encoding", "extract", "delimiter")
    parameters: dict[str, str | int | None] = {name: getattr(source, name) for name in own}
    parameters |= {"source": source.name, "seed": seed}
    return Transform("read", _REVISION, parameters, behaviour_of(_probed(source)))


def _read(
    partition: Partition, source: SourceSpec, root: Path, builder: ChunkBuilder
) -> Generator[Chunk, None, Digest]:
    if partition.format == "parquet":
        with reading(f"source {source.name}: {partition.files[0].path!r}"):
            return (yield from read_parquet(partition, source, root, builder))
    digests = []
    for ordinal, part in enumerate(partition.files):
        with reading(f"source {source.name}: {part.path!r}"):
            digest = yield from _read_file(partition, part, ordinal, source, root, builder)
            digests.append(digest)
    if partition.whole:
        return files_content(partition.compression, digests)
    return digests[0]


def _read_file(
    partition: Partition,
    part: FileRange,
    ordinal: int,
    source: SourceSpec,
    root: Path,
    builder: ChunkBuilder,
) -> Generator[Chunk, None, Digest]:
    """Reads one file or range; gives the digest of its bytes."""
    if partition.format == "arrow":
        from pipelines.ingest.arrow import read_arrow

        yield from read_arrow(root / part.path, source, builder, ordinal)
        return digest_of_file(root / part.path)
    raw = HashedRange(root, part)
    stream = decompressed(raw, partition.compression)
    yield from _reader(partition.format)(stream, source, builder, ordinal)
    # Behind a fault there may be bytes that no reader asked for; the digest needs them.
    return raw.digest_to_end()


# Where the reader of a format is: imported when it is needed, since some are heavy.
_READERS: Mapping[str, tuple[str, str]] = {
    "jsonl": ("pipelines.ingest.jsonl", "read_jsonl"),
    "json": ("pipelines.ingest.json_array", "read_json"),
    "csv": ("pipelines.ingest.delimited", "read_delimited"),
    "tsv": ("pipelines.ingest.delimited", "read_delimited"),
    "text": ("pipelines.ingest.text", "read_text"),
    "markdown": ("pipelines.ingest.text", "read_text"),
    "html": ("pipelines.ingest.html", "read_html"),
    "warc": ("pipelines.ingest.warc", "read_warc"),
    "pdf": ("pipelines.ingest.pdf", "read_pdf"),
}


def _reader(format_: str) -> Reader:
    module, name = _READERS[format_]
    reader: Reader = getattr(import_module(module), name)
    return reader


def _probed(source: SourceSpec) -> Iterator[bytes]:
    """What a reader makes of the probe: lines of JSON, and pages where pages are read."""
    probe = SourceSpec("probe", "probe.jsonl", "jsonl", "CC0-1.0", "other", "2000-01")
    fields = FieldMap(probe)
    texts = [json.dumps({"text": text}).encode() for text in PROBE_TEXTS]
    for line in (*texts, *_PROBE_LINES):
        try:
            yield b"read" + parse_line(line, fields).text
        except Refused as refused:
            yield refused.reason.encode()
    if source.format in PAGES:
        from pipelines.ingest.pages import text_of_page

        for page in _PROBE_PAGES:
            yield text_of_page(page, source).text.encode()
