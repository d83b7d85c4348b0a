"""Times as the ledger writes them: RFC 3339, UTC, whole seconds, ``Z`` at the end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from lineage.errors import IntegrityError

Clock = Callable[[], datetime]

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def system_clock() -> datetime:
    """The time of this machine; the outermost door passes it in."""
    return datetime.now(UTC)


def time_text(moment: datetime) -> str:
    """A moment as text; fractions of a second are cut off.

    Raises:
        ValueError: the moment has no time zone, so it names no point in time.
    """
    if moment.utcoffset() is None:
        raise ValueError("a time without a zone")
    # strftime writes a year below 1000 without its zeros on this platform.
    moment = moment.astimezone(UTC)
    return f"{moment.year:04d}" + moment.strftime(_FORMAT[2:])


def parse_time(text: str) -> datetime:
    """Reads what `time_text` wrote.

    Raises:
        IntegrityError: the text has another form.
    """
    try:
        moment = datetime.strptime(text, _FORMAT).replace(tzinfo=UTC)
    except (TypeError, ValueError):
        raise IntegrityError("not a time of the form 2026-01-31T23:59:59Z") from None
    if time_text(moment) != text:
        raise IntegrityError("not a time of the form 2026-01-31T23:59:59Z")
    return moment
