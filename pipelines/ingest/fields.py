"""Which fields of a record are its text, its id, its address and its licence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from lineage.errors import ConfigError
from pipelines.ingest.chunk import Told
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

_MISSING = object()
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Mapped(NamedTuple):
    """One record as a document: its text in UTF-8, its own id, and what it tells besides."""

    text: bytes
    record_id: str | None
    told: Told


class FieldMap:
    r"""Takes documents out of records of one source.

    A field is a name, or a path such as ``meta.body`` through nested objects; a key that
    holds the dots itself goes before the path. The text may be a template such as
    ``{title}\n\n{body}``: a field that is null or missing leaves its place empty, as long
    as one of them has text.

    Raises:
        ConfigError: a template that cannot be read.
    """

    def __init__(self, source: SourceSpec) -> None:
        self._source = source
        self._parts = template_of(source.text)
        self._tells = bool(source.url or source.record_licence)

    def document(self, record: Mapping[str, Any]) -> Mapped:
        """The document of a record.

        Raises:
            Refused: it has no text, or no id where one is needed.
        """
        text = self._text(record) if self._parts is None else self._filled(record, self._parts)
        if "\0" in text:
            where = f"{self._source.text!r}, character {text.index(chr(0))}"
            raise Refused("nul_character", where)
        field = self._source.id
        record_id = None if field is None else own_id(value_of(record, field, None), field)
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as wrong:
            raise Refused("lone_surrogate", f"character {wrong.start}") from None
        return Mapped(data, record_id, self._told(record) if self._tells else _NOTHING)

    def _text(self, record: Mapping[str, Any]) -> str:
        field = self._source.text
        text = record.get(field, _MISSING)
        if text is _MISSING:
            text = value_of(record, field, _MISSING)
        if isinstance(text, str):
            return text
        if text is _MISSING or text is None:
            raise Refused("text_missing" if text is _MISSING else "text_null", f"field {field!r}")
        raise Refused("text_not_a_string", f"{field!r} is {kind_of(text)}")

    def _filled(self, record: Mapping[str, Any], parts: list[tuple[str, str | None]]) -> str:
        filled, texts = [], 0
        for literal, field in parts:
            filled.append(literal)
            value = None if field is None else value_of(record, field, None)
            if value is None:
                continue
            if not isinstance(value, str):
                raise Refused("text_not_a_string", f"{field!r} is {kind_of(value)}")
            texts += bool(value)
            filled.append(value)
        if not texts:
            raise Refused("text_missing", f"no field of {self._source.text!r} has text")
        return "".join(filled)

    def _told(self, record: Mapping[str, Any]) -> Told:
        fields = (self._source.url, self._source.record_licence)
        found = [None if field is None else value_of(record, field, None) for field in fields]
        url, licence = (value if isinstance(value, str) else None for value in found)
        return Told(url, licence)


_NOTHING = Told()
_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def value_of(record: Mapping[str, Any], field: str, missing: object) -> Any:
    """The value of a field or of a path, or `missing`."""
    if field in record:
        return record[field]
    value: Any = record
    for name in field.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return missing
        value = value[name]
    return value


def kind_of(value: object) -> str:
    """What a value is, in the words of JSON."""
    return _KINDS[type(value)]


def own_id(value: object, field: str) -> str:
    """A record's own id: a string that is not empty, or an integer in decimal.

    Raises:
        Refused: null, missing, empty, or of another type.
    """
    if value is None or value == "":
        raise Refused("id_missing", f"field {field!r}")
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Refused("id_not_a_string", f"{field!r} is {kind_of(value)}")


def fields_of(source: SourceSpec) -> list[str]:
    """Every field that a source's spec names."""
    parts = template_of(source.text)
    texts = [source.text] if parts is None else [field for _, field in parts if field is not None]
    return [*texts, *filter(None, (source.id, source.url, source.record_licence))]


def template_of(text: str) -> list[tuple[str, str | None]] | None:
    """A template's literals, each with the field behind it; the last has none.

    None for a name or a path, which holds no braces.

    Raises:
        ConfigError: a brace too many, a field without a name, or no field.
    """
    return _parts(text) if "{" in text or "}" in text else None


def _parts(template: str) -> list[tuple[str, str | None]]:
    parts: list[tuple[str, str | None]] = []
    literal, at = "", 0
    for match in _FIELD.finditer(template):
        literal += template[at : match.start()]
        at = match.end()
        if match[0] in ("{{", "}}"):
            literal += match[0][0]
        elif match[1]:
            parts.append((literal, match[1]))
            literal = ""
        else:
            raise ConfigError(
                f"the template {template!r} cannot be read at character {match.start()}",
                "write fields as {name}, and braces as {{ and }}",
            )
    if not parts:
        raise ConfigError(f"the template {template!r} names no field", "write fields as {name}")
    return [*parts, (literal + template[at:], None)]
