"""The storage of a workspace: its tiers, its DVC repository and its Git repository."""

from __future__ import annotations

from lineage.workspace import Workspace
from storage_tiers.dvc import DvcWriter
from storage_tiers.git import GitRepository
from storage_tiers.local import LocalStore
from storage_tiers.tiers import Tiers


def workspace_tiers(workspace: Workspace) -> Tiers:
    """Hot and cold, as the workspace's settings name them."""
    entropy = workspace.entropy
    return Tiers(LocalStore(workspace.hot, entropy), LocalStore(workspace.cold, entropy), entropy)


def workspace_dvc(workspace: Workspace) -> DvcWriter:
    """The writer of the workspace's DVC repository."""
    return DvcWriter(workspace.root, workspace.hot, workspace.cold)


def workspace_git(workspace: Workspace) -> GitRepository:
    """The workspace's Git repository."""
    return GitRepository(workspace.root)
