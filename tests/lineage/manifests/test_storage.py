"""The storage manifest: each object once, by name, under one root."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest
from lineage.errors import IntegrityError, NotFound
from lineage.manifests.storage import SCHEMA, StorageManifest, StoredObject, parse_storage
from lineage.tables import table_root

VECTOR = json.loads((Path(__file__).parents[2] / "vectors" / "manifests.json").read_text())[
    "storage"
]
OBJECTS = [
    StoredObject(
        row["name"],
        bytes.fromhex(row["object_id"]),
        row["key_id"],
        row["size_bytes"],
        Digest.parse(row["sha256"]),
        row["md5"],
    )
    for row in VECTOR["objects"]
]
objects = st.lists(
    st.builds(
        StoredObject,
        name=st.text(max_size=12),
        object_id=st.binary(min_size=16, max_size=16),
        key_id=st.text(max_size=5),
        size_bytes=st.integers(0, 2**63 - 1),
        sha256=st.binary(min_size=32, max_size=32).map(Digest),
        md5=st.text(max_size=5),
    ),
    max_size=6,
    unique_by=lambda item: item.name,
)


def test_the_root_of_a_storage_manifest_is_frozen() -> None:
    manifest = StorageManifest(OBJECTS)
    assert [item.name for item in manifest.objects] == VECTOR["order_of_names"]
    assert str(table_root(manifest.to_table())) == VECTOR["root"]


@settings(deadline=None, max_examples=30)
@given(objects, st.randoms())
def test_any_manifest_reads_back_and_its_order_of_writing_makes_no_difference(
    written: list[StoredObject], chance: object
) -> None:
    manifest = StorageManifest(written)
    shuffled = list(written)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    table = manifest.to_table()
    assert table.schema.equals(SCHEMA)
    assert parse_storage(table).objects == manifest.objects == StorageManifest(shuffled).objects
    assert manifest.size_bytes == sum(item.size_bytes for item in written)
    assert all(manifest.object(item.name) == item for item in written)


def test_one_name_stands_for_one_object() -> None:
    with pytest.raises(IntegrityError, match="names one object twice"):
        StorageManifest([OBJECTS[0], replace(OBJECTS[1], name=OBJECTS[0].name)])


def test_a_folder_is_all_that_lies_in_it_and_nothing_beside_it() -> None:
    beside = replace(OBJECTS[0], name="segment-0001-more/shard-00000.parquet")
    manifest = StorageManifest([*OBJECTS, beside])
    assert [item.name for item in manifest.folder("segment-0001")] == [
        "segment-0001/shard-00000.parquet",
        "segment-0001/spans-00000.parquet",
    ]
    assert manifest.folder("segment-0009") == ()


def test_an_object_that_the_version_does_not_have_is_not_found() -> None:
    with pytest.raises(NotFound, match="segment-0009/x"):
        StorageManifest(OBJECTS).object("segment-0009/x")


@pytest.mark.parametrize(
    "schema",
    [pa.schema([]), SCHEMA.remove(0), SCHEMA.append(pa.field("more", pa.int8()))],
    ids=["none", "fewer", "more"],
)
def test_a_table_of_other_columns_is_refused(schema: pa.Schema) -> None:
    with pytest.raises(IntegrityError, match="of a format that this version reads"):
        parse_storage(schema.empty_table())
