"""A record that is not read."""

from __future__ import annotations


class Refused(Exception):
    """A record that is not read: becomes a quarantine row.

    Args:
        reason: one of `pipelines.ingest.chunk.REASONS`.
        detail: what is wrong and where; never the text.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail
