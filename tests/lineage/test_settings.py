"""TOML is read strictly: every mistake is named, with its file and table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import ConfigError, NotFound
from lineage.settings import Settings, read_toml


def table(**values: Any) -> Settings:
    return Settings(values, "file.toml [part]")


def test_values_are_given_as_they_stand() -> None:
    settings = table(name="a", count=3, names=["x", "y"], part={"z": 1}, rows=[{"n": 1}, {"n": 2}])
    assert settings.text("name") == "a"
    assert settings.integer("count") == 3
    assert settings.texts("names") == ("x", "y")
    assert settings.table("part").integer("z") == 1
    assert [row.integer("n") for row in settings.tables("rows")] == [1, 2]
    settings.finish()


def test_absent_keys_take_their_defaults() -> None:
    settings = table()
    assert settings.text("name", "a") == "a"
    assert settings.optional_text("other") is None
    assert settings.integer("count", 3) == 3
    assert settings.texts("names") == ()
    assert settings.table("part").keys() == ()
    assert settings.tables("rows") == []


Ask = Callable[[Settings], object]


@pytest.mark.parametrize(
    ("settings", "ask", "says"),
    [
        (table(), lambda s: s.text("name"), "name is missing"),
        (table(name=1), lambda s: s.text("name"), "expected a string, found int"),
        (table(name=1), lambda s: s.optional_text("name"), "expected a string"),
        (table(count="1"), lambda s: s.integer("count"), "expected a whole number"),
        (table(count=True), lambda s: s.integer("count"), "expected a whole number"),
        (table(count=-1), lambda s: s.integer("count"), "from 0 to"),
        (table(count=9), lambda s: s.integer("count", high=8), "from 0 to 8"),
        (table(names="x"), lambda s: s.texts("names"), "expected a list of strings"),
        (table(names=["x", 1]), lambda s: s.texts("names"), "expected a list of strings"),
        (table(part=1), lambda s: s.table("part"), "expected a table"),
        (table(), lambda s: s.table("part", required=True), "part is missing"),
        (table(rows={"n": 1}), lambda s: s.tables("rows"), "expected an array of tables"),
        (table(rows=[1]), lambda s: s.tables("rows"), r"written \[\[rows\]\]"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(settings: Settings, ask: Ask, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        ask(settings)
    assert caught.value.message.startswith("file.toml [part]")


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    settings = table(wokers=1)
    settings.integer("workers", 0)
    with pytest.raises(ConfigError, match="unknown key 'wokers'") as caught:
        settings.finish()
    assert caught.value.hint == "did you mean workers?"


def test_an_unknown_key_far_from_all_is_refused_with_the_list() -> None:
    settings = table(zzz=1)
    settings.integer("workers", 0)
    with pytest.raises(ConfigError) as caught:
        settings.finish()
    assert caught.value.hint == "known: workers"


def test_tables_inside_say_where_they_stand() -> None:
    settings = Settings({"rows": [{}, {"n": "x"}]}, "file.toml")
    with pytest.raises(ConfigError, match=r"file.toml \[\[rows\]\] 2: n: expected"):
        settings.tables("rows")[1].integer("n")


@pytest.mark.parametrize("data", [b"a = ", b"\xff", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_a_config_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file.toml").write_bytes(data)
    with pytest.raises(ConfigError, match="not readable as TOML"):
        read_toml(tmp_path / "file.toml")


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no such file"):
        read_toml(tmp_path / "file.toml")
