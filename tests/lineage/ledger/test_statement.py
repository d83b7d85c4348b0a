from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError, IntegrityError
from lineage.ledger.statement import (
    PREDICATES,
    Claim,
    Statement,
    Subject,
    claim_of,
    parse_statement,
    predicate_name,
    predicate_uri,
    statement_bytes,
)

CLAIM = Claim(
    log_id="0f" * 16,
    principal="builder",
    sequence=2**63,
    seen_size=4,
    seen_root=digest_of(b"root"),
    time=datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC),
    body={"run": "r1", "steps": "100"},
)
STATEMENT = Statement(
    predicate_uri("run"), (Subject("corpus@v1", digest_of(b"corpus")),), CLAIM.predicate()
)


def as_json(**changes: Any) -> dict[str, Any]:
    return {**json.loads(statement_bytes(STATEMENT)), **changes}


def parsed(document: dict[str, Any]) -> Statement:
    return parse_statement(json.dumps(document).encode())


def test_a_statement_is_in_toto_v1_with_bare_hex_digests() -> None:
    document = as_json()
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "urn:shardline:predicate:run:v1"
    assert document["subject"] == [
        {"name": "corpus@v1", "digest": {"sha256": digest_of(b"corpus").hex}}
    ]
    assert document["predicate"]["time"] == "2026-11-30T12:00:05Z"
    assert document["predicate"]["sequence"] == "9223372036854775808"


def test_a_statement_reads_back_with_its_claim() -> None:
    statement = parse_statement(statement_bytes(STATEMENT))
    assert claim_of(statement) == CLAIM
    assert statement.subjects == STATEMENT.subjects


def test_fields_of_other_writers_survive() -> None:
    subject = {
        "name": "x",
        "digest": {"sha256": "00" * 32, "gitCommit": "11" * 20},
        "uri": "urn:x",
    }
    document = as_json(subject=[subject], annotations={"a": ["b", None, True]})
    assert json.loads(statement_bytes(parsed(document))) == document


def test_unknown_predicates_are_read_but_never_written() -> None:
    later = parsed(as_json(predicateType="urn:shardline:predicate:seal-change:v1"))
    assert predicate_name(later.predicate_type) == "seal-change"
    assert predicate_name("https://slsa.dev/provenance/v1") == "https://slsa.dev/provenance/v1"
    with pytest.raises(ConfigError, match="seal-change"):
        predicate_uri("seal-change")


def test_the_set_of_predicates_is_frozen() -> None:
    assert len(PREDICATES) == 22
    assert {predicate_name(predicate_uri(name)) for name in PREDICATES} == PREDICATES


@pytest.mark.parametrize("body", [{"x": 1.5}, {"x": b"bytes"}, {1: "x"}])
def test_a_value_without_identity_is_refused(body: Any) -> None:
    claim = {**CLAIM.predicate(), "body": body}
    with pytest.raises(ConfigError, match="cannot be written"):
        statement_bytes(Statement(predicate_uri("run"), STATEMENT.subjects, claim))


def test_a_statement_about_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="one subject"):
        statement_bytes(Statement(predicate_uri("run"), (), CLAIM.predicate()))


@pytest.mark.parametrize(
    "changes",
    [
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"subject": []},
        {"subject": "corpus"},
        {"subject": [{"name": "x", "digest": {"sha256": "zz"}}]},
        {"subject": [{"name": "x", "digest": {"md5": "00"}}]},
        {"subject": [{"digest": {"sha256": "00" * 32}}]},
        {"predicateType": 7},
        {"predicate": []},
    ],
)
def test_what_is_no_statement_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        parsed(as_json(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"sequence": 1},
        {"sequence": "01"},
        {"sequence": "-1"},
        {"sequence": "9" * 5000},
        {"sequence": "\u0661"},
        {"time": "2026-11-30T12:00:05+00:00"},
        {"time": "2026-13-30T12:00:05Z"},
        {"time": None},
        {"seen": {"size": "1", "root": Digest(b"\0" * 32).hex}},
        {"seen": "1"},
        {"body": "text"},
        {"principal": None},
    ],
)
def test_a_claim_of_another_form_is_refused(changes: dict[str, Any]) -> None:
    predicate = {**as_json()["predicate"], **changes}
    with pytest.raises(IntegrityError):
        claim_of(parsed(as_json(predicate=predicate)))


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_other_bytes_are_refused_in_one_way(data: bytes) -> None:
    with pytest.raises(IntegrityError):
        parse_statement(data)


def test_json_nested_too_deep_is_refused() -> None:
    with pytest.raises(IntegrityError):
        parse_statement(b"[" * 200_000)
