"""The content manifest: frozen bytes, one digest, and the same again after reading."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import IntegrityError
from lineage.manifests.content import (
    ContentManifest,
    SegmentInfo,
    SourceInfo,
    TableInfo,
    packing_digest,
    parse_content,
)

VECTOR = json.loads((Path(__file__).parents[2] / "vectors" / "manifests.json").read_text())[
    "content"
]

digests = st.binary(min_size=32, max_size=32).map(Digest)
counts = st.integers(0, 2**63 - 1)
few_counts = st.lists(counts, max_size=4).map(tuple)
words = st.text(max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | counts | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
facts = st.dictionaries(words, json_values, max_size=3)
segments = st.builds(
    SegmentInfo,
    name=words,
    order_id=digests,
    content_root=digests,
    commitment_root=digests,
    spans_root=digests,
    salt_object=words,
    source_documents=few_counts,
    source_tokens=few_counts,
    num_holes=counts,
    num_hole_tokens=counts,
    shard_samples=few_counts,
)
manifests = st.builds(
    ContentManifest,
    dataset=words,
    number=counts,
    workspace_id=words,
    parent=st.none() | digests,
    spec=digests,
    transforms=st.lists(facts, max_size=2).map(tuple),
    tokenizer=facts,
    seed=st.integers(0, 2**64 - 1),
    sample_tokens=counts,
    order=facts,
    sources=st.lists(st.builds(SourceInfo, words, words, words, words), max_size=2).map(tuple),
    segments=st.lists(segments, max_size=2).map(tuple),
    tables=st.dictionaries(words, st.builds(TableInfo, counts, digests), max_size=2),
    books=st.lists(facts, max_size=2).map(tuple),
)


def literal() -> ContentManifest:
    """The manifest of the vector, from its own values."""
    value = VECTOR["value"]
    roots = ("order_id", "content_root", "commitment_root", "spans_root")
    lists = ("source_documents", "source_tokens", "shard_samples")

    def segment(row: dict[str, Any]) -> SegmentInfo:
        fields = {name: Digest.parse(row[name]) for name in roots}
        return SegmentInfo(**{**row, **fields, **{name: tuple(row[name]) for name in lists}})

    return ContentManifest(
        dataset=value["dataset"],
        number=value["number"],
        workspace_id=value["workspace_id"],
        parent=Digest.parse(value["parent"]),
        spec=Digest.parse(value["spec"]),
        transforms=tuple(value["transforms"]),
        tokenizer=value["tokenizer"],
        seed=value["seed"],
        sample_tokens=value["sample_tokens"],
        order=value["order"],
        sources=tuple(SourceInfo(**row) for row in value["sources"]),
        segments=tuple(segment(row) for row in value["segments"]),
        tables={
            name: TableInfo(row["num_rows"], Digest.parse(row["root"]))
            for name, row in value["tables"].items()
        },
        books=value["books"],
    )


def test_the_bytes_and_the_digest_of_a_manifest_are_frozen() -> None:
    assert literal().to_bytes() == VECTOR["bytes"].encode()
    assert str(literal().digest()) == VECTOR["digest"]
    assert str(literal().packing) == VECTOR["packing"]


def test_the_frozen_bytes_read_as_what_was_written() -> None:
    parsed = parse_content(VECTOR["bytes"].encode())
    assert parsed.name == "corpus@v3"
    assert (parsed.seed, parsed.sample_tokens, parsed.dtype) == (2**64 - 1, 2048, "uint16")
    assert parsed.segments == literal().segments
    assert parsed.sources == literal().sources
    assert parsed.tables == literal().tables
    assert str(parsed.digest()) == VECTOR["digest"]
    assert str(parsed.packing) == VECTOR["packing"]


@settings(deadline=None, max_examples=40)
@given(manifests)
def test_any_manifest_has_the_same_bytes_again_after_it_was_read(manifest: ContentManifest) -> None:
    data = manifest.to_bytes()
    parsed = parse_content(data)
    assert parsed.to_bytes() == data
    assert parsed.digest() == manifest.digest() == digest_of(data)
    assert parsed.segments == manifest.segments
    assert (parsed.num_documents, parsed.num_tokens) == (
        manifest.num_documents,
        manifest.num_tokens,
    )


def test_counts_are_those_of_alive_documents() -> None:
    manifest = literal()
    assert manifest.num_documents == 13
    assert manifest.num_tokens == 2**40 + 11
    assert [segment.num_samples for segment in manifest.segments] == [7, 1]
    assert manifest.of_source(0) == (11, 2**40 + 5)
    assert manifest.of_source(1) == (2, 6)
    assert manifest.of_source(9) == (0, 0)


@pytest.mark.parametrize("name", ["tokenizer", "seed", "sample_tokens", "order"])
def test_all_that_places_a_token_changes_the_packing(name: str) -> None:
    value = VECTOR["value"]
    parts = {part: value[part] for part in ("tokenizer", "seed", "sample_tokens", "order")}
    changed = {**parts, name: 1 if isinstance(parts[name], int) else {**parts[name], "x": 1}}
    assert packing_digest(**parts) == literal().packing
    assert packing_digest(**changed) != literal().packing


def test_what_does_not_place_a_token_does_not_change_the_packing() -> None:
    assert replace(literal(), number=4, parent=None, books=()).packing == literal().packing


@pytest.mark.parametrize("name", [name for name in VECTOR["value"] if name != "format"])
def test_a_missing_field_is_refused(name: str) -> None:
    value = json.loads(VECTOR["bytes"])
    del value[name]
    with pytest.raises(IntegrityError, match="not a content manifest"):
        parse_content(canonical_json(value))


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"7", b"{}", b"\xff", b'{"format": "shardline/content-manifest/v1"}'],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(IntegrityError, match="not a content manifest"):
        parse_content(data)


def test_a_manifest_of_a_newer_format_names_it() -> None:
    data = VECTOR["bytes"].replace("content-manifest/v1", "content-manifest/v2").encode()
    with pytest.raises(IntegrityError, match="content-manifest/v2") as caught:
        parse_content(data)
    assert caught.value.hint == "use a newer shardline"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", "three"),
        ("spec", "sha256:12"),
        ("segments", [{}]),
        ("tables", []),
        ("seed", None),
    ],
)
def test_a_field_of_another_kind_is_refused(name: str, value: object) -> None:
    changed = {**json.loads(VECTOR["bytes"]), name: value}
    with pytest.raises(IntegrityError):
        parse_content(canonical_json(changed))
