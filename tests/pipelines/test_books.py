"""The books balance, or say where they do not."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import canonical_json
from lineage.errors import IntegrityError
from pipelines.books import STAGES, Books, Count, StageBook, book_clean, book_ingest
from pipelines.schema import DOCUMENTS, QUARANTINE, RECORDS

quick = settings(deadline=None, max_examples=30)
rules = st.sampled_from(["min_chars", "max_chars", "exact_duplicate"])
counts = st.builds(Count, st.integers(0, 9), st.integers(0, 2**40))


@st.composite
def sound_books(draw: st.DrawFn) -> Books:
    """Books of all stages that balance, made backwards from what was placed."""
    tokens = Count(tokens=draw(st.integers(0, 2**50)))
    kept, stages = draw(counts), []
    for name in reversed(STAGES):
        lost = {} if name in ("tokenize", "shard") else draw(st.dictionaries(rules, counts))
        came_in = kept
        for count in lost.values():
            came_in += count
        made = tokens if name in ("tokenize", "shard") else Count()
        carried = tokens if name == "shard" else Count()
        unread, dropped = (lost, {}) if name == "ingest" else ({}, lost)
        stages.append(StageBook(name, came_in + carried, kept + made, dropped, unread))
        kept = came_in
    return Books(tuple(reversed(stages)))


@quick
@given(sound_books())
def test_sound_books_balance_and_survive_their_json(books: Books) -> None:
    books.balance()
    assert Books.parse(books.to_json()) == books
    assert Books.parse(orjson.loads(canonical_json(books.to_json()))) == books


@quick
@given(sound_books(), sound_books(), sound_books())
def test_the_sum_of_sound_books_balances_in_any_order(a: Books, b: Books, c: Books) -> None:
    total = Books.total([a, b, c])
    total.balance()
    assert total == Books.total([c, a, b]) == a.add(b.add(c))
    assert canonical_json(total.to_json()) == canonical_json(Books.total([b, c, a]).to_json())


@quick
@given(
    sound_books(),
    st.integers(0, len(STAGES) - 1),
    st.sampled_from(["in_", "kept"]),
    st.sampled_from(["records", "bytes", "tokens"]),
)
def test_one_count_off_by_one_is_found_and_named(
    books: Books, at: int, side: str, unit: str
) -> None:
    stages = list(books)
    count = getattr(stages[at], side)
    off = replace(count, **{unit: getattr(count, unit) + 1})
    stages[at] = replace(stages[at], **{side: off})
    with pytest.raises(IntegrityError, match=rf"stage {STAGES[at]}|: in.*[+-]1 {unit}"):
        Books(tuple(stages)).balance()


def test_the_message_names_the_stage_and_the_difference() -> None:
    book = StageBook("clean", Count(10, 500), Count(7, 400), {"min_chars": Count(2, 90)})
    with pytest.raises(IntegrityError) as caught:
        book.balance()
    assert "stage clean: in" in caught.value.message
    assert caught.value.message.endswith("= +1 records, +10 bytes")


def test_a_stage_takes_in_what_the_one_before_it_kept() -> None:
    read, cleaned = Count(10, 500), Count(9, 450)
    books = Books((StageBook("ingest", read, read), StageBook("clean", cleaned, cleaned)))
    with pytest.raises(IntegrityError, match=r"stage ingest: kept - \(clean: in\) = \+1 records"):
        books.balance()


def test_tokens_come_to_be_in_tokenize_and_are_all_placed() -> None:
    text, tokens = Count(3, 30), Count(3, 30, 12)
    placed = StageBook("shard", tokens, tokens, fill_tokens=4)
    Books((StageBook("tokenize", text, tokens), placed)).balance()
    lost = StageBook("shard", tokens, Count(3, 30, 11))
    with pytest.raises(IntegrityError, match=r"stage shard: in .* = \+1 tokens"):
        lost.balance()


def test_a_stage_left_out_is_missed() -> None:
    same = Count(1, 1)
    with pytest.raises(IntegrityError, match="between ingest and dedup"):
        Books((StageBook("ingest", same, same), StageBook("dedup", same, same))).balance()


def test_rules_that_dropped_nothing_do_not_stand() -> None:
    same = Count(1, 1)
    book = StageBook("clean", same, same, {"min_chars": Count()})
    assert book == StageBook("clean", same, same)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Count(-1),
        lambda: StageBook("cleaning", Count(), Count()),
        lambda: StageBook("shard", Count(), Count(), fill_tokens=-1),
        lambda: Books(
            (StageBook("clean", Count(), Count()), StageBook("ingest", Count(), Count()))
        ),
        lambda: Books().stage("clean"),
        lambda: Books.parse({}),
        lambda: Books.parse([{"stage": "clean"}]),
        lambda: Books.parse([StageBook("clean", Count(), Count()).to_json() | {"dropped": 1}]),
        lambda: Count.parse({"records": "1", "bytes": 2, "tokens": "x"}),
        lambda: Count.parse({"records": True, "bytes": 2, "tokens": 0}),
    ],
)
def test_books_that_make_no_sense_are_refused(make: object) -> None:
    with pytest.raises(IntegrityError):
        make()  # type: ignore[operator]


# Documents as rules leave them.
JUDGED = DOCUMENTS.append(pa.field("rule", pa.string()))


def test_the_books_of_a_partition_are_made_from_its_tables() -> None:
    ids = ("shuffle_key", "content_key", "document_id", "raw_content_id")
    record: dict[str, object] = {name: bytes(32) for name in ids}
    record |= {"file": 0, "offset": 0, "num_bytes": 5, "text": "some"}
    unread = {"file": 0, "offset": 5, "num_bytes": 3, "reason": "blank_line", "detail": ""}
    records = pa.Table.from_pylist([record] * 3, RECORDS)
    quarantine = pa.Table.from_pylist([unread | {"record": b"x"}] * 2, QUARANTINE)
    cleaned = record | {"content_id": bytes(32), "num_chars": 4, "edits": ""}
    documents = [cleaned, cleaned, cleaned | {"rule": "min_chars"}]
    books = Books(
        (
            book_ingest(records, quarantine),
            book_clean(pa.Table.from_pylist(documents, JUDGED)),
        )
    )
    books.balance()
    assert books.stage("ingest").in_ == Count(5, 21)
    assert books.stage("ingest").quarantined == {"blank_line": Count(2, 6)}
    assert books.stage("clean").dropped == {"min_chars": Count(1, 5)}


def test_an_empty_partition_has_empty_books() -> None:
    ingest = book_ingest(RECORDS.empty_table(), QUARANTINE.empty_table())
    Books((ingest, book_clean(JUDGED.empty_table()))).balance()
    assert ingest.in_ == Count()
