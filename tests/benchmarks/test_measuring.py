"""The benchmarks measure the same rows every time, and print lines that can be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.figures import Figure
from benchmarks.inputs import take


def corpus(folder: Path) -> Path:
    folder.mkdir()
    for name in ("a", "b"):
        rows = [json.dumps({"id": f"{name}{n}", "text": "word " * n}) for n in range(200)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))  # no line feed at the end
    return folder


def rows_of(folder: Path) -> list[bytes]:
    return [line for file in sorted(folder.iterdir()) for line in file.read_bytes().splitlines()]


def test_the_same_rows_are_taken_every_time(tmp_path: Path) -> None:
    source = corpus(tmp_path / "corpus")
    first = take(source, tmp_path / "first", 20_000, 4)
    again = take(source, tmp_path / "again", 20_000, 4)
    assert first == again >= 20_000
    assert rows_of(tmp_path / "first") == rows_of(tmp_path / "again")


def test_a_small_sample_is_part_of_a_larger_one(tmp_path: Path) -> None:
    source = corpus(tmp_path / "corpus")
    take(source, tmp_path / "small", 10_000, 2)
    take(source, tmp_path / "large", 40_000, 2)
    assert set(rows_of(tmp_path / "small")) < set(rows_of(tmp_path / "large"))


def test_all_of_a_source_is_taken_where_it_has_less(tmp_path: Path) -> None:
    source = corpus(tmp_path / "corpus")
    take(source, tmp_path / "all", 1 << 30, 3)
    assert sorted(rows_of(tmp_path / "all")) == sorted(rows_of(source))


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \.jsonl"):
        take(tmp_path, tmp_path / "out", 1, 1)


def test_a_figure_is_medians_and_their_ratio() -> None:
    figure = Figure(
        "prep.build", [9.0, 10.0, 99.0], "MB/s", "peer", [5.0, 1.0, 4.0], {"workers": 2}
    )
    assert json.loads(figure.line()) == {
        "figure": "prep.build",
        "value": 10.0,
        "unit": "MB/s",
        "peer": "peer",
        "peer_value": 4.0,
        "ratio": 2.5,
        "runs": 3,
        "workers": 2,
    }


def test_a_figure_of_ours_alone_has_no_ratio() -> None:
    line = json.loads(Figure("prep.build", [3.0], "MB/s").line())
    assert (line["peer"], line["peer_value"], line["ratio"]) == (None, None, None)
