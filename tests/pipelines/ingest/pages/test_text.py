from __future__ import annotations

from typing import Any

import pytest

from lineage.errors import Conflict
from pipelines.ingest.chunk import HEAD_BYTES
from pipelines.ingest.pages import whole
from pipelines.ingest.read import read_transform


def read(folder: Any, target: int = 1 << 20) -> Any:
    return folder.read(folder.source("*.txt", "text"), target)


def test_a_file_is_one_document_as_it_lies(folder: Any) -> None:
    folder.write("a.txt", "erste Zeile\r\n\r\nzwölf\n".encode())
    folder.write("b.txt", b"\xef\xbb\xbfwith a mark")
    found = read(folder)
    assert sorted(found.texts) == ["erste Zeile\r\n\r\nzwölf\n", "with a mark"]
    assert found.num_bytes == 22 + 14
    assert sorted(found.records.column("file").to_pylist()) == [0, 1]
    assert found.records.column("offset").to_pylist() == [0, 0]


def test_bad_files_are_quarantine_rows_that_name_their_file(folder: Any) -> None:
    bad = {"b.txt": b"caf\xe9", "c.txt": b"nul \0", "d.txt": b"", "e.txt": "ä".encode("utf-16")}
    for name, data in {"a.txt": b"good", **bad}.items():
        folder.write(name, data)
    source = folder.source("*.txt", "text")
    (part,) = folder.plan(source)
    found = folder.read_planned(source, [part])
    assert found.texts == ["good"]
    reasons = {part.files[row["file"]].path: row["reason"] for row in found.quarantine.to_pylist()}
    assert reasons == {
        "b.txt": "invalid_utf8",
        "c.txt": "nul_character",
        "d.txt": "empty_file",
        "e.txt": "invalid_utf8",
    }
    assert found.num_bytes == part.num_bytes


def test_records_do_not_depend_on_groups(folder: Any) -> None:
    for i in range(60):
        folder.write(f"{i}.txt", b"text %d" % i)
    source = folder.source("*.txt", "text")
    assert len(folder.plan(source, 20_000)) > 3
    assert read(folder, 20_000).identities == read(folder).identities


def test_a_file_that_is_too_long_is_passed_over(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "MAX_FILE_BYTES", 2_000_000)
    folder.write("a.txt", b"x" * 2_000_001)
    found = read(folder)
    (row,) = found.quarantine.to_pylist()
    assert (row["reason"], row["num_bytes"]) == ("text_too_long", 2_000_001)
    assert len(row["record"]) == HEAD_BYTES


def test_a_file_that_changed_since_it_was_planned_is_a_conflict(folder: Any) -> None:
    source = folder.source("*.txt", "text")
    folder.write("a.txt", b"one")
    parts = folder.plan(source)
    folder.write("a.txt", b"two")
    with pytest.raises(Conflict, match="changed since it was planned"):
        folder.read_planned(source, parts)


def test_reading_has_a_digest_of_all_that_its_records_depend_on(folder: Any) -> None:
    source = folder.source("a.jsonl")
    others = [folder.source("a.txt", "text"), folder.source("a.jsonl", id="id")]
    digests = {read_transform(source, 1).digest(), read_transform(source, 2).digest()}
    digests |= {read_transform(other, 1).digest() for other in others}
    assert len(digests) == 4
    assert read_transform(source, 1).digest() == read_transform(source, 1).digest()
