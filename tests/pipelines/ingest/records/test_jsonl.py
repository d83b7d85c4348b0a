from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import Conflict, NotFound
from lineage.ids import RecordKey, shuffle_key
from pipelines.ingest.chunk import HEAD_BYTES, REASONS
from pipelines.ingest.records import jsonl, lines

GOOD = b'{"text": "good"}\n'


def read_lines(folder: Any, data: bytes, **fields: str) -> Any:
    folder.write("a.jsonl", data)
    return folder.read(folder.source("a.jsonl", **fields))


def test_a_record_has_its_text_its_place_and_its_ids(folder: Any) -> None:
    found = read_lines(folder, b'{"text": "one"}\n{"n": 1, "text": "zw\\u00f6lf \xf0\x9f\x98\x80"}')
    first, second = found.records.to_pylist()
    assert found.texts == ["one", "zwölf 😀"]
    assert (first["file"], first["offset"], first["num_bytes"]) == (0, 0, 16)
    assert (second["file"], second["offset"], second["num_bytes"]) == (0, 16, 35)
    key = RecordKey.content(b"one")
    assert first["content_key"] == key.value
    assert first["shuffle_key"] == shuffle_key(7, "wiki", key)
    assert len({first["document_id"], first["raw_content_id"], second["document_id"]}) == 3


def test_an_own_id_names_the_record_and_not_its_text(folder: Any) -> None:
    before = read_lines(folder, b'{"id": "a", "text": "x"}\n{"id": 7, "text": "y"}\n', id="id")
    after = read_lines(folder, b'{"id": "7", "text": "z"}\n{"id": "a", "text": "x"}\n', id="id")
    names = ("document_id", "content_key")
    (a, x), (seven, y) = zip(*(before.records.column(n).to_pylist() for n in names), strict=True)
    (again, z), same = zip(*(after.records.column(n).to_pylist() for n in names), strict=True)
    assert same == (a, x)
    assert again == seven
    assert z != y


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (b"", "blank_line", "only white space"),
        (b" \t\r", "blank_line", "only white space"),
        (b'{"text": "\xff"}', "invalid_utf8", "byte 10"),
        (b'{"text": "caf\xe9"}', "invalid_utf8", "byte 13"),
        (b'{"text": "\xed\xa0\x80"}', "invalid_utf8", "byte 10"),
        ('{"text": "a"}'.encode("utf-16-le"), "nul_character", "byte 1"),
        (b'{"text": "broken', "invalid_json", "character"),
        (b'{"text": "a"} {}', "invalid_json", "character"),
        (b'{"text": "a", "n": NaN}', "invalid_json", "character"),
        (b"[" * 5000, "invalid_json", "character"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "invalid_json", "two byte order marks"),
        (b"\xef\xbb\xbf", "blank_line", "only white space"),
        (b'["text"]', "not_an_object", "it is an array"),
        (b"12", "not_an_object", "it is a number"),
        (b"null", "not_an_object", "it is null"),
        (b'{"id": "a", "body": "b"}', "text_missing", "'text'"),
        (b'{"id": "a", "text": null}', "text_null", "'text'"),
        (b'{"id": "a", "text": ["b"]}', "text_not_a_string", "'text' is an array"),
        (b'{"text": "b"}', "id_missing", "'id'"),
        (b'{"id": null, "text": "b"}', "id_missing", "'id'"),
        (b'{"id": "", "text": "b"}', "id_missing", "'id'"),
        (b'{"id": true, "text": "b"}', "id_not_a_string", "'id' is true or false"),
        (b'{"id": 1.5, "text": "b"}', "id_not_a_string", "'id' is a number"),
        (b'{"id": "a", "text": "b\\ud800c"}', "lone_surrogate", "character"),
        (b'{"id": "a", "text": "b", "n": "\\udc00"}', "lone_surrogate", "character"),
        (b'{"id": "a", "text": "b\\u0000c"}', "nul_character", "'text', character 1"),
        (b'{"id": "a", "text": "b\x00c"}', "nul_character", "byte 22"),
    ],
)
def test_a_bad_line_is_one_quarantine_row_and_its_neighbours_are_read(
    folder: Any, line: bytes, reason: str, detail: str
) -> None:
    good = b'{"id": "%d", "text": "good"}\n'
    found = read_lines(folder, good % 1 + line + b"\n" + good % 2, id="id")
    assert found.texts == ["good", "good"]
    (row,) = found.quarantine.to_pylist()
    assert row["reason"] == reason in REASONS
    assert detail in row["detail"]
    assert row["record"] == line
    assert (row["file"], row["offset"], row["num_bytes"]) == (0, 28, len(line) + 1)


def test_lines_between_bad_ones_are_read_whatever_is_wrong_with_those(folder: Any) -> None:
    deep = b'{"text": "a", "x": ' + b"[" * 3000 + b"]" * 3000 + b"}\n"
    huge = b'{"text": "huge", "n": 123456789012345678901234567890}\n'
    twice = b'{"text": "first", "text": "last"}\n'
    named = b'{"na\\nme": "odd", "text": "named"}\n'
    long = b'{"text": "' + b"x" * (16 << 20) + b'"}\n'
    found = read_lines(folder, GOOD + deep + huge + twice + named + long + GOOD[:-4])
    assert found.reasons == ["invalid_json"] * 2
    texts = [text[:9] for text in found.texts]
    assert texts == ["good", "huge", "last", "named", "x" * 9]
    assert found.num_bytes == (folder.root / "a.jsonl").stat().st_size
    assert read_lines(folder, named, text="na\nme").texts == ["odd"]


def test_carriage_returns_byte_order_marks_and_other_separators_end_no_line(folder: Any) -> None:
    text = "a\u0085b\u2028c"
    data = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + f'{{"text": "{text}"}}\r\n'.encode()
    found = read_lines(folder, data)
    assert found.texts == ["good", text]
    assert found.num_bytes == len(data)


def test_an_empty_text_is_read_and_left_to_cleaning(folder: Any) -> None:
    assert read_lines(folder, b'{"text": ""}\n').texts == [""]


def test_an_empty_file_is_one_quarantine_row(folder: Any) -> None:
    found = read_lines(folder, b"")
    assert (found.texts, found.reasons, found.num_bytes) == ([], ["empty_file"], 0)


def test_no_detail_shows_the_text(folder: Any) -> None:
    secret = b"a secret that no log may hold"
    bad = [b'{"text": "%s', b'{"text": "%s\xff"}', b'{"text": "%s\\u0000"}', b'"%s"', b"%s"]
    found = read_lines(folder, b"\n".join(line.replace(b"%s", secret) for line in bad))
    assert len(found.reasons) == len(bad)
    assert not any("secret" in detail for detail in found.quarantine.column("detail").to_pylist())


@given(st.lists(st.binary(max_size=30) | st.sampled_from([GOOD[:-1], b"{}", b"\r", b"\0"])))
@settings(deadline=None, max_examples=80)
def test_every_line_is_a_record_or_a_quarantine_row_and_bytes_balance(
    shared_folder: Any, pieces: list[bytes]
) -> None:
    data = b"\n".join(pieces)
    shared_folder.write("any.jsonl", data)
    found = shared_folder.read(shared_folder.source("any.jsonl"), target_bytes=50, chunk_bytes=64)
    num_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    assert found.records.num_rows + found.quarantine.num_rows == max(num_lines, 1)
    assert found.num_bytes == len(data)


@given(target=st.integers(1, 3000), chunk=st.integers(1, 3000))
@settings(deadline=None, max_examples=25)
def test_the_records_do_not_depend_on_cuts_or_chunks(
    shared_folder: Any, target: int, chunk: int
) -> None:
    texts = [random.Random(i).randbytes(i % 40).hex() for i in range(80)]
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode() + b"\n{}"
    shared_folder.write("same.jsonl", data)
    source = shared_folder.source("same.jsonl")
    found = shared_folder.read(source, target_bytes=target, chunk_bytes=chunk)
    whole = shared_folder.read(source)
    assert found.texts == whole.texts == texts
    assert found.identities == whole.identities
    assert found.reasons == whole.reasons == ["blank_line", "text_missing"]


def test_ids_do_not_depend_on_place_or_file_name(folder: Any) -> None:
    data = b"".join(b'{"text": "%d"}\n' % i for i in range(50))
    before = read_lines(folder, data).identities
    assert before < read_lines(folder, b'{"text": "new"}\n' + data).identities
    (folder.root / "a.jsonl").rename(folder.root / "b.jsonl")
    assert before < folder.read(folder.source("b.jsonl")).identities


def test_a_line_that_is_too_long_is_passed_over(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The limit is 64 MiB; a smaller one makes the same lines too long.
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 100_000)
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100_000)
    long, longer = b"x" * 100_001 + b"\n", b"y" * 5_000_000 + b"\n"
    data = GOOD + longer + GOOD + long + GOOD + longer[:-1]
    found = read_lines(folder, data)
    assert found.texts == ["good"] * 3
    rows = found.quarantine.to_pylist()
    assert [row["reason"] for row in rows] == ["line_too_long"] * 3
    assert [row["record"][:1] for row in rows] == [b"y", b"x", b"y"]
    assert all(len(row["record"]) == HEAD_BYTES for row in rows)
    assert rows[0]["offset"] == len(GOOD)
    assert found.num_bytes == len(data)


def test_a_file_that_changed_since_it_was_planned_is_a_conflict(folder: Any) -> None:
    source = folder.source("a.jsonl")
    folder.write("a.jsonl", GOOD * 3)
    parts = folder.plan(source)
    folder.write("a.jsonl", GOOD * 2 + GOOD.replace(b"good", b"evil"))
    with pytest.raises(Conflict, match="changed since it was planned"):
        folder.read_planned(source, parts)
    folder.write("a.jsonl", GOOD)
    with pytest.raises(Conflict, match="changed since it was planned"):
        folder.read_planned(source, parts)


def test_a_file_that_is_gone_is_not_found(folder: Any) -> None:
    source = folder.source("a.jsonl")
    folder.write("a.jsonl", GOOD)
    parts = folder.plan(source)
    (folder.root / "a.jsonl").unlink()
    with pytest.raises(NotFound, match=r"a\.jsonl"):
        folder.read_planned(source, parts)
