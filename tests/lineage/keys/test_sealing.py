"""Sealing: frozen bytes, and nothing opens but the very object under its own key."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from lineage.keys.sealing import (
    MAX_ROW_GROUPS,
    Seal,
    object_id_of,
    open_bytes,
    open_parquet,
    parquet_properties,
    parquet_writer,
    seal_bytes,
)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "sealing.json").read_text())
SEAL = Seal(*(bytes.fromhex(VECTORS[name]) for name in ("workspace_id", "object_id", "key")))
NONCE = bytes.fromhex(VECTORS["nonce"])
WORDS = b"the text of a document, in the clear"
TABLE = pa.table({"text": [WORDS.decode()] * 9, "n": list(range(9))})

OTHERS = {
    "another object": replace(SEAL, object_id=b"o" * 16),
    "another workspace": replace(SEAL, workspace_id=b"v" * 16),
    "another key": replace(SEAL, key=b"k" * 32),
}
each_other = pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))


def sealed_parquet(folder: Path, seal: Seal = SEAL) -> Path:
    with parquet_writer(folder / "file.parquet", TABLE.schema, seal) as writer:
        writer.write_table(TABLE, row_group_size=4)
    return folder / "file.parquet"


def read(path: Path, seal: Seal) -> pa.Table:
    with open_parquet(path, seal) as file:
        return file.read()


@pytest.mark.parametrize("domain", VECTORS["aads"])
def test_the_additional_data_is_frozen(domain: str) -> None:
    assert SEAL.aad(domain.encode()).hex() == VECTORS["aads"][domain]


@pytest.mark.parametrize("vector", VECTORS["sealed_bytes"], ids=lambda vector: vector["what"])
def test_sealed_bytes_are_frozen(vector: dict[str, str]) -> None:
    data, sealed = bytes.fromhex(vector["data"]), bytes.fromhex(vector["sealed"])
    assert seal_bytes(data, SEAL, NONCE) == sealed
    assert open_bytes(sealed, SEAL) == data


def test_a_sealed_parquet_file_of_the_first_version_still_opens(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(base64.b64decode(VECTORS["sealed_parquet"]["file"]))
    assert read(tmp_path / "file", SEAL).to_pylist() == VECTORS["sealed_parquet"]["rows"]


@settings(deadline=None, max_examples=40)
@given(st.binary(max_size=300), st.binary(min_size=12, max_size=12))
def test_bytes_come_back_and_are_not_readable_meanwhile(data: bytes, nonce: bytes) -> None:
    sealed = seal_bytes(data, SEAL, nonce)
    assert open_bytes(sealed, SEAL) == data
    assert object_id_of(sealed) == SEAL.object_id
    assert len(sealed) == len(data) + 8 + 16 + 12 + 16
    assert len(data) < 4 or data not in sealed[36:]


def test_every_flipped_bit_of_sealed_bytes_is_refused() -> None:
    sealed = seal_bytes(WORDS, SEAL, NONCE)
    for place in range(len(sealed)):
        for bit in range(8):
            changed = sealed[:place] + bytes([sealed[place] ^ 1 << bit]) + sealed[place + 1 :]
            with pytest.raises(IntegrityError):
                open_bytes(changed, SEAL)


def test_bytes_cut_off_anywhere_or_longer_are_refused() -> None:
    sealed = seal_bytes(WORDS, SEAL, NONCE)
    for changed in [*(sealed[:length] for length in range(len(sealed))), sealed + b"\0"]:
        with pytest.raises(IntegrityError):
            open_bytes(changed, SEAL)


@each_other
def test_sealed_bytes_open_for_their_own_object_workspace_and_key_alone(other: Seal) -> None:
    with pytest.raises(IntegrityError):
        open_bytes(seal_bytes(WORDS, other, NONCE), SEAL)


def test_the_error_names_the_object_and_shows_no_key() -> None:
    with pytest.raises(IntegrityError) as caught:
        open_bytes(seal_bytes(WORDS, OTHERS["another key"], NONCE), SEAL)
    assert SEAL.object_id.hex() in caught.value.message
    assert SEAL.key.hex() not in str(caught.value)
    assert SEAL.key.hex() not in repr(SEAL)


def test_a_sealed_table_comes_back_and_is_not_readable_meanwhile(tmp_path: Path) -> None:
    path = sealed_parquet(tmp_path)
    assert read(path, SEAL).equals(TABLE)
    data = path.read_bytes()
    assert data.startswith(b"PARE")
    assert WORDS not in data
    assert b"text" not in data
    with pytest.raises((OSError, pa.ArrowInvalid)):
        pq.read_table(path)


@each_other
def test_a_sealed_table_opens_for_its_own_object_workspace_and_key_alone(
    tmp_path: Path, other: Seal
) -> None:
    path = sealed_parquet(tmp_path, other)
    with pytest.raises(IntegrityError, match=SEAL.object_id.hex()):
        open_parquet(path, SEAL)
    assert read(path, other).equals(TABLE)


def test_a_table_of_another_object_under_the_same_key_is_refused_even_when_it_brings_its_name(
    tmp_path: Path,
) -> None:
    # pyarrow would believe an AAD that the file itself carries; ours is never stored.
    other = OTHERS["another object"]
    stored = pe.create_encryption_properties(
        SEAL.key, aad_prefix=other.aad(b"shardline/sealed-parquet/v1"), store_aad_prefix=True
    )
    pq.write_table(TABLE, tmp_path / "file", encryption_properties=stored)
    with pytest.raises(IntegrityError):
        open_parquet(tmp_path / "file", SEAL)


def test_a_table_in_the_clear_is_not_taken_for_a_sealed_one(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "file")
    with pytest.raises(IntegrityError):
        open_parquet(tmp_path / "file", SEAL)


def test_flipped_bytes_of_a_sealed_table_never_give_other_rows(tmp_path: Path) -> None:
    path = sealed_parquet(tmp_path)
    sound = path.read_bytes()
    for place in range(4, len(sound), 7):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        with pytest.raises((IntegrityError, OSError, pa.ArrowInvalid)):
            read(path, SEAL)


@pytest.mark.parametrize("data", [b"", b"PARE", b"PAR1" * 9, bytes(100)])
def test_what_is_no_parquet_is_an_integrity_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(IntegrityError):
        open_parquet(tmp_path / "file", SEAL)


def test_a_missing_file_is_left_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_parquet(tmp_path / "missing", SEAL)


def test_datasets_of_many_files_open_with_the_same_properties(tmp_path: Path) -> None:
    path = sealed_parquet(tmp_path)
    table = pq.read_table(path, decryption_properties=parquet_properties(SEAL))
    assert table.equals(TABLE)


@pytest.mark.parametrize("length", [0, 16, 24, 31, 33])
def test_a_data_key_has_32_bytes_and_no_fewer(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        replace(SEAL, key=bytes(length))


@pytest.mark.parametrize("field", ["object_id", "workspace_id"])
@pytest.mark.parametrize("length", [0, 15, 17, 32])
def test_ids_have_16_bytes(field: str, length: int) -> None:
    change: Callable[..., Any] = replace
    with pytest.raises(ValueError, match="16 bytes"):
        change(SEAL, **{field: bytes(length)})


def test_sealed_bytes_of_another_format_are_refused() -> None:
    with pytest.raises(IntegrityError, match="of a format that this version reads"):
        object_id_of(b"shardln2" + bytes(60))


def test_more_row_groups_than_a_sealed_file_can_count_are_refused(tmp_path: Path) -> None:
    # Numbered from 0 in a signed 16-bit number: our writers stop one before pyarrow does.
    schema = pa.schema([("n", pa.int8())])
    table = pa.table({"n": [1] * (MAX_ROW_GROUPS + 2)}, schema=schema)
    with (
        pytest.raises(OSError, match=f"more than {MAX_ROW_GROUPS} row groups"),
        parquet_writer(tmp_path / "file", schema, SEAL) as writer,
    ):
        writer.write_table(table, row_group_size=1)
