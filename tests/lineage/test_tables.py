"""The root of a table: frozen, exact, and the same however the table lies in memory."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.ledger.merkle import leaf_hash, root_of
from lineage.tables import (
    TableRoot,
    binary_matrix,
    root_of_leaves,
    schema_text,
    table_leaves,
    table_root,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tables.json").read_text())
quick = settings(deadline=None, max_examples=30)

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("id", pa.binary(4)),
        ("data", pa.large_binary()),
        ("count", pa.int32()),
        ("big", pa.int64()),
        ("small", pa.uint8()),
        ("flag", pa.bool_()),
    ]
)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.none() | st.text(max_size=9),
            "id": st.none() | st.binary(min_size=4, max_size=4),
            "data": st.none() | st.binary(max_size=40),
            "count": st.none() | st.integers(-(2**31), 2**31 - 1),
            "big": st.none() | st.integers(-(2**63), 2**63 - 1),
            "small": st.none() | st.integers(0, 255),
            "flag": st.none() | st.booleans(),
        }
    ),
    max_size=20,
)


def plain_leaf(row: dict[str, Any]) -> bytes:
    """The leaf data of a row, as docs/formats.md says it, value by value."""
    data = b""
    for value in row.values():
        if value is None:
            data += b"\x00"
        elif isinstance(value, int):
            data += b"\x01" + struct.pack("<q", value)
        else:
            held = value.encode() if isinstance(value, str) else value
            data += b"\x01" + struct.pack("<I", len(held)) + held
    return data


@quick
@given(rows)
def test_leaves_are_those_of_plain_python(lines: list[dict[str, Any]]) -> None:
    leaves = table_leaves(pa.Table.from_pylist(lines, SCHEMA))
    expected = [leaf_hash(plain_leaf({n: line[n] for n in SCHEMA.names})) for line in lines]
    assert [leaf.tobytes() for leaf in leaves] == expected


@quick
@given(rows, st.integers(0, 20))
def test_parts_of_a_table_make_up_its_root(lines: list[dict[str, Any]], cut: int) -> None:
    table = pa.Table.from_pylist(lines, SCHEMA)
    leaves = b"".join(table_leaves(t).tobytes() for t in (table.slice(0, cut), table.slice(cut)))
    assert leaves == table_leaves(table).tobytes()
    chunked = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert table_root(chunked) == table_root(table)


@pytest.mark.parametrize("num_rows", [0, 1, 8_191, 8_192, 8_193, 20_000, 32_768])
def test_a_long_table_that_comes_in_parts_has_the_same_root(num_rows: int) -> None:
    table = pa.table({"a": list(range(num_rows))}, schema=pa.schema([("a", pa.int64())]))
    root = TableRoot(table.schema)
    for start in range(0, num_rows, 5_000):
        root.add(table.slice(start, 5_000))
    assert root.num_rows == num_rows
    assert root.root() == root_of_leaves(table.schema, table_leaves(table)) == table_root(table)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["what"] for vector in VECTORS])
def test_roots_are_frozen(vector: dict[str, Any]) -> None:
    types = {"string": pa.string(), "binary": pa.binary(), "binary4": pa.binary(4)}
    types |= {"int32": pa.int32(), "int64": pa.int64(), "bool": pa.bool_()}
    schema = pa.schema([(name, types[word]) for name, word in vector["columns"]])
    binaries = {name for name, word in vector["columns"] if word.startswith("binary")}
    lines = [
        {n: bytes.fromhex(v) if n in binaries and v is not None else v for n, v in row.items()}
        for row in vector["rows"]
    ]
    table = pa.Table.from_pylist(lines, schema)
    assert schema_text(schema).decode() == vector["schema_text"]
    assert [leaf.tobytes().hex() for leaf in table_leaves(table)] == vector["leaves"]
    assert str(table_root(table)) == vector["root"]


def test_names_types_order_and_nulls_change_the_root() -> None:
    table = pa.table({"a": pa.array(["x", ""]), "b": pa.array(["", "x"])})
    others = [
        table.rename_columns(["a", "c"]),
        table.select(["b", "a"]),
        table.take(pa.array([1, 0])),
        table.slice(0, 1),
        table.cast(pa.schema([("a", pa.binary()), ("b", pa.binary())])),
        pa.table({"a": pa.array(["x", None]), "b": pa.array(["", "x"])}),
        pa.table({"a": pa.array(["x", "", ""]), "b": pa.array(["", "x", ""])}),
    ]
    roots = {table_root(item).raw for item in (table, *others)}
    assert len(roots) == len(others) + 1


def test_wide_offsets_and_what_lies_under_a_null_make_no_difference() -> None:
    narrow = pa.table({"a": pa.array(["x", None, "yy"])})
    wide = narrow.cast(pa.schema([("a", pa.large_string())]))
    offsets = pa.py_buffer(struct.pack("<4i", 0, 1, 4, 6))
    dirty = pa.Array.from_buffers(
        pa.string(), 3, [pa.py_buffer(b"\x05"), offsets, pa.py_buffer(b"x???yy")]
    )
    assert table_root(narrow) == table_root(wide) == table_root(pa.table({"a": dirty}))


def test_a_very_long_value_among_many_short_ones_is_hashed_alike() -> None:
    values = ["x"] * 3000 + ["y" * 2_000_000] + ["z"] * 3000
    leaves = table_leaves(pa.table({"a": values}))
    expected = [leaf_hash(plain_leaf({"a": value})) for value in values]
    assert [leaf.tobytes() for leaf in leaves] == expected


def test_an_empty_table_has_the_root_of_an_empty_tree() -> None:
    schema = pa.schema([("a", pa.int64())])
    leaves = table_leaves(schema.empty_table())
    assert root_of(leaves) == hashlib.sha256(b"").digest()
    assert table_root(schema.empty_table()) == root_of_leaves(schema, leaves)


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.uint64(), pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.string())]
)
def test_columns_without_a_frozen_form_are_refused_by_name(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match="column 'odd'"):
        table_root(pa.schema([("odd", kind)]).empty_table())


def test_a_matrix_of_a_sliced_and_chunked_column_holds_its_values() -> None:
    values = [bytes([i]) * 4 for i in range(6)]
    column = pa.chunked_array(
        [pa.array(values[:4], pa.binary(4)), pa.array(values[4:], pa.binary(4))]
    )
    assert binary_matrix(column).tobytes() == b"".join(values)
    assert binary_matrix(column.slice(3, 2)).tobytes() == b"".join(values[3:5])
    assert binary_matrix(column.slice(0, 0)).shape == (0, 4)
