"""Questions about documents of a real build: found by id, text or condition, and nothing more."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from flows.storage import workspace_tiers
from lineage.audit.documents import ask_documents, ask_why
from lineage.audit.reading import Reading
from lineage.audit.search import Wanted, find_documents
from lineage.errors import ConfigError, NotFound
from lineage.ids import RecordKey
from lineage.workspace import Workspace
from tests.system.world import DATASET, World, add_lines, make_world, record

COMPOSED = "Café crème, naïve façade: über alles, señor. " * 3
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = make_world(tmp_path_factory.mktemp("questions") / "world")
    add_lines(made.help_files[0], [record(DECOMPOSED, "cafe/1"), record("", "empty/1")])
    add_lines(made.help_files[1], [record(COMPOSED, "cafe/2")])
    made.build()
    return made


@pytest.fixture
def workspace(world: World) -> Iterator[Workspace]:
    with world.open() as opened:
        yield opened


@pytest.fixture
def reading(workspace: Workspace) -> Reading:
    return Reading(workspace, workspace_tiers(workspace), "audit")


def help_id(reading: Reading, name: str) -> bytes:
    return reading.workspace.id_hasher().document_id("help", RecordKey.own(name))


def find(reading: Reading, **wanted: Any) -> list[bytes]:
    return find_documents(reading, reading.index.versions, Wanted(**wanted))


def first_help(world: World) -> dict[str, str]:
    line: dict[str, str] = json.loads(world.help_files[2].read_bytes().splitlines()[0])
    return line


def test_a_document_is_found_by_its_id_and_by_the_records_own(
    reading: Reading, world: World
) -> None:
    own = first_help(world)["id"]
    document = help_id(reading, own)
    assert find(reading, id=own) == find(reading, id=document.hex()) == [document]
    assert find(reading, id="no such record") == []


def test_a_document_is_found_by_its_text(reading: Reading, world: World) -> None:
    line = first_help(world)
    assert find(reading, text=line["text"]) == [help_id(reading, line["id"])]
    assert find(reading, text=line["text"] + "\n") == [help_id(reading, line["id"])]
    assert find(reading, text=line["text"] + "!") == []


def test_a_text_is_found_in_every_form_in_which_it_was_read_or_cleaned(reading: Reading) -> None:
    both = sorted(help_id(reading, name) for name in ("cafe/1", "cafe/2"))
    assert find(reading, text=COMPOSED) == both
    assert find(reading, text=DECOMPOSED) == both


def test_documents_are_found_by_what_was_decided_on_them(reading: Reading) -> None:
    assert find(reading, where="rule = 'min_chars'") == [help_id(reading, "empty/1")]
    kept = find(reading, where="verdict = 'kept' AND source = 'guide'")
    assert len(kept) == 6
    assert kept == sorted(kept)


@pytest.mark.parametrize(
    "condition",
    [
        "no_such_column = 1",
        "verdict = ",
        "1=1); DROP TABLE decisions; --",
        "verdict = (SELECT content FROM read_text('/etc/hostname'))",
        "EXISTS (SELECT * FROM '/etc/passwd')",
        "verdict IN (SELECT 1 FROM read_parquet('x.parquet'))",
    ],
)
def test_a_condition_reads_the_decisions_and_nothing_else(reading: Reading, condition: str) -> None:
    with pytest.raises(ConfigError, match="--where") as caught:
        find(reading, where=condition)
    assert "columns: document_id" in caught.value.hint


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(id="a", text="b"), Wanted("a", "b", "c")])
def test_a_question_is_asked_in_one_way(reading: Reading, wanted: Wanted) -> None:
    with pytest.raises(ConfigError, match="ask by one of"):
        find_documents(reading, reading.index.versions, wanted)


def test_a_document_is_told_with_its_version_shard_and_tokens(
    reading: Reading, world: World
) -> None:
    answer = ask_documents(reading, Wanted(id=first_help(world)["id"]), DATASET, 20)
    (told,) = answer.facts["documents"]
    (version,) = told["versions"]
    assert version["version"] == "corpus@v1"
    assert version["tokens"] == told["last_decision"]["num_tokens"]
    assert version["shards"] == [name for name in version["shards"] if "/shard-" in name]
    assert told["runs"] == []
    assert answer.complete


def test_with_more_documents_than_wanted_the_answer_says_it_is_not_complete(
    reading: Reading,
) -> None:
    answer = ask_documents(reading, Wanted(where="verdict = 'kept'"), None, 2)
    assert len(answer.facts["documents"]) == 2
    assert answer.facts["num_documents"] > 2
    assert not answer.complete


def test_why_tells_every_decision_and_the_survivor(reading: Reading) -> None:
    documents = ask_why(reading, DATASET, "cafe/1").facts["documents"]
    others = ask_why(reading, DATASET, "cafe/2").facts["documents"]
    decisions = [row for told in (*documents, *others) for row in told["decisions"]]
    assert sorted(row["verdict"] for row in decisions) == ["dropped", "kept"]
    dropped = next(row for row in decisions if row["verdict"] == "dropped")
    kept = next(row for row in decisions if row["verdict"] == "kept")
    assert dropped["rule"] == "exact_duplicate"
    assert dropped["survivor_id"] == kept["document_id"]
    assert not any("content_id" in name for name in dropped)


def test_what_is_not_there_is_not_found(reading: Reading) -> None:
    with pytest.raises(NotFound, match="no version of other was published"):
        ask_why(reading, "other", "cafe/1")
    with pytest.raises(NotFound, match="has no document"):
        ask_why(reading, DATASET, "ab" * 32)
    with pytest.raises(NotFound, match="no document fits"):
        ask_documents(reading, Wanted(text="never read"), DATASET, 1)
    with pytest.raises(NotFound, match="no version was published of other"):
        ask_documents(reading, Wanted(id="x"), "other", 1)


def test_a_question_is_recorded_once_for_each_dataset_with_its_purpose(
    workspace: Workspace,
) -> None:
    before = workspace.ledger.size
    reading = Reading(workspace, workspace_tiers(workspace), "lookup")
    find(reading, text=COMPOSED)
    find(reading, where="true")
    entries = list(workspace.ledger.entries(before))
    assert [entry.predicate for entry in entries] == ["access"]
    assert entries[0].body["purpose"] == "lookup"
