"""The one tree of errors, split by what the caller can do about each.

Every error that reaches a user says what is wrong, where, and what to do. Parsers
and libraries raise their own errors; each border turns them into one of these.
The exit codes are the table in docs/cli.md.
"""

from __future__ import annotations


class ShardlineError(Exception):
    """Root of all errors raised on purpose.

    Args:
        message: What is wrong and where. Never text, tokens or keys.
        hint: What the reader can do about it; may be empty.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(ShardlineError):
    """A setting, a spec or an argument is wrong: fix the file or the command."""

    exit_code = 2


class NotFound(ShardlineError):
    """The named thing does not exist."""

    exit_code = 3


class AccessDenied(ShardlineError):
    """No grant allows this; the refusal is in the ledger."""

    exit_code = 4


class IntegrityError(ShardlineError):
    """Stored bytes, signatures or books do not agree: stop, never retry."""

    exit_code = 5


class Conflict(ShardlineError):
    """Somebody else changed the base meanwhile: read it again, then retry."""

    exit_code = 6


class Unavailable(ShardlineError):
    """A disk, a tier or a server does not answer now: retry later."""

    exit_code = 7


class OutcomeUnknown(ShardlineError):
    """A write may or may not have happened: read first, then decide."""

    exit_code = 8
