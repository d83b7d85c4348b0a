"""Schedules: when datasets are built, kept in the workspace's `schedules.toml`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from lineage.durable import replace_file
from lineage.errors import ConfigError, NotFound
from lineage.fields import Fields, read_fields

FILE_NAME = "schedules.toml"
_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_EXAMPLE = 'five fields are needed, as in "0 3 * * *": every day at three'
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


@dataclass(frozen=True, slots=True)
class Schedule:
    """When one dataset is built.

    Attributes:
        dataset: its name.
        cron: minute, hour, day of month, month, day of week.
        timezone: name in the IANA database, such as ``Europe/Oslo``.
    """

    dataset: str
    cron: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if not self.dataset or not _NAME.issuperset(self.dataset):
            raise ConfigError(
                f"schedule: {self.dataset!r} is no dataset name", "use letters, digits, ., - and _"
            )
        _check_cron(self.cron)
        _check_timezone(self.timezone)

    def next_after(self, now: datetime) -> datetime:
        """When it fires next.

        Args:
            now: with a time zone.
        """
        local = now.astimezone(ZoneInfo(self.timezone))
        return next(CronSim(self.cron, local)).astimezone(UTC)


def read_schedules(workspace_root: Path) -> tuple[Schedule, ...]:
    """The workspace's schedules, by dataset; none when there is no file.

    Raises:
        ConfigError: the file is wrong; the error names the key or the cron field.
    """
    try:
        top = read_fields(workspace_root / FILE_NAME, ("schedules",))
    except NotFound:
        return ()
    tables = top.value("schedules") if "schedules" in top else {}
    if not isinstance(tables, dict):
        top.refuse("schedules", "tables [schedules.NAME] were expected")
    return tuple(_read(tables[name], name) for name in sorted(tables))


def add_schedule(workspace_root: Path, dataset: str, cron: str, timezone: str = "UTC") -> Schedule:
    """Adds or replaces a dataset's schedule. A server that is running reads it at its next start.

    Raises:
        ConfigError: the cron line (names the field), the time zone or the name is wrong.
        Unavailable: the folder cannot be written.
    """
    added = Schedule(dataset, " ".join(cron.split()), timezone)
    others = [item for item in read_schedules(workspace_root) if item.dataset != dataset]
    _write(workspace_root, [*others, added])
    return added


def remove_schedule(workspace_root: Path, dataset: str) -> None:
    """Removes a dataset's schedule.

    Raises:
        NotFound: it has none.
    """
    schedules = read_schedules(workspace_root)
    others = [item for item in schedules if item.dataset != dataset]
    if len(others) == len(schedules):
        raise NotFound(f"dataset {dataset} has no schedule", "see: shardline schedule")
    _write(workspace_root, others)


def _read(table: object, name: str) -> Schedule:
    where = f"{FILE_NAME} [schedules.{name}]"
    fields = Fields(table, where, ("cron", "timezone"))
    try:
        return Schedule(name, fields.text("cron"), fields.text("timezone", "UTC"))
    except ConfigError as error:
        if error.message.startswith(where):
            raise
        raise ConfigError(f"{where}: {error.message}", error.hint) from error


def _write(workspace_root: Path, schedules: Iterable[Schedule]) -> None:
    # Names and values were checked: none holds a quote or a line break.
    lines = ["# When datasets are built. Written by `shardline schedule`."]
    for item in sorted(schedules, key=lambda item: item.dataset):
        lines += ["", f'[schedules."{item.dataset}"]']
        lines += [f'cron = "{item.cron}"', f'timezone = "{item.timezone}"']
    replace_file(workspace_root / FILE_NAME, ("\n".join(lines) + "\n").encode())


def _check_cron(cron: str) -> None:
    fields = cron.split()
    if len(fields) != len(_FIELDS):
        raise ConfigError(f"cron {cron!r} has {len(fields)} fields", _EXAMPLE)
    for position, (name, value) in enumerate(zip(_FIELDS, fields, strict=True)):
        alone = ["*"] * len(_FIELDS)
        alone[position] = value
        _try_cron(" ".join(alone), f"cron {cron!r}: {value!r} is no {name}")
    _try_cron(cron, f"cron {cron!r} names no day that exists")


def _try_cron(cron: str, message: str) -> None:
    try:
        next(CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration):
        raise ConfigError(message, _EXAMPLE) from None


def _check_timezone(timezone: str) -> None:
    try:
        ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            f"{timezone!r} is no time zone", "use a name like Europe/Oslo, or UTC"
        ) from None
