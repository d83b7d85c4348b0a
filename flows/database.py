"""An empty Prefect database, made once for an environment and copied into each workspace.

Prefect makes its database by the whole history of its migrations, which takes many
seconds of a core. `python -m flows.database` lets it do so once; a workspace's first
server then starts on a copy. Where there is no such file Prefect does as always.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from flows.settings import quiet_prefect
from lineage.durable import replace_file
from lineage.errors import Unavailable

_NAME = "prefect.db"


def template_path() -> Path:
    """Where this environment keeps the empty database of its release of Prefect."""
    folder = Path(sys.prefix) / "share" / "shardline"
    return folder / f"prefect-{version('prefect')}.db"


def make_template() -> None:
    """Lets Prefect make an empty database, unless this environment has it already.

    Raises:
        Unavailable: Prefect could not make it, or the environment cannot be written.
    """
    if template_path().is_file():
        return
    with tempfile.TemporaryDirectory(prefix="shardline-prefect-") as folder:
        environ = {name: os.environ[name] for name in os.environ if "PREFECT" not in name}
        quiet_prefect(Path(folder), environ)
        environ["PREFECT_HOME"] = folder
        command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "-y"]
        done = subprocess.run(command, env=environ, capture_output=True, check=False)
        if done.returncode:
            raise Unavailable("Prefect could not make its database", "builds will make their own")
        template_path().parent.mkdir(parents=True, exist_ok=True)
        replace_file(template_path(), (Path(folder) / _NAME).read_bytes())


def lay_database(home: Path) -> None:
    """Puts the empty database where a workspace's server looks for its own, if none is there.

    Args:
        home: Prefect's home.
    """
    if (home / _NAME).exists() or not template_path().is_file():
        return
    part = home / f".{_NAME}.{os.getpid()}.part"
    # Crash here: a stray file; the next start lays the database again. One that somebody
    # else has made meanwhile stays.
    shutil.copyfile(template_path(), part)
    with suppress(FileExistsError):
        os.link(part, home / _NAME)
    part.unlink()


if __name__ == "__main__":
    make_template()
