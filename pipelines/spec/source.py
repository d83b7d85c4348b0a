"""The section ``[[sources]]``: where documents come from, and how a record becomes one."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass

from lineage.errors import ConfigError
from lineage.fields import Fields
from pipelines.licence import canonical_licence

FORMATS = (
    "jsonl",
    "json",
    "csv",
    "tsv",
    "parquet",
    "arrow",
    "text",
    "markdown",
    "html",
    "warc",
    "pdf",
    "mds",
    "megatron",
    "tokens",
)
# Formats whose records have fields; a document of the others is a file or a payload.
STRUCTURED = frozenset({"jsonl", "json", "csv", "tsv", "parquet", "arrow"})
# Formats that hold token ids, and no text.
TOKENIZED = frozenset({"mds", "megatron", "tokens"})
# Of those, the formats that do not tell how wide an id is.
_UNTOLD = frozenset({"mds", "tokens"})
TOKEN_TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
# Formats whose bytes may stand in another encoding than UTF-8.
ENCODED = frozenset({"csv", "tsv", "text", "markdown", "html", "warc"})
# What Python calls an encoding and is a way to write names, or a word in a program.
_NO_ENCODINGS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
# Formats that are pages: their text is extracted.
PAGES = frozenset({"html", "warc"})
# What is said of where a corpus came from that was made before it was brought here.
UNKNOWN_ORIGIN, UNKNOWN_MONTH = "unknown_before_import", "unknown"
# The classes of the European template for summaries of training content, and that one.
SOURCE_CLASSES = (
    "public_dataset",
    "licensed",
    "third_party",
    "crawled",
    "user",
    "synthetic",
    "other",
    UNKNOWN_ORIGIN,
)
# By the ending of a file name; the ending of a compression is taken off first.
FORMAT_OF_ENDING = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".warc": "warc",
    ".wet": "warc",
    ".arc": "warc",
    ".pdf": "pdf",
    ".mds": "mds",
    ".idx": "megatron",
    ".npy": "tokens",
    ".bin": "tokens",
}
# Endings of one compressed stream, and of archives of many files.
COMPRESSIONS = {".gz": "gz", ".zst": "zst", ".bz2": "bz2", ".xz": "xz"}
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz")
EXTRACTS = ("main", "all")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
NAME_HINT = "names are lower-case letters, digits, dots, dashes and underscores, 64 at most"
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])\Z")


@dataclass(frozen=True, slots=True)
class SourceSpec:
    r"""One source of documents.

    Attributes:
        path: a glob, a file or a folder, relative to the workspace's root, or ``s3://``.
        format: one of `FORMATS`.
        licence: SPDX expression in canonical spelling.
        source_class: one of `SOURCE_CLASSES`.
        collected: ``YYYY-MM``, or ``unknown`` where the origin is.
        text: the field that holds the text: a name, a path such as ``meta.body``, or a
            template such as ``{title}\n\n{body}``; unused where records have no fields.
            Of mds, the column that holds the ids.
        id: the field that holds the record's own id, or None.
        url: the field that holds the document's address, or None.
        record_licence: the field that holds the record's own licence, or None.
        encoding: ``utf-8``, ``detect``, or the name of an encoding that Python knows. Of
            mds and tokens, one of `TOKEN_TYPES`: how ids are written.
        extract: of pages, ``main`` for the main content or ``all`` for all visible text.
        delimiter: of csv, one character. Of tokens, the id that ends a document.
    """

    name: str
    path: str
    format: str
    licence: str
    source_class: str
    collected: str
    text: str = "text"
    id: str | None = None
    url: str | None = None
    record_licence: str | None = None
    encoding: str = "utf-8"
    extract: str = "main"
    delimiter: str = ","


def source_spec(table: object, where: str) -> SourceSpec:
    """Reads one table ``[[sources]]``.

    Raises:
        ConfigError: an unknown key, a wrong type or value.
    """
    fields = Fields(table, where, SourceSpec.__slots__)
    name = fields.text("name")
    if not NAME.match(name):
        fields.refuse("name", f"{name!r} is no source name", NAME_HINT)
    path = fields.text("path")
    format_ = fields.choice("format", FORMATS) if "format" in fields else _guess(fields, path)
    _refuse_strangers(fields, format_)
    source_class = fields.choice("source_class", SOURCE_CLASSES)
    return SourceSpec(
        name=name,
        path=path,
        format=format_,
        licence=_licence(fields),
        source_class=source_class,
        collected=_collected(fields, source_class),
        text=fields.text("text", "text"),
        id=fields.text("id") if "id" in fields else None,
        url=fields.text("url") if "url" in fields else None,
        record_licence=fields.text("record_licence") if "record_licence" in fields else None,
        encoding=_encoding(fields, format_),
        extract=fields.choice("extract", EXTRACTS, "main"),
        delimiter=_delimiter(fields, format_),
    )


def _refuse_strangers(fields: Fields, format_: str) -> None:
    for key in ("text", "id", "url", "record_licence"):
        if key in fields and format_ not in STRUCTURED and (key, format_) != ("text", "mds"):
            hint = f"leave `{key}` out"
            fields.refuse(key, f"a record of format {format_} has no fields", hint)
    for key, formats in (
        ("encoding", ENCODED | _UNTOLD),
        ("extract", PAGES),
        ("delimiter", {"csv", "tokens"}),
    ):
        if key in fields and format_ not in formats:
            fields.refuse(key, f"format {format_} knows no such thing", f"leave `{key}` out")


def _collected(fields: Fields, source_class: str) -> str:
    collected = fields.text("collected")
    unknown = source_class == UNKNOWN_ORIGIN and collected == UNKNOWN_MONTH
    if not unknown and not _MONTH.match(collected):
        fields.refuse("collected", f"{collected!r} is no month", "write it as YYYY-MM")
    return collected


def _encoding(fields: Fields, format_: str) -> str:
    if format_ in _UNTOLD:
        return fields.choice("encoding", TOKEN_TYPES)
    name = fields.text("encoding", "detect" if format_ in ENCODED else "utf-8").lower()
    if name == "detect":
        return name
    try:
        # Python also knows codecs from bytes to bytes, such as zlib; this refuses them.
        codec = io.TextIOWrapper(io.BytesIO(), encoding=name).encoding
        found = codecs.lookup(codec).name
    except LookupError:
        found = ""
    if not found or found in _NO_ENCODINGS:
        hint = "write detect, or leave it out"
        fields.refuse("encoding", f"{name[:40]!r} is no encoding of texts", hint)
    return found


def _delimiter(fields: Fields, format_: str) -> str:
    if format_ == "tokens":
        if not re.fullmatch(r"[0-9]{1,7}", fields.text("delimiter")):
            fields.refuse("delimiter", "the id that ends a document was expected", '"50256"')
        return fields.text("delimiter")
    delimiter = fields.text("delimiter", "\t" if format_ == "tsv" else ",")
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        fields.refuse("delimiter", f"{delimiter!r} is not one character", "such as , or ;")
    return delimiter


def _guess(fields: Fields, path: str) -> str:
    bare = path.lower()
    for ending in (*ARCHIVES, *COMPRESSIONS):
        bare = bare.removesuffix(ending)
    guesses = [guess for ending, guess in FORMAT_OF_ENDING.items() if bare.endswith(ending)]
    if not guesses:
        hint = f"add format = one of {', '.join(FORMATS)}"
        fields.refuse("path", f"{path!r} tells no format", hint)
    return guesses[0]


def _licence(fields: Fields) -> str:
    try:
        return canonical_licence(fields.text("licence"))
    except ConfigError as error:
        fields.refuse("licence", error.message, error.hint)
