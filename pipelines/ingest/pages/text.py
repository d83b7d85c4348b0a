"""Plain text and Markdown: one document a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Told
from pipelines.ingest.pages.encoding import decoded
from pipelines.ingest.pages.whole import whole_file
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

_BOM = b"\xef\xbb\xbf"
# Metadata at the very top, between lines of three dashes (YAML) or pluses (TOML). It must
# start with a named value: what else stands between two dividing lines is text.
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?:(?:[ \t]*(?:#[^\n]*)?\r?\n)*[\w\"'][^\n:]{0,200}:(?:[ \t][^\n]*)?\r?\n"
    r"(?:.*?\n)??)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
    r"|\+\+\+[ \t]*\r?\n(?:(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:[\w\"'.-]{1,200}[ \t]*=|\[)[^\n]*\n"
    r"(?:.*?\n)??)?\+\+\+[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)


def read_text(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one file; Markdown goes without the metadata at its top.

    Ids are made from the file's bytes without a byte order mark: the mark names the
    encoding, and is no part of the text.
    """
    whole = whole_file(stream, builder, file)
    if whole is not None:
        try:
            found = decoded(whole.data, source.encoding)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, whole.data, whole.place)
        else:
            text = found.text
            if source.format == "markdown":
                text = _without_front_matter(text)
            raw = whole.data.removeprefix(_BOM)
            data = text.encode("utf-8")
            told = Told(encoding=found.encoding)
            builder.record(data, None, whole.place, told, None if data == raw else raw)
    if builder.full:
        yield builder.take()


def _without_front_matter(text: str) -> str:
    match = _FRONT_MATTER.match(text)
    return text if match is None else text[match.end() :]
