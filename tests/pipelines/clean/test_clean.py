from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import digest_of
from lineage.ids import IdHasher, RecordKey
from pipelines.clean.act import FINDINGS, Act, Effect
from pipelines.clean.clean import clean_records, signals_schema
from pipelines.clean.codepoints import maybe_not_nfc, num_chars
from pipelines.clean.nfc import Nfc
from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.probe import PROBE_TEXTS
from pipelines.schema import DOCUMENTS, RECORDS
from pipelines.transform import Transform

HASHER = IdHasher(b"k" * 32)
# Characters around which normalizing goes wrong, beside whatever hypothesis thinks of.
NEAR_NFC = st.sampled_from(
    "aeA\u0300\u0301\u0323\u0327\u00e9\u1e69\u0f71\u0f72\u1100\u1161\u11a8"
    "\uac00\u212b\u0344\u0958\u093c\u0915\u0378\ud7a4\U0001d165\U000110ba"
    "\u02ff\u07ff\u0800\uffff\U00010000\U0010ffff"
)


def records_of(texts: list[str]) -> pa.Table:
    builder = ChunkBuilder("wiki", 7, HASHER, 1 << 30)
    for i, text in enumerate(texts):
        builder.record(text.encode(), None, Place(0, i, len(text)))
    chunk: Chunk = builder.take()
    return chunk.records


ACTS = (Nfc(),)


def clean(texts: list[str], acts: Sequence[Act] = ACTS) -> list[dict[str, object]]:
    documents = clean_records(records_of(texts), acts, "wiki", HASHER).documents
    documents.validate(full=True)
    assert documents.schema == DOCUMENTS
    rows: list[dict[str, object]] = documents.to_pylist()
    return rows


def test_a_text_in_nfc_passes_untouched() -> None:
    for text in ("plain", "café", "Ελληνικά", "русский", "中文", "한국어", "tiếng Việt", "😀"):
        (row,) = clean([text])
        assert (row["text"], row["edits"]) == (text, "")
        assert row["content_id"] == row["raw_content_id"] == HASHER.content_id(text.encode())


def test_a_decomposed_text_is_composed_and_says_so() -> None:
    raw, composed = "cafe\u0301 A\u030a", "caf\u00e9 \u00c5"
    untouched, row = clean(["plain", raw])
    assert (row["text"], row["edits"], row["num_chars"]) == (composed, "nfc", len(composed))
    assert row["raw_content_id"] == HASHER.content_id(raw.encode())
    assert row["content_id"] == HASHER.content_id(composed.encode())
    assert row["content_key"] == RecordKey.content(raw.encode()).value
    assert untouched["edits"] == ""


def test_without_normalizing_nothing_is_edited() -> None:
    (row,) = clean(["cafe\u0301"], ())
    assert (row["text"], row["edits"], row["num_chars"]) == ("cafe\u0301", "", 5)


def test_every_record_keeps_its_row_and_its_names() -> None:
    records = records_of(["", "one", "zwo\u0308lf"])
    documents = clean_records(records, ACTS, "wiki", HASHER).documents
    for name in RECORDS.names:
        if name not in ("text", "content_id"):
            assert documents.column(name).to_pylist() == records.column(name).to_pylist()


def test_a_table_without_rows_is_cleaned() -> None:
    assert clean([]) == []
    nothing = clean_records(RECORDS.empty_table(), ACTS, "wiki", HASHER)
    assert (nothing.documents.num_rows, nothing.signals.num_rows) == (0, 0)


def test_slices_and_chunks_are_cleaned_as_the_whole() -> None:
    texts = ["a", "e\u0301", "", "ж", "o\u0308x"] * 3
    records = records_of(texts)
    whole = clean_records(records, ACTS, "wiki", HASHER).documents
    parts = pa.concat_tables([records.slice(0, 4), records.slice(4, 7), records.slice(11)])
    assert clean_records(parts, ACTS, "wiki", HASHER).documents.equals(whole)
    part = clean_records(records.slice(3, 8), ACTS, "wiki", HASHER).documents
    assert part.equals(whole.slice(3, 8))


class Shout:
    """An act that edits and measures: texts without an exclamation mark get one."""

    name = "shout"
    columns = (pa.field("loudness", pa.int64()), pa.field("mood", pa.string()))

    def transform(self) -> Transform:
        return Transform(self.name, 1, {}, digest_of(b"shout"))

    def apply(self, documents: pa.Table) -> Effect:
        texts = documents["text"].to_pylist()
        loud = [text.endswith("!") for text in texts]
        places = np.flatnonzero(~np.array(loud, np.bool_))
        louder = pa.array([texts[at] + "!" for at in places], pa.large_string())
        signals = {
            "loudness": pa.array([int(item) for item in loud], pa.int64()),
            "mood": pa.array(documents["source"].to_pylist(), pa.string()),
        }
        ids = documents["document_id"].slice(0, 1).combine_chunks()
        found = pa.table([ids, ["mood"] * len(ids), ["w***"] * len(ids)], schema=FINDINGS)
        return Effect(places, louder, signals, found)


def test_acts_follow_each_other_and_their_signals_stand_beside_the_documents() -> None:
    cleaned = clean_records(records_of(["e\u0301", "a!", "b"]), (Nfc(), Shout()), "wiki", HASHER)
    assert cleaned.documents["text"].to_pylist() == ["é!", "a!", "b!"]
    assert cleaned.documents["edits"].to_pylist() == ["nfc,shout", "", "shout"]
    assert cleaned.signals.to_pydict() == {"loudness": [0, 1, 0], "mood": ["wiki"] * 3}
    assert cleaned.signals.schema == signals_schema((Nfc(), Shout()))
    assert cleaned.findings["masked"].to_pylist() == ["w***"]
    ids = cleaned.documents["content_id"].to_pylist()
    assert ids == [HASHER.content_id(text.encode()) for text in ("é!", "a!", "b!")]


@given(st.lists(st.text() | st.text(alphabet=NEAR_NFC), max_size=20))
@settings(deadline=None, max_examples=150)
def test_cleaning_is_normalizing_for_any_text(texts: list[str]) -> None:
    rows = clean(texts)
    expected = pc.utf8_normalize(pa.array(texts, pa.string()), form="NFC").to_pylist()
    assert [row["text"] for row in rows] == expected
    assert [row["num_chars"] for row in rows] == [len(text) for text in expected]
    assert [bool(row["edits"]) for row in rows] == [
        new != old for new, old in zip(expected, texts, strict=True)
    ]


def test_the_quick_check_misses_no_character_nor_pair() -> None:
    # Each code point alone, behind a letter and behind a mark, against Arrow's own tables.
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for before in ("", "a", "\u0300", "\u1100"):
        texts = pa.array([before + chr(code) for code in codes], pa.large_string())
        changed = np.asarray(pc.not_equal(texts, pc.utf8_normalize(texts, form="NFC")))
        assert set(np.flatnonzero(changed)) <= set(maybe_not_nfc(texts))


def test_the_quick_check_spares_texts_that_are_in_nfc() -> None:
    spared = [
        "Ελληνικά",
        "русский язык",
        "中文字",
        "日本語のテキスト",
        "한국어",
        "tiếng Việt",
        "ไทยที่นี่",
    ]
    assert len(maybe_not_nfc(pa.array(spared, pa.large_string()))) == 0


@pytest.mark.parametrize("text", PROBE_TEXTS)
def test_code_points_are_counted_as_python_counts_them(text: str) -> None:
    assert num_chars(pa.array(["x", text], pa.large_string())).tolist() == [1, len(text)]


def test_the_probe_holds_texts_that_normalizing_changes() -> None:
    changed = [text for text in PROBE_TEXTS if unicodedata.normalize("NFC", text) != text]
    assert len(changed) >= 10
