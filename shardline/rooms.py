"""The rooms of the distribution, and the check that each is our own.

The rooms are top-level packages with everyday names. A user's folder named `lineage` or
`pipelines` beside the training script comes before ours on Python's path; without this
check the failure would be an ImportError deep inside, or the wrong code running.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage.errors import ConfigError

ROOMS = ("lineage", "storage_tiers", "pipelines", "flows")
_HOME = Path(__file__).resolve().parent.parent


def check_rooms() -> None:
    """Makes sure that every room comes from the folder this package lies in.

    Imports none of them. What was imported already counts as found.

    Raises:
        ConfigError: another folder or file of that name would be imported instead.
    """
    for room in ROOMS:
        found = _where(room)
        if found != _HOME / room:
            raise _shadowed(room, found)


def _where(room: str) -> Path | None:
    """The folder or file that `import room` gives, or None where there is none."""
    module = sys.modules.get(room)
    spec = module.__spec__ if module is not None else importlib.util.find_spec(room)
    return _folder_of(spec) if spec is not None else None


def _folder_of(spec: ModuleSpec) -> Path | None:
    # A folder without __init__.py has no origin, and may be spread over several places.
    if spec.submodule_search_locations is not None:
        folders = [Path(folder).resolve() for folder in spec.submodule_search_locations]
        return folders[0] if folders else None
    return Path(spec.origin).resolve() if spec.origin else None


def _shadowed(room: str, found: Path | None) -> ConfigError:
    error = _error_class(room)
    if found is None:
        return error(
            f"Shardline's own package {room!r} is missing beside {_HOME / 'shardline'}",
            "install Shardline again",
        )
    return error(
        f"import {room} finds {found}, not Shardline's own package",
        "rename that file or folder, or start Python from another folder",
    )


def _error_class(room: str) -> type[ConfigError]:
    """ConfigError, read from our own file where `lineage` itself is what is shadowed."""
    if room != "lineage":
        from lineage.errors import ConfigError

        return ConfigError
    file = _HOME / "lineage" / "errors.py"
    spec = importlib.util.spec_from_file_location("lineage.errors", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"Shardline's own package {room!r} cannot be read")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: type[ConfigError] = module.ConfigError
    return found
