"""Adopting: an existing corpus gets a spec whose sources say that nobody knows their origin.

What follows is a build as any other, so every answer about a version holds here too. The
texts stay as they are: nothing is normalized, and no rule is asked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flows.build.worker import spec_path
from lineage.errors import ConfigError, Conflict, NotFound, ShardlineError
from lineage.workspace import Workspace
from pipelines.ingest.places.files import list_files
from pipelines.spec.dataset import load_spec
from pipelines.spec.source import (
    COMPRESSIONS,
    FORMAT_OF_ENDING,
    STRUCTURED,
    TOKEN_TYPES,
    UNKNOWN_MONTH,
    UNKNOWN_ORIGIN,
)
from pipelines.tokens.vocabulary import load_vocabulary

_STRANGE = re.compile(r"[^a-z0-9._-]+")
_NAME_CHARS = 56


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is adopted.

    Attributes:
        paths: files, folders and globs; each becomes a source.
        tokenizer: a tokenizer.json.
        end_of_document: the token that ends each document.
        text, id: the fields of a record's text, and of its own id; None for the usual.
        dtype: how ids are written where a corpus holds them, or None.
        licence: SPDX expression of all of it.
        sample_tokens: tokens in a sample.
        seed: of the global shuffle.
    """

    paths: tuple[Path, ...]
    tokenizer: Path
    end_of_document: str
    text: str | None
    id: str | None
    dtype: str | None
    licence: str
    sample_tokens: int
    seed: int


def adopt(workspace: Workspace, dataset: str, corpus: Corpus) -> Path:
    """Writes the spec of a corpus, to be built by whoever called.

    Raises:
        Conflict: the dataset has a spec already.
        ConfigError: the name, a path, the tokenizer or the licence is wrong.
        NotFound: nothing lies at a path.
    """
    path = spec_path(workspace, dataset)
    end_id = load_vocabulary(corpus.tokenizer, corpus.end_of_document).end_id
    text = "\n".join(_lines(workspace.root, corpus, end_id)) + "\n"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        hint = f"shardline build {dataset}, or adopt it under another name"
        raise Conflict(f"specs/{path.name} is there already", hint) from None
    try:
        for source in load_spec(path).sources:
            listed = list_files(source, workspace.root)
            if source.format == "mds":
                _check_shards({(workspace.root / file.path).parent for file in listed})
    except ShardlineError:
        # Nothing was built from it, and it would stand in the way of the next try.
        path.unlink()
        raise
    return path


def _check_shards(folders: set[Path]) -> None:
    """Every shard that an index of MDS names is there, unpacked and of its size."""
    for folder in sorted(folders):
        index = folder / "index.json"
        if not index.is_file():
            continue
        try:
            raws = [shard["raw_data"] for shard in json.loads(index.read_bytes())["shards"]]
            sizes = {str(raw["basename"]): int(raw["bytes"]) for raw in raws}
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ConfigError(f"{index}: no index of MDS", "bring it from where it was") from None
        for name, size in sizes.items():
            shard = folder / Path(name).name
            if not shard.is_file() or shard.stat().st_size != size:
                hint = "bring it whole, and unpack it where it is compressed"
                raise NotFound(f"{shard}: not there with {size} bytes, as its index says", hint)


def _lines(root: Path, corpus: Corpus, end_id: int) -> Iterator[str]:
    yield f"seed = {corpus.seed}"
    taken: set[str] = set()
    for path in corpus.paths:
        format_ = _format(path)
        yield ""
        yield "[[sources]]"
        yield f"name = {_quoted(_name(path, taken))}"
        yield f"path = {_quoted(_inside(root, path))}"
        yield f"format = {_quoted(format_)}"
        yield f"licence = {_quoted(corpus.licence)}"
        yield f"source_class = {_quoted(UNKNOWN_ORIGIN)}"
        yield f"collected = {_quoted(UNKNOWN_MONTH)}"
        yield from _reading(format_, corpus, end_id)
    yield from ("", "[clean]", 'normalize = "none"')
    yield from ("", "[tokenizer]", f"file = {_quoted(_inside(root, corpus.tokenizer))}")
    yield f"end_of_document = {_quoted(corpus.end_of_document)}"
    yield from ("", "[shards]", f"sample_tokens = {corpus.sample_tokens}")


def _reading(format_: str, corpus: Corpus, end_id: int) -> Iterator[str]:
    if format_ in STRUCTURED:
        yield f"text = {_quoted(corpus.text or 'text')}"
        if corpus.id is not None:
            yield f"id = {_quoted(corpus.id)}"
    if format_ == "mds":
        yield f"text = {_quoted(corpus.text or 'tokens')}"
    if format_ in ("mds", "tokens"):
        if corpus.dtype is None:
            hint = f"add --dtype with one of {', '.join(TOKEN_TYPES)}"
            raise ConfigError(f"files of {format_} do not tell how ids are written", hint)
        yield f"encoding = {_quoted(corpus.dtype)}"
    if format_ == "tokens":
        yield f'delimiter = "{end_id}"'


def _format(path: Path) -> str:
    """The format of a path by its ending, of a folder by that of its files."""
    names = [path.name]
    if path.is_dir():
        names = [name for _, _, files in os.walk(path) for name in files if name[0] != "."]
    found = sorted({format_ for name in names if (format_ := _format_of(name)) is not None})
    if "megatron" in found and not any(name.endswith(".npy") for name in names):
        # Its ids lie in files that end like plain arrays.
        found = [format_ for format_ in found if format_ != "tokens"]
    if "mds" in found and any(name == "index.json" for name in names):
        found = [format_ for format_ in found if format_ != "json"]
    if not found:
        if not path.exists() and "*" not in str(path):
            raise NotFound(f"{path}: no such file or folder", "check the path")
        raise ConfigError(f"{path}: no format is known by its ending", _known())
    if len(found) > 1:
        hint = "name one folder or glob for each, such as 'corpus/*.jsonl' 'corpus/*.parquet'"
        raise ConfigError(f"{path}: files of several formats: {', '.join(found)}", hint)
    return found[0]


def _format_of(name: str) -> str | None:
    bare = name.lower()
    for ending in COMPRESSIONS:
        bare = bare.removesuffix(ending)
    return FORMAT_OF_ENDING.get(Path(bare).suffix)


def _known() -> str:
    return f"rename it to one of {' '.join(FORMAT_OF_ENDING)}"


def _name(path: Path, taken: set[str]) -> str:
    """A source's name after its path's, different from all before."""
    bare = _STRANGE.sub("-", path.name.partition(".")[0].lower()).strip("-._")[:_NAME_CHARS]
    names = [bare or "corpus", *(f"{bare or 'corpus'}-{number}" for number in range(2, 1000))]
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name


def _inside(root: Path, path: Path) -> str:
    """The path relative to the workspace where it lies inside, else absolute."""
    whole = Path(os.path.normpath(Path.cwd() / path))
    own = Path(os.path.normpath(Path.cwd() / root))
    return str(whole.relative_to(own) if whole.is_relative_to(own) else whole)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
