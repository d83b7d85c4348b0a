"""Git for a workspace: what is published is committed by one writer, the flow.

Git is started with explicit folders, so it never looks for a repository above the
workspace and never asks who owns it, and without the user's configuration and hooks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from lineage.errors import ConfigError, Conflict, NotFound, ShardlineError, Unavailable

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.fsync=all",
    "core.excludesFile=/dev/null",
    "commit.gpgsign=false",
    "gc.auto=0",
    "user.name=shardline",
    "user.email=shardline@localhost",
)
_UNBORN = 1


class GitRepository:
    """The Git repository whose top is the workspace.

    Args:
        root: the workspace's folder; its ``.git`` lies directly in it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def create(self) -> None:
        """Makes the repository, branch ``main``, unless `root` has its own already.

        A repository further up is left alone. Safe to repeat.

        Raises:
            ConfigError: git is not installed, or too old for ``init -b`` (2.28).
            Unavailable: git could not write the folder.
        """
        if (self.root / ".git").exists():
            return
        done = self._start(("git", "init", "--quiet", "--template=", "-b", "main", "."))
        self._require(done, "git init")

    def commit(
        self, paths: Sequence[Path], message: str, when: datetime | None = None
    ) -> str | None:
        """Commits the state of these paths, and nothing else that is staged or changed.

        Crash point: a kill between the two commands of git leaves the paths staged;
        committing again finishes it.

        Args:
            paths: files or folders below `root`, absolute or relative to it; a deleted
                file is committed as deleted.
            message: its first line names the change.
            when: author and committer time, with a zone; None is git's own clock.

        Returns:
            The new commit's id in hex, or None when nothing had changed.

        Raises:
            ConfigError: a path is outside, or kept out by ``.gitignore``.
            NotFound: a path neither exists nor is tracked, or there is no repository.
            Conflict: a merge is half done, or another git holds the index.
            Unavailable: git could not write.
        """
        names = [self._inside(path) for path in paths]
        if not names:
            return None
        # Over standard input, since a command line has a limit.
        listed = b"".join(os.fsencode(name) + b"\0" for name in names)
        from_input = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._run("add", "--all", *from_input, given=listed)
        if not self._changed(names):
            return None
        given_message = ("--quiet", "--cleanup=verbatim", "--message", message)
        self._run("commit", *given_message, "--only", *from_input, given=listed, when=when)
        return self.head()

    def head(self) -> str | None:
        """The id of the commit that is checked out, in hex; None before the first.

        Raises:
            NotFound: there is no repository.
        """
        done = self._git("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if done.returncode == _UNBORN:
            return None
        self._require(done, "git rev-parse")
        return done.stdout.decode("ascii").strip()

    def is_dirty(self) -> bool:
        """Whether a file is changed, staged, deleted, or new and not ignored.

        Raises:
            NotFound: there is no repository.
        """
        return bool(self._run("status", "--porcelain").stdout)

    def _changed(self, names: Sequence[str]) -> bool:
        staged = self._run("diff", "--cached", "--name-only", "--no-renames", "-z").stdout
        changed = [path for path in staged.split(b"\0") if path]
        tops = {os.fsencode(name) for name in names}
        return any(b"." in tops or _is_below(path, tops) for path in changed)

    def _inside(self, path: Path) -> str:
        # Not resolved: a symbolic link is committed as the link that it is.
        full = Path(os.path.normpath(self.root / path))
        if not full.is_relative_to(self.root):
            raise ConfigError(f"{path} is outside the workspace {self.root}")
        return full.relative_to(self.root).as_posix()

    def _run(
        self, *arguments: str, given: bytes = b"", when: datetime | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        done = self._git(*arguments, given=given, when=when)
        self._require(done, f"git {arguments[0]}")
        return done

    def _git(
        self, *arguments: str, given: bytes = b"", when: datetime | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        git_folder = self.root / ".git"
        if not git_folder.exists():
            raise NotFound(
                f"{self.root} is not a Git repository", "shardline init makes the workspace"
            )
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        # Named folders: git neither searches upwards nor refuses another owner's.
        folders = (f"--git-dir={git_folder}", f"--work-tree={self.root}")
        return self._start(("git", *settings, *folders, *arguments), given, when)

    def _start(
        self, command: Sequence[str], given: bytes = b"", when: datetime | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        environment = _environment(when)
        try:
            return subprocess.run(
                command,
                cwd=self.root,
                env=environment,
                input=given,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            if not self.root.is_dir():
                raise NotFound(f"{self.root}: no such folder") from None
            raise ConfigError(
                "git is not installed or not on the PATH", "install git 2.28 or newer"
            ) from None

    def _require(self, done: subprocess.CompletedProcess[bytes], what: str) -> None:
        if done.returncode:
            raise _error_of(done.stderr, f"{what} in {self.root}")


def _environment(when: datetime | None) -> dict[str, str]:
    """Ours without git's variables, which a hook or a user's shell may have set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept |= {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    if when is not None:
        kept |= {"GIT_AUTHOR_DATE": when.isoformat(), "GIT_COMMITTER_DATE": when.isoformat()}
    return kept


def _is_below(path: bytes, tops: set[bytes]) -> bool:
    parts = path.split(b"/")
    return any(b"/".join(parts[:end]) in tops for end in range(1, len(parts) + 1))


def _error_of(stderr: bytes, what: str) -> ShardlineError:
    said = stderr.decode("utf-8", "replace").strip()
    first = said.splitlines()[0][:300] if said else "git gave no reason"
    message = f"{what}: {first}"
    if "index.lock" in said:
        return Conflict(message, "wait for the other git; if none runs, remove .git/index.lock")
    if "did not match any file" in said:
        return NotFound(message)
    if "are ignored by" in said:
        return ConfigError(message, "take these paths out of .gitignore")
    if "during a merge" in said or "unmerged" in said or "unresolved" in said:
        return Conflict(message, "finish the merge in the workspace, then try again")
    if "unknown switch" in said or "unknown option" in said:
        return ConfigError(message, "install git 2.28 or newer")
    return Unavailable(message, "see that the workspace is writable and has room")
