"""A user's folder that has the name of one of our rooms is noticed, and named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardline.rooms import ROOMS

ROOT = Path(__file__).parents[2]
TELL = """
import sys
sys.path[:0] = {paths!r}
try:
    import shardline
except Exception as error:
    print(type(error).__name__, error.exit_code, error, sep="|")
else:
    print("fine")
"""


def import_shardline(*paths: Path) -> str:
    code = TELL.format(paths=[str(path) for path in (*paths, ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_alone_it_imports(tmp_path: Path) -> None:
    assert import_shardline(tmp_path) == "fine"


@pytest.mark.parametrize("room", ROOMS)
def test_a_users_package_of_the_same_name_is_named(room: str, tmp_path: Path) -> None:
    (tmp_path / room).mkdir()
    (tmp_path / room / "__init__.py").write_text("")
    kind, code, message = import_shardline(tmp_path).split("|")
    assert (kind, code) == ("ConfigError", "2")
    assert str(tmp_path / room) in message
    assert "rename" in message


def test_a_users_module_of_the_same_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "lineage.py").write_text("raise SystemExit('the wrong code ran')\n")
    kind, _, message = import_shardline(tmp_path).split("|")
    assert kind == "ConfigError"
    assert str(tmp_path / "lineage.py") in message


def test_a_folder_of_data_without_code_does_no_harm(tmp_path: Path) -> None:
    # Python takes our package: a folder without __init__.py comes after every real package.
    (tmp_path / "flows").mkdir()
    assert import_shardline(tmp_path) == "fine"


def test_the_public_names_are_listed_without_being_imported() -> None:
    code = (
        "import sys, shardline; assert {'ShardFeed', 'Workspace', 'errors', 'training_run'}"
        " <= set(dir(shardline)); print('pyarrow' in sys.modules, 'prefect' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    import shardline

    with pytest.raises(AttributeError, match="ShardFood"):
        _ = shardline.ShardFood  # type: ignore[attr-defined]


def test_errors_are_the_tree_that_lineage_has() -> None:
    import lineage.errors
    import shardline

    assert shardline.errors is lineage.errors
