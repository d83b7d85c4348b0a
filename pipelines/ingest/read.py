"""Reading one partition: records and quarantine, chunk by chunk, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module

import numpy as np
import pyarrow as pa

from lineage.digest import Digest
from lineage.errors import Conflict
from lineage.ids import IdHasher
from pipelines.ingest.chunk import CHUNK_BYTES, Chunk, ChunkBuilder, Place
from pipelines.ingest.fields import FieldMap
from pipelines.ingest.pages import whole
from pipelines.ingest.places.archives import opened_member, taken, tape_members
from pipelines.ingest.places.endings import PAIRED, SEEKABLE, compression_of
from pipelines.ingest.places.grouping import Partition, partition_content
from pipelines.ingest.places.opening import Opener, SourceFiles, native
from pipelines.ingest.places.ranges import FileRange, Unreadable
from pipelines.ingest.places.streams import HashedRange, decompressed, window
from pipelines.ingest.records.jsonl import parse_line
from pipelines.ingest.refused import Refused
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.source import PAGES, SourceSpec
from pipelines.transform import Transform

__all__ = ["Chunk", "read_partition", "read_transform"]

_REVISION = 1
# Formats of which a document is a whole file.
_DOCUMENTS = frozenset({"text", "markdown", "html", "pdf"})
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
    files: SourceFiles,
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
        files: who opens the source's files.
        seed: the spec's seed.
        chunk_bytes: bytes of text in a chunk, about.

    Raises:
        Conflict: the bytes are not those that were planned.
        NotFound, ConfigError, AccessDenied, Unavailable: a file is gone, or may or can
            not be read.
    """
    builder = ChunkBuilder(source.name, seed, hasher, chunk_bytes)
    with Opener(source, files) as opener:
        work = _Reading(partition, source, opener, builder)
        if partition.format in SEEKABLE:
            contents = yield from work.row_groups()
        elif partition.format == PAIRED:
            contents = yield from work.pair()
        elif partition.compression.startswith("tar."):
            contents = yield from work.compressed_archive()
        else:
            contents = yield from work.ranges()
    content = partition_content(partition.format, partition.compression, contents)
    if content != partition.content:
        raise _changed(source, f"{partition.files[0].path!r} ({len(partition.files)} files)")
    if not builder.empty:
        yield builder.take()


def read_transform(source: SourceSpec, seed: int) -> Transform:
    """What a build key knows of reading a source: all that its records depend on."""
    own = ("format", "text", "id", "url", "record_licence", "encoding", "extract", "delimiter")
    parameters: dict[str, str | int | None] = {name: getattr(source, name) for name in own}
    parameters |= {"source": source.name, "seed": seed}
    return Transform("read", _REVISION, parameters, behaviour_of(_probed(source)))


class _Reading:
    """One partition on its way."""

    def __init__(
        self, partition: Partition, source: SourceSpec, opener: Opener, builder: ChunkBuilder
    ) -> None:
        self._partition, self._source = partition, source
        self._opener, self._builder = opener, builder

    def ranges(self) -> Generator[Chunk, None, list[Digest]]:
        """Ranges of files, each a stream of its own; gives their digests."""
        contents = []
        for ordinal, part in enumerate(self._partition.files):
            with self._opener.open(part.path, part.state) as file:
                raw = HashedRange(file, part.start, part.length)
                if part.unreadable is None:
                    inner = opened_member(iter(raw), part)
                    yield from self._read(inner, self._partition.compression, ordinal, part)
                else:
                    self._refuse(part.unreadable, Place(ordinal, 0, part.length))
                    if self._builder.full:
                        yield self._builder.take()
                # Behind a fault there may be bytes that no reader asked for.
                contents.append(self._checked(part, part.content_of(raw.digest_to_end())))
        return contents

    def pair(self) -> Generator[Chunk, None, list[Digest]]:
        """An index and what it stands for, a file beside it; gives the digests of both."""
        from pipelines.ingest.ids.megatron import read_megatron

        index, ids = self._partition.files
        with self._opener.open(index.path, index.state) as file:
            raw = HashedRange(file, 0, index.length)
            told = b"".join(raw)
            contents = [self._checked(index, raw.digest_to_end())]
        with self._opener.open(ids.path, ids.state) as file:
            raw = HashedRange(file, 0, ids.length)
            yield from read_megatron(told, iter(raw), ids.length, self._builder)
            contents.append(self._checked(ids, raw.digest_to_end()))
        return contents

    def compressed_archive(self) -> Generator[Chunk, None, list[Digest]]:
        """Members of one stream, in its order; gives its digest."""
        first = self._partition.files[0]
        with self._opener.open(first.path, first.state) as file:
            raw = HashedRange(file, 0, file.size_bytes)
            tape, members = tape_members(iter(raw), self._partition.compression, self._source)
            for ordinal, member in enumerate(members):
                if member.unreadable is not None:
                    self._refuse(member.unreadable, Place(ordinal, 0, member.num_bytes))
                    continue
                compression = compression_of(self._source, member.name)
                yield from self._read(taken(tape, member), compression, ordinal)
            return [raw.digest_to_end()]

    def row_groups(self) -> Generator[Chunk, None, list[Digest]]:
        """Runs of row groups; gives their digests."""
        from pipelines.ingest.columnar.grouped import read_open_groups

        contents = []
        for ordinal, part in enumerate(self._partition.files):
            content = part.content or self._partition.content
            alone = replace(self._partition, files=(part,), content=content)
            with self._opener.open(part.path, part.state) as file:
                found = read_open_groups(native(file), alone, self._source, self._builder)
                content = yield from _of_file(found, ordinal)
            if not self._builder.empty:
                yield _placed(self._builder.take(), ordinal)
            contents.append(self._checked(part, content))
        return contents

    def _read(
        self,
        stream: Iterable[bytes],
        compression: str,
        ordinal: int,
        part: FileRange | None = None,
    ) -> Iterator[Chunk]:
        """Reads one stream: of a range, or, where there is none, of a member of a stream."""
        if compression or part is None or part.packed is not None:
            start = 0 if part is None or part.member else part.start
            stream = decompressed(stream, compression, start)
            if part is not None and (part.skip or part.take is not None):
                stream = window(stream, part.skip, part.take)
            if self._partition.format in _DOCUMENTS:
                # It may unpack to any size: what no document can hold is not unpacked.
                stream = window(stream, 0, whole.MAX_FILE_BYTES + 1)
        yield from _reader(self._partition.format)(stream, self._source, self._builder, ordinal)

    def _refuse(self, wrong: Unreadable, place: Place) -> None:
        self._builder.refuse(wrong.reason, wrong.detail, b"", place)

    def _checked(self, part: FileRange, content: Digest) -> Digest:
        if part.content is not None and content != part.content:
            raise _changed(self._source, repr(part.shown))
        return content


def _of_file(
    chunks: Generator[Chunk, None, Digest], ordinal: int
) -> Generator[Chunk, None, Digest]:
    while True:
        try:
            chunk = next(chunks)
        except StopIteration as end:
            content: Digest = end.value
            return content
        yield _placed(chunk, ordinal)


def _placed(chunk: Chunk, ordinal: int) -> Chunk:
    """The same records in another file of the partition; their reader knows of one alone."""
    tables = []
    for table in (chunk.records, chunk.quarantine):
        place = table.schema.get_field_index("file")
        column = pa.array(np.full(table.num_rows, ordinal, np.int32))
        tables.append(table.set_column(place, table.schema.field(place), column))
    return Chunk(*tables)


def _changed(source: SourceSpec, what: str) -> Conflict:
    return Conflict(f"source {source.name}: {what} changed since it was planned", "build again")


# Where the reader of a format is: imported when it is needed, since some are heavy.
_READERS: Mapping[str, tuple[str, str]] = {
    "jsonl": ("pipelines.ingest.records.jsonl", "read_jsonl"),
    "json": ("pipelines.ingest.records.json_array", "read_json"),
    "csv": ("pipelines.ingest.records.delimited", "read_delimited"),
    "tsv": ("pipelines.ingest.records.delimited", "read_delimited"),
    "text": ("pipelines.ingest.pages.text", "read_text"),
    "markdown": ("pipelines.ingest.pages.text", "read_text"),
    "html": ("pipelines.ingest.pages.html", "read_html"),
    "warc": ("pipelines.ingest.web.warc", "read_warc"),
    "pdf": ("pipelines.ingest.pages.pdf", "read_pdf"),
    "mds": ("pipelines.ingest.ids.mds", "read_mds"),
    "tokens": ("pipelines.ingest.ids.token_array", "read_token_array"),
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
        from pipelines.ingest.pages.extract import text_of_page

        for page in _PROBE_PAGES:
            yield text_of_page(page, source).text.encode()
