"""The section ``[personal]``: what is done about each kind of personal data or secret.

A kind that does not stand there is not looked for. A user's own kinds are described in
``[[personal.kinds]]`` and get their action beside the others, by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lineage.errors import ConfigError
from lineage.fields import Fields
from pipelines.personal.action import Action
from pipelines.personal.checks import CHECKS
from pipelines.personal.kind import Kind
from pipelines.personal.registry import KINDS, own_kind

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_NAME_HINT = "names are lower-case letters, digits and underscores, 40 at most"
_OWN = "kinds"
_MOST_OWN = 100


@dataclass(frozen=True, slots=True)
class OwnKindSpec:
    """A user's own kind.

    Attributes:
        name: stands in decisions and signals, and in capitals in the placeholder.
        pattern: regular expression of RE2.
        literal: what stands in or near every match, or None.
        digits: how many digits stand in every match at least, or None; one of the two is set.
        check: one of `CHECKS`, over the digits of a match, or None.
    """

    name: str
    pattern: str
    literal: str | None
    digits: int | None
    check: str | None

    def kind(self) -> Kind:
        """The kind itself.

        Raises:
            ConfigError: the pattern or the literal is of no use.
        """
        return own_kind(self.name, self.pattern, self.literal, self.digits, self.check)


@dataclass(frozen=True, slots=True)
class PersonalSpec:
    """What is looked for, and what is done about it.

    Attributes:
        actions: name of a kind and `Action`; own kinds first, then in the order of `KINDS`.
        own: users' own kinds, in the order of the file.
    """

    actions: tuple[tuple[str, str], ...] = ()
    own: tuple[OwnKindSpec, ...] = ()

    def kinds(self) -> tuple[Kind, ...]:
        """The kinds by strength of their action, then in the order of `actions`."""
        own = {spec.name: spec.kind() for spec in self.own}
        strength = {action.value: place for place, action in enumerate(Action)}
        ordered = sorted(self.actions, key=lambda item: strength[item[1]])
        return tuple(own.get(name) or KINDS[name] for name, _ in ordered)


NOTHING_PERSONAL = PersonalSpec()


def personal_spec(table: object, where: str) -> PersonalSpec:
    """Reads ``[personal]``.

    Raises:
        ConfigError: an unknown kind, action or key, a wrong type, an own kind without an
            action, or a pattern that is of no use.
    """
    where = f"{where}, [personal]"
    own = _own_kinds(table, where)
    names = (*(spec.name for spec in own), *KINDS)
    fields = Fields(table, where, (*names, _OWN))
    for spec in own:
        if spec.name not in fields:
            hint = f'add {spec.name} = "redact", "drop" or "count" to [personal]'
            raise ConfigError(f"{where}: the own kind {spec.name!r} has no action", hint)
    actions = tuple(
        (name, fields.choice(name, tuple(action.value for action in Action)))
        for name in names
        if name in fields
    )
    return PersonalSpec(actions, own)


def _own_kinds(table: object, where: str) -> tuple[OwnKindSpec, ...]:
    tables = table.get(_OWN, []) if isinstance(table, dict) else []
    if not isinstance(tables, list) or len(tables) > _MOST_OWN:
        hint = f"write at most {_MOST_OWN} tables [[personal.{_OWN}]]"
        raise ConfigError(f"{where}: {_OWN}: a list of tables was expected", hint)
    own = [_own_kind(item, f"{where}, kind {i}") for i, item in enumerate(tables, 1)]
    names = [spec.name for spec in own]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{where}: {_OWN}: the name {name!r} stands twice")
    return tuple(own)


def _own_kind(table: object, where: str) -> OwnKindSpec:
    fields = Fields(table, where, OwnKindSpec.__slots__)
    name = fields.text("name")
    if not _NAME.match(name) or name == _OWN:
        fields.refuse("name", f"{name!r} is no name of a kind", _NAME_HINT)
    if name in KINDS:
        fields.refuse("name", f"{name!r} is built in", "choose another one")
    if ("literal" in fields) == ("digits" in fields):
        hint = "write what stands in every match, or how many digits do"
        fields.refuse("pattern", "one of literal and digits is needed beside it", hint)
    spec = OwnKindSpec(
        name=name,
        pattern=fields.text("pattern"),
        literal=fields.text("literal") if "literal" in fields else None,
        digits=fields.integer("digits", 4, 64) if "digits" in fields else None,
        check=fields.choice("check", tuple(CHECKS)) if "check" in fields else None,
    )
    try:
        spec.kind()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error.message}", error.hint) from None
    return spec
