"""Finds documents: by id, by their text, or by what the decisions say of them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lineage.audit.reading import Reading
from lineage.errors import ConfigError
from lineage.ids import RecordKey
from lineage.versions import Version

_ID = pa.binary(32)
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "lock_configuration": "true",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which documents are asked about; exactly one field is set.

    Attributes:
        id: a document id (64 hex digits), or a record's own id in any source.
        text: the text itself.
        where: an SQL condition over the columns of the decisions.
    """

    id: str | None = None
    text: str | None = None
    where: str | None = None


def find_documents(reading: Reading, versions: list[Version], wanted: Wanted) -> list[bytes]:
    """Document ids, sorted; none when nothing fits.

    Raises:
        ConfigError: not exactly one way of asking, or a condition that cannot be read.
    """
    if sum(item is not None for item in (wanted.id, wanted.text, wanted.where)) != 1:
        raise ConfigError("ask by one of --id, --text-file and --where")
    if wanted.id is not None:
        return sorted(_by_id(reading, versions, wanted.id))
    found: set[bytes] = set()
    for version in versions:
        decisions = reading.table(version, "decisions")
        if wanted.text is not None:
            found |= _by_text(reading, decisions, wanted.text)
        else:
            found |= _by_condition(decisions, wanted.where or "")
    return sorted(found)


def _by_id(reading: Reading, versions: list[Version], text: str) -> set[bytes]:
    """Documents on which something was decided: an id that is mistyped finds none."""
    hasher = reading.workspace.id_hasher()
    sources = {source.name for version in versions for source in reading.content(version).sources}
    ids = [hasher.document_id(source, RecordKey.own(text)) for source in sources]
    if len(text) == 64 and not text.strip("0123456789abcdef"):
        ids.append(bytes.fromhex(text))
    known = pa.array(ids, _ID)
    found: set[bytes] = set()
    for version in versions:
        decided = reading.table(version, "decisions")["document_id"]
        found.update(decided.filter(pc.is_in(decided, known)).to_pylist())
    return found


def _by_text(reading: Reading, decisions: pa.Table, text: str) -> set[bytes]:
    """Documents whose raw or cleaned text is this one, as it is or composed (NFC)."""
    hasher = reading.workspace.id_hasher()
    forms = {text, text.removesuffix("\n"), unicodedata.normalize("NFC", text)}
    ids = pa.array([hasher.content_id(form.encode()) for form in forms], _ID)
    fits = pc.or_kleene(
        pc.is_in(decisions["raw_content_id"], ids), pc.is_in(decisions["content_id"], ids)
    )
    return set(decisions["document_id"].filter(fits.fill_null(False)).to_pylist())


def _by_condition(decisions: pa.Table, condition: str) -> set[bytes]:
    # The condition comes from a person: it may read this table and nothing else.
    with duckdb.connect(config=_LOCKED) as connection:
        connection.register("decisions", decisions)
        try:
            query = f"SELECT DISTINCT document_id FROM decisions WHERE ({condition})"  # noqa: S608
            rows = connection.execute(query).fetchall()
        except duckdb.Error as error:
            columns = ", ".join(decisions.column_names)
            reason = str(error).partition("\n")[0][:200]
            raise ConfigError(f"--where: {reason}", f"columns: {columns}") from None
    return {bytes(row[0]) for row in rows}
