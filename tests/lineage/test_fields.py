"""TOML is read strictly: every key is known, every value has its type and its range."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage.errors import ConfigError, NotFound, Unavailable
from lineage.fields import Fields, read_fields

KNOWN = ("name", "count", "words", "table")


def read(folder: Path, text: str) -> Fields:
    (folder / "some.toml").write_text(text, encoding="utf-8")
    return read_fields(folder / "some.toml", KNOWN)


def test_values_are_read_with_their_types(tmp_path: Path) -> None:
    fields = read(tmp_path, 'name = "a"\ncount = 3\nwords = ["x", "y"]\n[table]\nname = "b"')
    assert fields.text("name") == "a"
    assert fields.integer("count", 0, 3) == 3
    assert fields.texts("words") == ("x", "y")
    assert fields.table("table", ("name",)).text("name") == "b"


def test_what_is_absent_has_its_default_or_is_missed_by_name(tmp_path: Path) -> None:
    fields = read(tmp_path, "")
    assert fields.text("name", "default") == "default"
    assert fields.integer("count", 0, 9, 4) == 4
    assert fields.texts("words") == ()
    assert fields.table("table", ("name",)).text("name", "") == ""
    with pytest.raises(ConfigError, match=r"some\.toml: 'name' is missing"):
        fields.text("name")


def test_an_unknown_key_names_its_neighbour(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"some\.toml: unknown key 'cuont'.*'count'"):
        read(tmp_path, "cuont = 3")
    with pytest.raises(ConfigError, match=r"some\.toml, \[table\]: unknown key 'nme'.*'name'"):
        read(tmp_path, "[table]\nnme = 1").table("table", ("name",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 1", "name: a string was expected, not int"),
        ('name = ""', "name: the string is empty"),
        ('count = "3"', "count: an integer was expected, not str"),
        ("count = true", "count: an integer was expected, not bool"),
        ("count = 10", "count: 10 is not between 0 and 9"),
        ("words = [1]", "words: a list of strings was expected"),
        ("table = 1", "a table was expected, not int"),
    ],
)
def test_a_wrong_value_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    fields = read(tmp_path, text)
    with pytest.raises(ConfigError, match=says):
        (
            fields.text("name", "a"),
            fields.integer("count", 0, 9, 0),
            fields.texts("words"),
            fields.table("table", ("name",)),
        )


def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"none\.toml"):
        read_fields(tmp_path / "none.toml", KNOWN)
    with pytest.raises(ConfigError, match="not TOML"):
        read(tmp_path, "name =")
    (tmp_path / "some.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 8"):
        read_fields(tmp_path / "some.toml", KNOWN)
    with pytest.raises(Unavailable):
        read_fields(tmp_path, KNOWN)
