"""What a build tells at its end: to people in lines, to programs in JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from flows.build.report import BuildReport, NearCounts
from lineage.digest import digest_of
from lineage.versions import Version
from pipelines.books import Books, Count, StageBook
from pipelines.decontamination.evaluation import Evaluation
from pipelines.decontamination.index import EvalCounts
from pipelines.decontamination.recall import Recall
from storage_tiers.tiers import TierStatus

VERSION = Version(
    dataset="corpus",
    number=2,
    manifest=digest_of(b"manifest"),
    manifest_object=bytes(16),
    storage=digest_of(b"storage"),
    storage_object=bytes(16),
    inputs=digest_of(b"inputs"),
    build="0a" * 16,
    entry_id="0b" * 16,
    position=9,
    time=datetime(2026, 11, 30, tzinfo=UTC),
)
READ, KEPT = Count(1200, 9_000), Count(1100, 8_000)
TOKENIZED = Count(1100, 8_000, 70_000)
BOOKS = Books(
    (
        StageBook("ingest", READ, Count(1190, 8_900), {}, {"invalid_json": Count(10, 100)}),
        StageBook("clean", Count(1190, 8_900), KEPT, {"min_chars": Count(90, 900)}),
        StageBook("dedup", KEPT, KEPT),
        StageBook("tokenize", KEPT, TOKENIZED),
        StageBook("shard", TOKENIZED, TOKENIZED, fill_tokens=321),
    )
)
REPORT = BuildReport(
    version=VERSION,
    published=True,
    books=BOOKS,
    num_new=1000,
    num_removed=7,
    num_tokens=70_000,
    num_shards=12,
    tiers=TierStatus(24, 5_000, 26, 6_000, ()),
    seconds=1.25,
    stage_seconds={"ingest": 0.12345},
    near=NearCounts(4_321, 17, 6, 100, 98),
    evaluation=Evaluation(EvalCounts(9, 8, 0, 0, 1, 0, 70, 0), {"half": Recall(61, 100)}),
)


def test_people_read_every_number_that_matters() -> None:
    text = REPORT.text()
    for words in (
        f"corpus@v2  {VERSION.manifest}",
        "1,200, 9,000 bytes",
        "10 by invalid_json",
        "90 by min_chars",
        "1,100 documents",
        "70,000, and 321 of fill",
        "1,000",
        "4,321 pairs, 6 documents together at most; 17 more were not",
        "98 of 100 near duplicates are alike by characters too",
        "8 of 9 items looked for, 1 too short",
        "of 100 items put into documents: 61 half",
        "7 removed",
        "5,000 on hot, 6,000 on cold",
        "1.2 s",
    ):
        assert words in text, words
    names = [line[:14].strip() for line in text.splitlines()]
    assert names[0] == "version"
    assert names[-1] == "time"
    assert all(names)


def test_programs_read_the_same_as_json() -> None:
    told = json.loads(json.dumps(REPORT.to_json()))
    assert told["version"] == "corpus@v2"
    assert told["manifest"] == str(VERSION.manifest)
    assert told["published"] is True
    assert (told["documents_added"], told["documents_removed"]) == (1000, 7)
    assert (told["hot_bytes"], told["cold_bytes"]) == (5_000, 6_000)
    counts = {"compared": 4321, "cut_off": 17, "largest": 6, "sampled": 100, "alike": 98}
    assert told["near_duplicates"] == counts
    assert told["evaluation"]["recall"] == {"half": {"found": 61, "injected": 100}}
    assert told["stage_seconds"] == {"ingest": 0.123}
    assert Books.parse(told["books"]) == BOOKS


def test_nothing_is_told_of_what_was_not_looked_for() -> None:
    report = replace(REPORT, near=None, evaluation=None)
    assert "compared" not in report.text()
    assert "recall" not in report.text()
    assert report.to_json()["near_duplicates"] is None
    assert report.to_json()["evaluation"] is None


def test_a_build_with_nothing_new_says_so_in_one_line() -> None:
    report = replace(REPORT, published=False, books=None, tiers=None)
    assert report.text().startswith("nothing new")
    assert "corpus@v2" in report.text()
    assert "\n" not in report.text()
    told = report.to_json()
    assert (told["published"], told["books"], told["hot_bytes"]) == (False, None, None)
