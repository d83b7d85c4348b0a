"""The section ``[decontamination]``: evaluation sets that no document may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from lineage.fields import Fields
from pipelines.spec.source import COMPRESSIONS

FORMATS = ("jsonl", "parquet", "text")
_FORMAT_OF_ENDING = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
    ".text": "text",
}
_DEFAULT_FIELDS = ("text",)
_MOST_WORDS = 64


@dataclass(frozen=True, slots=True)
class EvalSetSpec:
    """One evaluation set.

    Attributes:
        path: a file or a glob below the workspace's root.
        format: one of `FORMATS`; an item is a line, a row, or a line of text.
        fields: what an item is made of, joined in this order; unused where it is text.
    """

    path: str
    format: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecontaminationSpec:
    """Which evaluation sets documents are measured against, and how.

    Attributes:
        sets: in the order of the file.
        words: words of an n-gram.
        min_words: a shorter item is not indexed; one between this and `words` is
            recognised by n-grams of so many words, and only where it stands whole.
        max_items: an n-gram that stands in more items identifies none of them.
        max_coverage: largest share of an item that a document may hold, in millionths.
    """

    sets: tuple[EvalSetSpec, ...]
    words: int = 13
    min_words: int = 8
    max_items: int = 32
    max_coverage: int = 200_000


def decontamination_spec(table: object, where: str) -> DecontaminationSpec:
    """Reads ``[decontamination]``.

    Raises:
        ConfigError: an unknown key, a wrong type or value, or a path that leaves the workspace.
    """
    fields = Fields(table, f"{where}, [decontamination]", _KEYS)
    words = fields.integer("words", 4, _MOST_WORDS, 13)
    usual = _fields_of(fields) or _DEFAULT_FIELDS
    sets = fields.value("sets")
    if not isinstance(sets, list) or not sets:
        fields.refuse("sets", "a list of paths was expected", 'such as ["evals/*.jsonl"]')
    return DecontaminationSpec(
        sets=tuple(_set(item, f"{fields.where}, set {i}", usual) for i, item in enumerate(sets, 1)),
        words=words,
        min_words=fields.integer("min_words", 4, words, min(8, words)),
        max_items=fields.integer("max_items", 1, 1_000_000, 32),
        max_coverage=fields.millionths("max_coverage", 0, 1, 200_000),
    )


_KEYS = (*DecontaminationSpec.__slots__, "fields")


def _set(item: object, where: str, usual: tuple[str, ...]) -> EvalSetSpec:
    table = item if isinstance(item, Mapping) else {"path": item}
    fields = Fields(table, where, EvalSetSpec.__slots__)
    path = fields.text("path")
    _require_inside(fields, path)
    format_ = fields.choice("format", FORMATS) if "format" in fields else _guess(fields, path)
    if format_ == "text":
        if "fields" in fields:
            fields.refuse("fields", "an item of text has no fields", "leave `fields` out")
        return EvalSetSpec(path, format_, ())
    return EvalSetSpec(path, format_, _fields_of(fields) or usual)


def _fields_of(fields: Fields) -> tuple[str, ...]:
    names = fields.texts("fields")
    if "fields" in fields and (not names or "" in names or len(set(names)) < len(names)):
        fields.refuse("fields", "no field, an empty name, or one that stands twice")
    return names


def _require_inside(fields: Fields, path: str) -> None:
    parts = PurePosixPath(path).parts
    if "://" in path or path.startswith("/") or ".." in parts:
        hint = "copy the evaluation set into the workspace"
        fields.refuse("path", f"{path!r} leaves the workspace", hint)


def _guess(fields: Fields, path: str) -> str:
    bare = path.lower()
    for ending in COMPRESSIONS:
        bare = bare.removesuffix(ending)
    guesses = [guess for ending, guess in _FORMAT_OF_ENDING.items() if bare.endswith(ending)]
    if not guesses:
        hint = f"add format = one of {', '.join(FORMATS)}"
        fields.refuse("path", f"{path!r} tells no format", hint)
    return guesses[0]
