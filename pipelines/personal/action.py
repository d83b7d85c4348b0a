"""What is done about a kind."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """The stronger one stands first: where two findings overlap, it is what happens."""

    DROP = "drop"  # the document goes
    REDACT = "redact"  # a placeholder stands instead
    COUNT = "count"  # nothing; counted as the others are
