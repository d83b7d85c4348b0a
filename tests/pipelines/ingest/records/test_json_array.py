from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.ingest.chunk import REASONS, ChunkBuilder
from pipelines.ingest.places.streams import StreamFault
from pipelines.ingest.records import json_array, json_resync
from pipelines.ingest.records.json_array import read_json
from tests.pipelines.ingest.conftest import HASHER, Folder

SOURCE = Folder(Path()).source("a.json", "json")
ROWS = [{"text": f"t{i}"} for i in range(6)]
LINES = "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]\n"
PRETTY = json.dumps(ROWS, indent=2)
COMPACT = json.dumps(ROWS)
OBJECTS = "\n".join(json.dumps(row, indent=1) for row in ROWS) + "\n"


def read(blocks: Iterable[bytes]) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    builder = ChunkBuilder("wiki", 7, HASHER, 1 << 20)
    chunks = [*read_json(blocks, SOURCE, builder, 0), builder.take()]
    names = ("offset", "num_bytes")
    records = [
        (row["text"], *(row[name] for name in names))
        for chunk in chunks
        for row in chunk.records.to_pylist()
    ]
    refused = [
        (row["reason"], *(row[name] for name in names))
        for chunk in chunks
        for row in chunk.quarantine.to_pylist()
    ]
    assert {reason for reason, _, _ in refused} <= REASONS
    return records, refused


def read_all(data: bytes | str) -> tuple[list[str], list[str]]:
    """Texts and reasons; the places follow each other from the first byte to the last."""
    data = data.encode() if isinstance(data, str) else data
    records, refused = read([data])
    at = 0
    for _, offset, num_bytes in sorted([*records, *refused], key=lambda row: row[1:]):
        assert offset == at
        at += num_bytes
    assert at == len(data)
    return [text for text, _, _ in records], [reason for reason, _, _ in refused]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


ALL = ["t0", "t1", "t2", "t3", "t4", "t5"]
BUT_T2 = ["t0", "t1", "t3", "t4", "t5"]


@pytest.mark.parametrize(
    "data", [LINES, PRETTY, COMPACT, OBJECTS, "\ufeff" + LINES, "\n\n" + LINES]
)
def test_arrays_and_objects_are_read_however_they_are_laid_out(data: str) -> None:
    assert read_all(data) == (ALL, [])


def test_an_element_lies_where_its_separator_began() -> None:
    records, _ = read([b'[{"text": "a"}, {"text": "b"} ]\n'])
    assert records == [("a", 0, 15), ("b", 15, 17)]


@pytest.mark.parametrize("data", [LINES, PRETTY, COMPACT])
@pytest.mark.parametrize(
    ("good", "broken"),
    [
        ('"t2"', "NaN"),
        ('"t2"', '"t2",'),
        ('"t2"', '"t2\n"'),
        ('"t2"', "t2"),
        ('"t2"', '"t2" "x"'),
    ],
)
def test_a_broken_element_loses_itself_alone(data: str, good: str, broken: str) -> None:
    assert read_all(data.replace(good, broken)) == (BUT_T2, ["invalid_json"])


@pytest.mark.parametrize("data", [LINES, PRETTY, COMPACT, OBJECTS])
@pytest.mark.parametrize("broken", ['"t2', 't2"', '"t"2"', '"t2\\"', '"t2", {', '["t2"', '"t2"]'])
def test_behind_quotes_and_brackets_without_their_pair_the_next_element_is_found(
    data: str, broken: str
) -> None:
    assert read_all(data.replace('"t2"', broken)) == (BUT_T2, ["invalid_json"])


def test_bytes_that_are_no_utf8_lose_their_element_alone() -> None:
    data = LINES.encode().replace(b"t2", b"caf\xe9")
    assert read_all(data) == (BUT_T2, ["invalid_utf8"])


@pytest.mark.parametrize(("good", "broken"), [('"t2"}', '"t2"}}'), ('"t2"}', '"t2"}]]'[:-1])])
def test_a_bracket_too_many_closes_nothing_but_the_array(good: str, broken: str) -> None:
    texts, reasons = read_all(LINES.replace(good, broken))
    assert texts[:2] == ["t0", "t1"]
    assert "invalid_json" in reasons


@pytest.mark.parametrize("data", [LINES, PRETTY, COMPACT])
@pytest.mark.parametrize("lost", ["[", ",", "}", "{", "]"])
def test_a_bracket_or_comma_that_is_missing_costs_one_element_at_most(data: str, lost: str) -> None:
    at = data.index(lost, 30 if lost in ",{}" else 0)
    texts, reasons = read_all(data[:at] + data[at + 1 :])
    if lost != "[":
        assert len(texts) >= len(ALL) - 2 + (lost == ",")
        assert texts == [text for text in ALL if text in texts]
        assert reasons or lost == ","
    assert set(texts) <= set(ALL)


def test_arrays_that_follow_each_other_are_read_one_behind_the_other() -> None:
    assert read_all('[{"text": "a"}]\n[{"text": "b"}]\n [ ]') == (["a", "b"], [])
    assert read_all('[{"text": "a"}]] , {"text": "b"}]') == (["a", "b"], ["invalid_json"])


def test_text_that_looks_like_elements_is_none() -> None:
    inner = json.dumps(json.dumps([{"text": "inner"}, {"text": "inner"}]) + "}, {}, {1}")
    data = LINES.replace('"t2"', inner + " x").replace('"t3"', inner)
    texts, reasons = read_all(data)
    assert (texts[:2], texts[3:], len(texts), reasons) == (ALL[:2], ALL[4:], 5, ["invalid_json"])


def test_many_broken_elements_each_lose_themselves_alone() -> None:
    rows = ['{"text": "good"}', '{"text": "bad}', '{"text": bad"}', '{"text": "a" "b"}'] * 50
    for separator in (",", ", ", ",\n"):
        texts, reasons = read_all("[" + separator.join(rows) + "]")
        assert texts == ["good"] * 50
        # Broken ones beside each other are one row.
        assert reasons == ["invalid_json"] * 50


def test_the_search_reaches_over_more_than_the_longest_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (json_array, json_resync):
        monkeypatch.setattr(module, "MAX_LINE_BYTES", 100_000)
    data = ('[{"text": "a"}, {"text": "b" ' + "x, " * 200_000 + '}, {"text": "c"}]').encode()
    for size in (1 << 20, 4_097):
        records, refused = read(cut(data, size))
        assert [text for text, _, _ in records] == ["a", "c"]
        assert [reason for reason, _, _ in refused] == ["line_too_long"]
        assert sum(row[2] for row in [*records, *refused]) == len(data)


def test_objects_inside_elements_are_never_taken_for_elements() -> None:
    rows = [{"text": f"t{i}", "parts": [{"text": "inner"}, {"text": "inner"}]} for i in range(4)]
    data = json.dumps(rows, indent=0)
    assert read_all(data)[0] == ["t0", "t1", "t2", "t3"]
    texts, reasons = read_all(data.replace('"t2"', '"t2'))
    assert (texts, reasons) == (["t0", "t1", "t3"], ["invalid_json"])
    broken = json.dumps(rows, indent=1).replace('"t2"', '"t2')
    assert read_all(broken) == (["t0", "t1", "t3"], ["invalid_json"])


def test_a_file_that_ends_early_gives_what_came_before() -> None:
    # The bracket of the array alone is missing.
    assert read_all(LINES[:-2]) == (ALL, ["invalid_json"])
    assert read_all(LINES[:-9]) == (["t0", "t1", "t2", "t3", "t4"], ["invalid_json"])
    assert read_all(OBJECTS[:-9]) == (["t0", "t1", "t2", "t3", "t4"], ["invalid_json"])
    broken = LINES.replace('"t2"', '"t2')[:-9]
    assert read_all(broken) == (["t0", "t1", "t3", "t4"], ["invalid_json"] * 2)


def test_commas_and_bytes_that_belong_to_no_element() -> None:
    assert read_all('[{"text": "a"}, ] \n') == (["a"], [])
    assert read_all('[,{"text": "a"},,]') == (["a"], ["invalid_json"] * 2)
    assert read_all('[{"text": "a"}] \n x [{"text": "b"}]') == (["a"], ["invalid_json"])
    assert read_all(" [ ] \n") == ([], ["empty_file"])
    assert read_all("") == ([], ["empty_file"])
    assert read_all("[") == ([], ["invalid_json"])


def test_what_is_no_object_is_refused_by_itself() -> None:
    data = '[1, "a", null, [{"text": "in"}], {"text": "b"}, {"text": null}, {"x": "[,]"}]'
    assert read_all(data) == (["b"], ["not_an_object"] * 4 + ["text_null", "text_missing"])


def test_lines_are_read_as_lines_and_one_object_as_one() -> None:
    assert read_all('{"text": "a"}\n{"text": "b}\n{"text": "c"}') == (["a", "c"], ["invalid_json"])
    # Its first line is cut off inside a string: so it is a line.
    assert read_all('{"text": "a\n{"text": "b"}\n') == (["b"], ["invalid_json"])
    assert read_all('{"text": "a"}') == (["a"], [])
    assert read_all('{\n "text": "a",\n "n": [1, {"x": "}"}]\n}\n\n') == (["a"], [])
    assert read_all('{\n "text": "a",\n') == ([], ["invalid_json"])


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        (b'{"text": "\\ud800"}', "lone_surrogate"),
        (b'{"text": "a\\u0000"}', "nul_character"),
        (b'{"text": "a\x00"}', "nul_character"),
        (b'{"text": "a", "x": ' + b"[" * 2000 + b"]" * 2000 + b"}", "invalid_json"),
    ],
)
def test_texts_that_no_tokenizer_should_see(element: bytes, reason: str) -> None:
    data = b'[{"text": "a"},\n' + element + b',\n{"text": "b"}]'
    assert read_all(data) == (["a", "b"], [reason])


def test_numbers_and_names_may_be_odd() -> None:
    data = '[{"text": "a", "n": 123456789012345678901234567890, "text": "b\\n", "\\n": 1}]'
    assert read_all(data) == (["b\n"], [])
    assert read_all('[{"text": "a", "n": 1e999}]') == ([], ["invalid_json"])


def test_an_element_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_array, "MAX_LINE_BYTES", 100_000)
    long = '{"text": "' + "x" * 300_000 + '"}'
    for data in (LINES, PRETTY, COMPACT):
        whole = data.replace('{"text": "t2"}', long).replace('{\n    "text": "t2"\n  }', long)
        for size in (1 << 20, 50_001):
            records, refused = read(cut(whole.encode(), size))
            assert [text for text, _, _ in records] == BUT_T2
            assert [reason for reason, _, _ in refused] == ["line_too_long"]
            assert sum(row[2] for row in [*records, *refused]) == len(whole)


def test_elements_swallowed_beyond_the_limit_are_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_array, "MAX_LINE_BYTES", 5_000)
    rows = [json.dumps({"text": f"text {i}"}) for i in range(2_000)]
    rows[700] = rows[700][:-3] + "}"
    data = ("[\n" + ",\n".join(rows) + "\n]").encode()
    for size in (1000, 77):
        records, refused = read(cut(data, size))
        assert len(records) == 1_999
        assert [reason for reason, _, _ in refused] == ["invalid_json"]
        assert sum(row[2] for row in [*records, *refused]) == len(data)


def test_a_long_text_is_one_element() -> None:
    data = json.dumps([{"text": "é[,]{" * 3_000_000}, {"text": "b"}]).encode()
    records, refused = read(cut(data, 1 << 20))
    assert ([len(text) for text, _, _ in records], refused) == ([15_000_000, 1], [])


def test_a_full_chunk_is_given_out_at_once() -> None:
    data = json.dumps([{"text": "x" * 100}] * 1000).encode()
    builder = ChunkBuilder("wiki", 7, HASHER, 1000)
    chunks = list(read_json([data], SOURCE, builder, 0))
    assert max(chunk.records.num_rows for chunk in chunks) <= 11


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("data", [LINES, OBJECTS, LINES[:-2], LINES[:30], "[", " ", ""])
def test_a_fault_of_the_stream_gives_what_came_before(data: str, clean: bool) -> None:
    def stream() -> Iterator[bytes]:
        yield from cut(data.encode(), 7)
        raise StreamFault("corrupt_stream", "here", clean)

    records, refused = read(stream())
    assert [text for text, _, _ in records] == read_all(data)[0]
    assert refused[-1][0] == "corrupt_stream"
    assert sum(row[2] for row in [*records, *refused]) == len(data)


@given(
    st.sampled_from([LINES, PRETTY, COMPACT, OBJECTS]).map(str.encode),
    st.lists(
        st.tuples(
            st.integers(0, 300),
            st.integers(0, 3),
            st.sampled_from([b"", b'"', b"{", b"}", b"[", b"]", b",", b"\n", b"\\", b"\xff", b" "]),
        ),
        max_size=4,
    ),
    st.integers(1, 40),
)
@settings(deadline=None, max_examples=300)
def test_damage_invents_no_document_and_all_bytes_are_accounted_for(
    data: bytes, damages: list[tuple[int, int, bytes]], size: int
) -> None:
    for at, num_lost, put in damages:
        data = data[:at] + put + data[at + num_lost :]
    texts, reasons = read_all(data)
    assert sum(text not in ALL for text in texts) <= len(damages)
    found = read(cut(data, size))
    assert found == read([data])
    assert texts or reasons


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=2, max_size=8),
    st.sampled_from([(None, (", ", ": ")), (None, (",", ":")), (1, None), (0, None)]),
    st.booleans(),
    st.data(),
)
@settings(deadline=None, max_examples=200)
def test_one_quote_too_few_costs_one_element_whatever_the_texts_are(
    texts: list[str], layout: tuple[int | None, Any], ascii_only: bool, data: st.DataObject
) -> None:
    indent, separators = layout
    rows = [{"text": text, "n": {"x": [i, "y"]}} for i, text in enumerate(texts)]
    dumped = [
        json.dumps(row, indent=indent, separators=separators, ensure_ascii=ascii_only)
        for row in rows
    ]
    which = data.draw(st.integers(0, len(rows) - 1))
    quotes = [i for i, sign in enumerate(dumped[which]) if sign == '"']
    at = data.draw(st.sampled_from(quotes))
    dumped[which] = dumped[which][:at] + dumped[which][at + 1 :]
    joint = ",\n" if indent is not None else ","
    found = read_all("[" + joint.join(dumped) + "]")[0]
    good = [text for i, text in enumerate(texts) if i != which and "\0" not in text]
    # A quote of the text that stood behind a backslash may end it as well.
    assert found in (good, [*texts[:which], *found[which : which + 1], *texts[which + 1 :]])


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b'{"text": "a"}', b"[", b"]", b",\n"])))
@settings(deadline=None, max_examples=200)
def test_no_bytes_break_the_reader(pieces: list[bytes]) -> None:
    read_all(b"".join(pieces))
    read_all(b"[" + b"".join(pieces))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=6), st.sampled_from([None, 0, 1, 4]), st.booleans())
@settings(deadline=None, max_examples=100)
def test_what_pythons_writer_writes_is_read_back(
    values: list[Any], indent: int | None, ascii_only: bool
) -> None:
    rows = [{"text": f"t{i}", "more": value} for i, value in enumerate(values)]
    data = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    texts, reasons = read_all(data)
    assert texts == [row["text"] for row in rows]
    assert reasons == ([] if rows else ["empty_file"])
