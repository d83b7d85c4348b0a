"""Resolving, against plain Python and in small stories."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from lineage.ids import IdHasher, RecordKey, shuffle_key
from pipelines.books import Books, Count
from pipelines.decisions import DECISIONS
from pipelines.dedup.columns import INPUT, PUBLISHED
from pipelines.dedup.resolve import NEW, REMOVALS, Resolution, Resolving, new_order
from pipelines.dedup.rows import TableRows
from pipelines.dedup.verdicts import decision_order

HASHER = IdHasher(b"a" * 32)
quick = settings(deadline=None, max_examples=50)
OTHER_HASHER = IdHasher(b"b" * 32)


@dataclass(frozen=True)
class Row:
    """One record of a made-up input: cleaning lowers the case and drops the empty text."""

    partition: int
    row: int
    source: int
    record: str
    text: str


@dataclass(frozen=True)
class Alive:
    """One document of a made-up parent version."""

    source: int
    record: str
    text: str
    cleaned: str


def line(row: Row, hasher: IdHasher = HASHER) -> dict[str, Any]:
    raw, cleaned = row.text.encode(), row.text.lower().encode()
    record, source = RecordKey.own(row.record), f"s{row.source}"
    return {
        "partition": row.partition,
        "row": row.row,
        "source": row.source,
        "shuffle_key": shuffle_key(1, source, record),
        "content_key": hashlib.sha256(raw).digest(),
        "document_id": hasher.document_id(source, record),
        "raw_content_id": hasher.content_id(raw),
        "content_id": hasher.content_id(cleaned),
        "num_bytes": len(raw) + 10,
        "num_chars": len(row.text),
        "edits": "" if raw == cleaned else "lower",
        "rule": None if raw else "min_chars",
        "value": None if raw else 0,
        "threshold": None if raw else 1,
    }


def place(number: int, alive: Alive, hasher: IdHasher = HASHER) -> dict[str, Any]:
    return {
        "document_id": hasher.document_id(f"s{alive.source}", RecordKey.own(alive.record)),
        "raw_content_id": hasher.content_id(alive.text.encode()),
        "content_id": hasher.content_id(alive.cleaned.encode()),
        "segment": 0,
        "shard": number // 3,
        "span": number % 3,
        "num_tokens": len(alive.text) + 1,
    }


@dataclass(frozen=True)
class Found:
    """A resolution, read to its end and put in order."""

    new: pa.Table
    removed: pa.Table
    decisions: pa.Table
    books: Books


def resolving_of(documents: pa.Table, published: pa.Table) -> Resolving:
    return Resolving(TableRows.of_input(documents), TableRows.of_published(published))


def read(resolution: Resolution, documents: pa.Table) -> Found:
    """With a byte a token and one for the end."""
    sizes = {item[:2]: item[2] - 9 for item in columns(documents, "partition", "row", "num_bytes")}
    new = pa.concat_tables([NEW.empty_table(), *resolution.new_documents()])
    tokens = np.array([sizes[at] for at in columns(new, "partition", "row")], np.int64)
    new = new.append_column("num_tokens", pa.array(tokens))
    resolution = resolution.with_tokens(tokens)
    parts = [table for table, _ in resolution.decisions()]
    decisions = pa.concat_tables([DECISIONS.empty_table(), *parts])
    assert (new.num_rows, decisions.num_rows) == (resolution.num_new, resolution.num_decisions)
    return Found(
        new.take(pa.array(new_order(new))),
        resolution.removed,
        decisions.take(pa.array(decision_order(decisions))),
        resolution.books,
    )


def resolve(documents: pa.Table, published: pa.Table, fresh: set[int]) -> Found:
    return read(resolving_of(documents, published).result(fresh), documents)


def solve(rows: list[Row], alive: list[Alive], fresh: set[int], hasher: IdHasher = HASHER) -> Found:
    documents = pa.Table.from_pylist([line(row, hasher) for row in rows], INPUT)
    places = [place(number, item, hasher) for number, item in enumerate(alive)]
    return resolve(documents, pa.Table.from_pylist(places, PUBLISHED), fresh)


Line = dict[str, Any]
Fate = tuple[str, str | None, bytes | None]
IDS = ("document_id", "raw_content_id", "content_id")


def same(one: Line, other: Line | None, *names: str) -> bool:
    return other is not None and all(one[name] == other[name] for name in names)


def plain_fates(lines: list[Line], published: dict[bytes, Line]) -> list[Fate]:
    """Verdict, rule and survivor of each line."""
    fates: list[Fate] = [("dropped", item["rule"], None) for item in lines]
    by_document, by_content = defaultdict(list), defaultdict(list)
    for at, item in enumerate(lines):
        if not item["rule"]:
            item["old"] = published.get(item["document_id"])
            by_document[item["document_id"]].append(at)
    for group in by_document.values():
        best = min(
            group,
            key=lambda i: (not same(lines[i], lines[i]["old"], *IDS[:2]), lines[i]["content_key"]),
        )
        by_content[lines[best]["content_id"]].append(best)
        for at in group:
            again = same(lines[at], lines[best], "content_key")
            fates[at] = ("quarantined", "record_id_reused", None)
            if again:
                fates[at] = ("dropped", "exact_duplicate", lines[best]["document_id"])
    for group in by_content.values():
        best = min(
            group,
            key=lambda i: (not same(lines[i], lines[i]["old"], *IDS), lines[i]["shuffle_key"]),
        )
        for at in group:
            fates[at] = ("dropped", "exact_duplicate", lines[best]["document_id"])
        fates[best] = ("kept", None, None)
    return fates


def plain_removal(old: Line, lines: list[Line], fates: list[Fate]) -> Fate | None:
    """Why a published document leaves and who stands for it, or None if it stays."""
    rows = [at for at, item in enumerate(lines) if same(item, old, "document_id")]
    texts = [at for at in rows if same(lines[at], old, "raw_content_id")]
    if any(fates[at][0] == "kept" and same(lines[at], old, *IDS) for at in rows):
        return None
    if texts and fates[texts[0]][0] != "kept":
        return ("removed", *fates[texts[0]][1:])
    return ("removed", "changed" if rows else "removed", None)


def plain_decisions(
    lines: list[Line], places: list[Line], fresh: set[int]
) -> tuple[list[tuple[int, int]], dict[bytes, Any], list[tuple[Any, ...]]]:
    """Places of the new, rules of the removed, and the decisions as tuples."""
    lines = sorted(lines, key=lambda item: (item["partition"], item["row"]))
    published = {item["document_id"]: item for item in places}
    fates = plain_fates(lines, published)
    new = {
        at
        for at, fate in enumerate(fates)
        if fate[0] == "kept" and not same(lines[at], lines[at]["old"], *IDS)
    }
    due = new | {at for at, item in enumerate(lines) if item["partition"] in fresh}
    removals = {
        i: fate for i, old in published.items() if (fate := plain_removal(old, lines, fates))
    }
    for document_id in removals:
        old = published[document_id]
        due |= {next((at for at, item in enumerate(lines) if same(item, old, *IDS)), -1)} - {-1}
    decided = [
        (
            lines[at]["document_id"],
            fates[at][0],
            lines[at]["partition"],
            lines[at]["row"],
            *fates[at][1:],
        )
        for at in due
    ]
    decided += [(i, "removed", -1, -1, *fate[1:]) for i, fate in removals.items()]
    order = sorted(new, key=lambda at: lines[at]["shuffle_key"])
    return (
        [(lines[at]["partition"], lines[at]["row"]) for at in order],
        {i: fate[1] for i, fate in removals.items()},
        sorted(decided, key=lambda item: item[:4]),
    )


texts = st.sampled_from(["", "a", "A", "b", "B", "c"])
records = st.sampled_from(["1", "2", "3", "4"])
sources = st.integers(0, 1)


@st.composite
def inputs(draw: st.DrawFn) -> tuple[list[Row], list[Alive], set[int]]:
    places = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), unique=True))
    rows = [Row(*at, draw(sources), draw(records), draw(texts)) for at in places]
    names = draw(st.lists(st.tuples(sources, records), unique=True, max_size=8))
    cleaned = st.sampled_from(["a", "b", "c", "A"])
    alive = [Alive(*name, draw(texts), draw(cleaned)) for name in names]
    return rows, alive, draw(st.sets(st.integers(0, 3)))


def columns(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


@quick
@given(inputs())
def test_it_agrees_with_plain_python(case: tuple[list[Row], list[Alive], set[int]]) -> None:
    rows, alive, fresh = case
    found = solve(rows, alive, fresh)
    lines = [line(row) for row in rows]
    places = [place(number, item) for number, item in enumerate(alive)]
    new, removed, decided = plain_decisions(lines, places, fresh)
    assert columns(found.new, "partition", "row") == new
    assert dict(columns(found.removed, "document_id", "rule")) == removed
    names = ("document_id", "verdict", "partition", "row", "rule", "survivor_id")
    placed = [
        item if item[1] != "removed" else (*item[:2], -1, -1, *item[4:])
        for item in columns(found.decisions, *names)
    ]
    assert placed == decided
    found.books.balance()


@quick
@given(inputs(), st.randoms(use_true_random=False))
def test_no_order_of_rows_changes_the_answer(
    case: tuple[list[Row], list[Alive], set[int]], chance: Any
) -> None:
    rows, alive, fresh = case
    expected = solve(rows, alive, fresh)
    shuffled = list(rows)
    chance.shuffle(shuffled)
    again = solve(shuffled, alive, fresh)
    assert again == expected


@quick
@given(inputs(), st.permutations(range(4)))
def test_partitions_in_another_order_give_the_same_documents(
    case: tuple[list[Row], list[Alive], set[int]], order: list[int]
) -> None:
    rows, alive, _ = case
    moved = [replace(row, partition=order[row.partition]) for row in rows]
    here, there = solve(rows, alive, {0, 1, 2, 3}), solve(moved, alive, {0, 1, 2, 3})
    ids = ["shuffle_key", "document_id", "raw_content_id", "content_id", "num_tokens"]
    assert here.new.select(ids) == there.new.select(ids)
    assert here.removed == there.removed
    assert here.books == there.books
    assert count_words(here) == count_words(there)


def count_words(found: Found) -> list[tuple[Any, ...]]:
    return sorted(columns(found.decisions, "document_id", "verdict", "rule"), key=str)


@quick
@given(inputs())
def test_workspaces_with_other_id_keys_agree_on_the_order(
    case: tuple[list[Row], list[Alive], set[int]],
) -> None:
    rows, alive, fresh = case
    here, there = solve(rows, alive, fresh), solve(rows, alive, fresh, OTHER_HASHER)
    assert here.new["shuffle_key"] == there.new["shuffle_key"]
    assert here.books == there.books


@quick
@given(inputs())
def test_what_was_just_published_has_nothing_new(
    case: tuple[list[Row], list[Alive], set[int]],
) -> None:
    rows = case[0]
    first = solve(rows, [], {0, 1, 2, 3})
    width = ("document_id", "raw_content_id", "content_id")
    places = [
        dict(zip(width, ids, strict=True), segment=0, shard=0, span=span, num_tokens=tokens)
        for span, (*ids, tokens) in enumerate(columns(first.new, *width, "num_tokens"))
    ]
    documents = pa.Table.from_pylist([line(row) for row in rows], INPUT)
    second = resolve(documents, pa.Table.from_pylist(places, PUBLISHED), set())
    assert (second.new.num_rows, second.removed.num_rows, second.decisions.num_rows) == (0, 0, 0)
    assert second.books == first.books


def test_a_first_build_decides_on_every_document() -> None:
    rows = [Row(0, 0, 0, "1", "a"), Row(0, 1, 0, "2", ""), Row(1, 0, 0, "3", "A")]
    found = solve(rows, [], {0, 1})
    assert found.decisions.num_rows == 3
    assert found.new.num_rows == 1
    names = ("verdict", "stage", "rule", "value", "threshold", "num_tokens")
    assert sorted(columns(found.decisions, *names), key=str) == [
        ("dropped", "clean", "min_chars", 0, 1, None),
        ("dropped", "dedup", "exact_duplicate", None, None, None),
        ("kept", "publish", None, None, None, 2),
    ]


def test_the_same_record_twice_is_one_document() -> None:
    found = solve([Row(0, 0, 0, "1", "a"), Row(0, 1, 0, "1", "a")], [], {0})
    document_id = line(Row(0, 0, 0, "1", "a"))["document_id"]
    names = ("verdict", "row", "rule", "survivor_id")
    assert columns(found.decisions, *names) == [
        ("dropped", 1, "exact_duplicate", document_id),
        ("kept", 0, None, None),
    ]


def test_a_record_id_used_again_is_quarantined_and_the_published_text_stays() -> None:
    rows = [Row(0, 0, 0, "1", "a"), Row(0, 1, 0, "1", "b"), Row(0, 2, 0, "1", "c")]
    for text in ("a", "b", "c"):
        found = solve(rows, [Alive(0, "1", text, text)], {0})
        assert (found.new.num_rows, found.removed.num_rows) == (0, 0)
        kept = dict(columns(found.decisions, "row", "verdict"))
        assert kept[["a", "b", "c"].index(text)] == "kept"
        reused = found.books.stage("dedup").quarantined["record_id_reused"]
        assert reused == Count(records=2, bytes=22)


def test_a_duplicate_takes_the_place_of_a_removed_document() -> None:
    found = solve([Row(0, 0, 0, "2", "a")], [Alive(0, "1", "a", "a")], set())
    assert found.new.num_rows == 1
    verdicts = set(columns(found.decisions, "verdict", "rule"))
    assert verdicts == {("kept", None), ("removed", "removed")}


def test_a_document_with_other_text_is_new_and_leaves_a_hole() -> None:
    found = solve([Row(0, 0, 0, "1", "b")], [Alive(0, "1", "a", "a")], {0})
    assert found.new.num_rows == 1
    assert columns(found.removed, "segment", "shard", "span", "rule") == [(0, 0, 0, "changed")]
    names = ("verdict", "stage", "rule", "partition", "source", "num_bytes")
    gone = ("removed", "publish", "changed", None, None, None)
    assert gone in columns(found.decisions, *names)


def test_a_rule_that_is_new_removes_what_it_drops() -> None:
    found = solve([Row(0, 0, 0, "1", "")], [Alive(0, "1", "", "")], {0})
    assert columns(found.removed, "rule") == [("min_chars",)]


def test_nothing_at_all_resolves_to_nothing() -> None:
    found = solve([], [], set())
    assert found.new.select(NEW.names).schema == NEW
    assert found.removed.schema == REMOVALS
    assert found.decisions.schema == DECISIONS
    found.books.balance()


def test_tables_that_do_not_fit_are_refused_with_a_name() -> None:
    documents = pa.Table.from_pylist([line(Row(0, 0, 0, "1", "a"))], INPUT)
    published = PUBLISHED.empty_table()
    bad = {
        "lacks the columns shuffle_key": documents.drop_columns("shuffle_key"),
        "null in content_id": _with(documents, "content_id", pa.nulls(1, pa.binary(32))),
        "of another type": _with(documents, "num_bytes", pa.array(["many"])),
        "occurs twice": pa.concat_tables([documents, documents]),
    }
    for message, table in bad.items():
        with pytest.raises(IntegrityError, match=message):
            resolve(table, published, {0})


def test_tokens_of_every_new_document_come_before_its_decision() -> None:
    documents = pa.Table.from_pylist([line(Row(0, 0, 0, "1", "a"))], INPUT)
    found = resolving_of(documents, PUBLISHED.empty_table()).result({0})
    with pytest.raises(IntegrityError, match="before the new documents were tokenized"):
        next(found.decisions())
    with pytest.raises(IntegrityError, match="0 of 1 new documents"):
        found.with_tokens(np.zeros(0, np.int64))


def test_two_documents_with_one_shuffle_key_are_refused() -> None:
    lines = [line(Row(0, 0, 0, "1", "a")), line(Row(0, 1, 0, "2", "b"))]
    lines[1]["shuffle_key"] = lines[0]["shuffle_key"]
    with pytest.raises(IntegrityError, match="one shuffle key"):
        resolve(pa.Table.from_pylist(lines, INPUT), PUBLISHED.empty_table(), {0})


def test_a_parent_version_with_one_document_twice_is_refused() -> None:
    with pytest.raises(IntegrityError, match="alive twice"):
        solve([], [Alive(0, "1", "a", "a"), Alive(0, "1", "b", "b")], set())


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, name, values)


def test_many_documents_in_many_slices_are_all_decided() -> None:
    number = 70_000
    ids = np.random.default_rng(3).integers(0, 256, (number, 32), np.uint8)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), number, [None, pa.py_buffer(ids)])
    names = [item.name for item in INPUT if item.type == pa.binary(32)]
    counts = pa.array(np.ones(number, np.int64))
    table = pa.table(
        {
            **dict.fromkeys(names, column),
            "partition": pa.array(np.arange(number) // 30_000, pa.int32()),
            "row": pa.array(np.arange(number) % 30_000),
            "source": pa.array(np.zeros(number, np.int32)),
            "num_bytes": pa.array(np.full(number, 10)),
            "num_chars": counts,
            "edits": pa.array([""] * number),
            "rule": pa.nulls(number, pa.string()),
            "value": pa.nulls(number, pa.int64()),
            "threshold": pa.nulls(number, pa.int64()),
        }
    )
    found = resolve(table, PUBLISHED.empty_table(), {0, 1, 2})
    in_order = [ids[i].tobytes() for i in np.lexsort(ids.T[::-1])]
    assert found.new["shuffle_key"].to_pylist() == in_order
    assert found.decisions["document_id"].to_pylist() == in_order


def test_of_near_duplicates_the_published_then_the_longer_stands_first() -> None:
    rows = [Row(0, 0, 0, "1", "aaa"), Row(0, 1, 0, "2", "aa"), Row(0, 2, 0, "3", "a")]
    documents = pa.Table.from_pylist([line(row) for row in rows], INPUT)
    published = pa.Table.from_pylist([place(0, Alive(0, "3", "a", "a"))], PUBLISHED)
    contest = resolving_of(documents, published).contest()
    assert contest.rows.tolist() == [0, 1, 2]
    rank, lie = contest.standing(np.arange(3))
    assert rank.tolist() == [1, 2, 0]
    assert columns(lie, "partition", "row", "num_chars") == [(0, 0, 3), (0, 1, 2), (0, 2, 1)]
    assert contest.standing(np.array([0, 2]))[0].tolist() == [1, 0]


def test_a_near_duplicate_makes_way_with_its_similarity_and_its_survivor() -> None:
    rows = [Row(0, 0, 0, "1", "aaa"), Row(0, 1, 1, "2", "aa"), Row(0, 2, 1, "3", "b")]
    documents = pa.Table.from_pylist([line(row) for row in rows], INPUT)
    resolving = resolving_of(documents, PUBLISHED.empty_table())
    resolving.make_way(np.array([1]), np.array([0]), np.array([900_000]), 800_000)
    assert [part.tolist() for part in resolving.near_by_source()] == [[1, 2], [0, 1]]
    found = read(resolving.result({0}), documents)
    names = ("row", "verdict", "rule", "value", "threshold", "survivor_id")
    near = ("dropped", "near_duplicate", 900_000, 800_000)
    survivor = line(rows[0])["document_id"]
    assert (1, *near, survivor) in columns(found.decisions, *names)
    dedup = found.books.stage("dedup")
    assert dedup.dropped == {"near_duplicate": Count(records=1, bytes=12)}
    found.books.balance()


def test_a_published_document_that_is_a_near_duplicate_now_is_removed_as_one() -> None:
    rows = [Row(0, 0, 0, "1", "aaa"), Row(0, 1, 0, "2", "aa")]
    documents = pa.Table.from_pylist([line(row) for row in rows], INPUT)
    alive = [Alive(0, "1", "aaa", "aaa"), Alive(0, "2", "aa", "aa")]
    places = [place(number, item) for number, item in enumerate(alive)]
    resolving = resolving_of(documents, pa.Table.from_pylist(places, PUBLISHED))
    resolving.make_way(np.array([1]), np.array([0]), np.array([900_000]), 800_000)
    found = read(resolving.result(set()), documents)
    assert columns(found.removed, "span", "rule") == [(1, "near_duplicate")]


def test_a_document_makes_way_only_for_one_that_is_kept() -> None:
    rows = [Row(0, 0, 0, "1", "aaa"), Row(0, 1, 0, "2", "aa"), Row(0, 2, 0, "3", "a")]
    documents = pa.Table.from_pylist([line(row) for row in rows], INPUT)
    resolving = resolving_of(documents, PUBLISHED.empty_table())
    with pytest.raises(IntegrityError, match="not kept"):
        resolving.make_way(np.array([1, 2]), np.array([0, 1]), np.array([9, 9]), 1)
    with pytest.raises(IntegrityError, match="did not survive"):
        resolving.make_way(np.array([1]), np.array([0]), np.array([9]), 1)
