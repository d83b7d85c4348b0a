"""Makes a workspace ready to be used: keys and ledger, Git, DVC and both tiers."""

from __future__ import annotations

from pathlib import Path

from flows.storage import workspace_dvc, workspace_git
from lineage.clock import Clock
from lineage.config import FILE_NAME
from lineage.durable import disk_error, replace_file
from lineage.errors import ConfigError
from lineage.founding import found_workspace
from lineage.keys.wrapping import Entropy
from lineage.workspace import Workspace

_IGNORED = "/.shardline/\n/.shardline.*.part/\n.*.part\n"
_FOLDERS = ("specs", "datasets", "manifests")
_HOT, _COLD = ".shardline/hot", ".shardline/cold"
_TREE_HEAD = "treehead"
_COMMITTED = (FILE_NAME, ".gitignore", ".dvc/config", ".dvc/.gitignore", ".dvcignore")


def create_workspace(
    root: Path, entropy: Entropy, now: Clock, hot: str = _HOT, cold: str = _COLD
) -> Workspace:
    """Makes a workspace in a folder, new or not; goes on where a crash stopped it before.

    Args:
        hot, cold: the tiers' folders, relative to the workspace or absolute.

    Raises:
        Conflict: it is a workspace already.
        ConfigError: it is a file, or Git is missing.
        Unavailable: a folder cannot be written.
    """
    if root.exists() and not root.is_dir():
        raise ConfigError(f"{root}: a file, not a folder", "choose another place")
    try:
        root.mkdir(parents=True, exist_ok=True)
        workspace = _unfinished(root, entropy, now) or found_workspace(
            root.resolve(), hot, cold, entropy, now
        )
        for folder in _FOLDERS:
            (workspace.root / folder).mkdir(exist_ok=True)
    except OSError as error:
        raise disk_error(error, root) from None
    git = workspace_git(workspace)
    git.create()
    workspace_dvc(workspace).create()
    replace_file(workspace.root / ".gitignore", _IGNORED.encode())
    git.commit([workspace.root / path for path in _COMMITTED], "A new workspace", now())
    # Crash point: until the tree head stands, the next `init` does these steps again, which
    # changes nothing that is done. Were it not committed, the first publish would do it.
    replace_file(workspace.root / _TREE_HEAD, workspace.ledger.tree_head().encode())
    git.commit([workspace.root / _TREE_HEAD], "The first tree head", now())
    return workspace


def _unfinished(root: Path, entropy: Entropy, now: Clock) -> Workspace | None:
    """A workspace that was founded and not finished, or None."""
    founded, finished = root / FILE_NAME, root / _TREE_HEAD
    return Workspace(root, entropy, now) if founded.exists() and not finished.exists() else None
