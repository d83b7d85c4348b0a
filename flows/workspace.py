"""Makes a workspace ready to be used: keys and ledger, Git, DVC and both tiers."""

from __future__ import annotations

from pathlib import Path

from flows.storage import workspace_dvc, workspace_git
from lineage.durable import replace_file
from lineage.founding import found_workspace
from lineage.keys.wrapping import Entropy
from lineage.workspace import Now, Workspace

_IGNORED = "/.shardline/\n/.shardline.*.part/\n.*.part\n"
_FOLDERS = ("specs", "datasets", "manifests")
_HOT, _COLD = ".shardline/hot", ".shardline/cold"


def create_workspace(
    root: Path, entropy: Entropy, now: Now, hot: str = _HOT, cold: str = _COLD
) -> Workspace:
    """Makes a workspace in a folder, new or not.

    Args:
        hot, cold: the tiers' folders, relative to the workspace or absolute.

    Raises:
        Conflict: it is a workspace already.
        ConfigError: Git is missing.
        Unavailable: a folder cannot be written.
    """
    root.mkdir(parents=True, exist_ok=True)
    workspace = found_workspace(root.resolve(), hot, cold, entropy, now)
    for folder in _FOLDERS:
        (workspace.root / folder).mkdir(exist_ok=True)
    git = workspace_git(workspace)
    git.create()
    workspace_dvc(workspace).create()
    replace_file(workspace.root / ".gitignore", _IGNORED.encode())
    tree_head = workspace.root / "treehead"
    replace_file(tree_head, workspace.ledger.tree_head().encode())
    paths = ["shardline.toml", ".gitignore", "treehead", ".dvc/config", ".dvc/.gitignore"]
    paths.append(".dvcignore")
    git.commit([workspace.root / path for path in paths], "A new workspace", now())
    return workspace
