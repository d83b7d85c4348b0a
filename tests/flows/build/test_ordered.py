"""More rows than memory holds are sorted through sealed files, and nobody can tell after."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows.build.ordered import SPILLS, in_order
from lineage.errors import IntegrityError
from lineage.keys.sealing import Seal, open_parquet
from lineage.tables import binary_matrix, table_root
from pipelines.dedup.order import Ints, ranks
from storage_tiers.stage import StageStore

SCHEMA = pa.schema([("id", pa.binary(32)), ("number", pa.int64()), ("word", pa.string())])
# Few ids, so that many rows share one; the first byte chooses the range.
ids = st.integers(0, 255).map(lambda byte: bytes([byte]) * 32)
rows = st.lists(st.tuples(ids, st.integers(0, 9), st.text(max_size=3)), max_size=40)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> StageStore:
    return StageStore(tmp_path_factory.mktemp("stage"), b"w" * 16, b"k" * 32, os.urandom)


def table_of(items: list[tuple[bytes, int, str]]) -> pa.Table:
    columns = [list(column) for column in zip(*items, strict=True)] or [[], [], []]
    return pa.table(columns, schema=SCHEMA)


def by_id(table: pa.Table) -> Ints:
    return np.argsort(ranks(binary_matrix(table["id"])), kind="stable")


def left(stage: StageStore) -> list[Path]:
    return list((stage._root / SPILLS).rglob("*"))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows, st.lists(st.integers(0, 40), max_size=5), st.sampled_from([1, 2, 7, 20, 40]))
def test_no_number_of_ranges_and_no_cut_changes_the_answer(
    stage: StageStore, items: list[tuple[bytes, int, str]], cuts: list[int], slice_rows: int
) -> None:
    whole = table_of(items)
    bounds = [0, *sorted(min(cut, len(items)) for cut in cuts), len(items)]
    pieces = [whole.slice(start, stop - start) for start, stop in pairwise(bounds)]
    found = list(in_order(stage, iter(pieces), len(items), "id", by_id, slice_rows))
    expected = table_of(sorted(items, key=lambda item: item[0]))
    assert pa.concat_tables([SCHEMA.empty_table(), *found]).equals(expected)
    assert table_root(pa.concat_tables([SCHEMA.empty_table(), *found])) == table_root(expected)
    assert left(stage) == []


def many(number: int) -> pa.Table:
    chance = np.random.default_rng(1)
    return table_of([(chance.bytes(32), at, "a secret word") for at in range(number)])


def test_rows_on_the_disk_are_sealed(stage: StageStore) -> None:
    table = many(100)
    ordered = in_order(stage, [table], 100, "id", by_id, slice_rows=30)
    next(ordered)
    files = [path for path in left(stage) if path.is_file()]
    assert len(files) == 3
    for path in files:
        data = path.read_bytes()
        assert b"secret" not in data
        assert not any(value in data for value in table["id"].to_pylist())
        with pytest.raises(IntegrityError):
            open_parquet(path, Seal(b"w" * 16, b"o" * 16, b"x" * 32))
    ordered.close()
    assert left(stage) == []


def test_a_range_that_was_read_leaves_the_disk(stage: StageStore) -> None:
    seen = [
        len([path for path in left(stage) if path.is_file()])
        for _ in in_order(stage, [many(100)], 100, "id", by_id, slice_rows=25)
    ]
    assert seen == [3, 2, 1, 0]


def test_what_fits_touches_no_disk(tmp_path: Path) -> None:
    stage = StageStore(tmp_path / "stage", b"w" * 16, b"k" * 32, os.urandom)
    assert [table.num_rows for table in in_order(stage, [many(100)], 100, "id", by_id)] == [100]
    assert not (tmp_path / "stage").exists()


def test_where_sorting_fails_nothing_is_left(stage: StageStore) -> None:
    def refuse(_: pa.Table) -> Ints:
        raise IntegrityError("no order")

    with pytest.raises(IntegrityError, match="no order"):
        list(in_order(stage, [many(100)], 100, "id", refuse, slice_rows=10))
    assert left(stage) == []
