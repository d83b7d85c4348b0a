"""The sample is the same however documents are divided among parts."""

from __future__ import annotations

import hashlib

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.clean.act import FINDINGS
from pipelines.personal.find import find
from pipelines.personal.registry import KINDS
from pipelines.personal.sample import merge_samples, sample_findings
from tests.pipelines.personal.found import mixtures, texts_of

KIND = (KINDS["email"], KINDS["ip"], KINDS["card"])


def sampled(texts: list[str], per_kind: int, ids: list[bytes] | None = None) -> pa.Table:
    array = texts_of(*texts)
    ids = ids or [hashlib.sha256(text.encode()).digest() for text in texts]
    return sample_findings(array, find(array, KIND), pa.array(ids, pa.binary(32)), per_kind)


def test_the_first_finding_of_the_smallest_ids_is_shown_masked() -> None:
    texts = ["a@example.org", "b@example.org", "c@example.org z@example.org", "no"]
    ids = [bytes([number]) + b"\0" * 31 for number in (9, 3, 5, 1)]
    table = sampled(texts, 2, ids)
    assert table.schema == FINDINGS
    assert table.to_pylist() == [
        {"document_id": ids[1], "kind": "email", "masked": "b***@e***.org"},
        {"document_id": ids[2], "kind": "email", "masked": "c***@e***.org"},
    ]


def test_nothing_found_is_an_empty_sample() -> None:
    assert sampled(["no"], 3).equals(FINDINGS.empty_table())
    assert merge_samples([], 3).equals(FINDINGS.empty_table())


@settings(max_examples=80, deadline=None)
@given(st.lists(mixtures(), max_size=10), st.integers(1, 4), st.data())
def test_parts_merge_to_the_sample_of_the_whole(
    texts: list[str], per_kind: int, data: st.DataObject
) -> None:
    texts = [*texts, *texts[:3]]  # a document may occur twice
    order = data.draw(st.permutations(texts))
    cut = data.draw(st.integers(0, len(texts)))
    parts = [sampled(part, per_kind) for part in (order[:cut], order[cut:])]
    whole = sampled(texts, per_kind)
    assert merge_samples(parts, per_kind).equals(whole)
    assert merge_samples([whole, *parts[::-1]], per_kind).equals(whole)
    kinds = whole["kind"].to_pylist()
    assert all(kinds.count(kind) <= per_kind for kind in kinds)
