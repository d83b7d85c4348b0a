"""shardline.toml: what is written is read back, and nothing else is let in."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage.config import Config, new_config_text, read_config
from lineage.errors import ConfigError, NotFound

PRINCIPALS = {
    role: f"{n:032x}" for n, role in enumerate(("root", "owner", "builder", "gate"), start=1)
}


def text(hot: str = ".shardline/hot", cold: str = "/mnt/cold tier") -> str:
    return new_config_text(
        workspace_id="0a" * 16,
        log_id="0b" * 16,
        root_key="0c" * 32,
        log_key="0d" * 32,
        principals=PRINCIPALS,
        hot=hot,
        cold=cold,
    )


def read(folder: Path, written: str) -> Config:
    (folder / "shardline.toml").write_text(written, "utf-8")
    return read_config(folder / "shardline.toml")


def test_a_new_config_reads_back(tmp_path: Path) -> None:
    config = read(tmp_path, text())
    assert (config.workspace_id, config.log_id) == ("0a" * 16, "0b" * 16)
    assert (config.root_key, config.log_key) == ("0c" * 32, "0d" * 32)
    assert config.principals == PRINCIPALS
    assert (config.hot, config.cold) == (".shardline/hot", "/mnt/cold tier")
    assert config.num_workers == 0
    assert "WORLD_SIZE" in config.run_environment


@pytest.mark.parametrize("folder", ['a "quoted" folder', "back\\slash", "日本", "tab\there"])
def test_any_name_of_a_folder_survives(tmp_path: Path, folder: str) -> None:
    assert read(tmp_path, text(cold=folder)).cold == folder


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("workers = 0", "worker = 0", "unknown key 'worker'"),
        ("[builds]", "[build]", "unknown key 'build'"),
        ("workers = 0", "workers = -1", "not between 0 and 4096"),
        ("workers = 0", 'workers = "two"', "an integer was expected"),
        ("0a" * 16, "0A" * 16, "32 lower-case hex digits"),
        ("0c" * 32, "0c" * 31, "64 lower-case hex digits"),
        (f'owner = "{PRINCIPALS["owner"]}"', "", "'owner' is missing"),
        ("/mnt/cold tier", ".shardline/hot", "hot and cold are the same folder"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    written = text()
    assert old in written
    with pytest.raises(ConfigError, match=says) as caught:
        read(tmp_path, written.replace(old, new))
    assert "shardline.toml" in caught.value.message


def test_a_missing_config_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_config(tmp_path / "shardline.toml")


def test_no_key_stands_in_the_template() -> None:
    assert "keys never stand in it" in text()
    assert "wrapping" not in text()
