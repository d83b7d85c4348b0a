"""The section ``[rules]``: which published rule sets are used, and with what thresholds.

A table that stands there, even an empty one, uses its set; a key in it is another
threshold, or ``false`` to leave a rule out; ``languages.zh`` holds those for documents in
Chinese. A key in the set's own table holds for all languages that the spec does not name,
those with a published threshold too. Shares are written as numbers such as 0.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lineage.fields import Fields
from pipelines.rules.rule import Rule
from pipelines.rules.sets import RULE_SETS
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.signal import Unit

_LANGUAGES = "languages"
_MOST = 10**15


@dataclass(frozen=True, slots=True)
class RuleSetSpec:
    """One rule set of a spec.

    Attributes:
        name: one of `RULE_SETS`.
        thresholds: by rule, in the signal's unit; None leaves the rule out.
        languages: the same for documents of a language.
    """

    name: str
    thresholds: Mapping[str, int | None]
    languages: Mapping[str, Mapping[str, int | None]]

    def rules(self) -> Iterator[Rule]:
        """The rules of the set with these thresholds, in the order of the set."""
        for rule in RULE_SETS[self.name]:
            key = _key(rule)
            usual = self.thresholds.get(key, rule.threshold)
            own = {name: own[key] for name, own in self.languages.items() if key in own}
            if key not in self.thresholds:
                own = {**rule.languages, **own}
            if usual is not None or any(limit is not None for limit in own.values()):
                yield replace(rule, threshold=usual, languages=own)


def rule_set_specs(table: object, where: str) -> tuple[RuleSetSpec, ...]:
    """Reads ``[rules]``; the sets come in their fixed order, not in that of the file.

    Raises:
        ConfigError: an unknown set or rule, a wrong type, or a threshold out of range.
    """
    fields = Fields(table, f"{where}, [rules]", tuple(RULE_SETS))
    return tuple(_rule_set(fields, name) for name in RULE_SETS if name in fields)


def _rule_set(fields: Fields, name: str) -> RuleSetSpec:
    keys = tuple(_key(rule) for rule in RULE_SETS[name])
    own = fields.table(name, (*keys, _LANGUAGES))
    languages = own.value(_LANGUAGES) if _LANGUAGES in own else {}
    if not isinstance(languages, Mapping):
        own.refuse(_LANGUAGES, "a table by language was expected", f"[rules.{name}.languages.zh]")
    by_language = {
        str(language): _thresholds(Fields(table, f"{own.where}, {language}", keys), name)
        for language, table in sorted(languages.items())
    }
    return RuleSetSpec(name, _thresholds(own, name), by_language)


def _thresholds(fields: Fields, name: str) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for rule in RULE_SETS[name]:
        key = _key(rule)
        if key not in fields:
            continue
        if fields.value(key) is False:
            found[key] = None
        elif SIGNALS[rule.signal].unit is Unit.MILLIONTHS:
            found[key] = fields.millionths(key, 0, _MOST // 10**6)
        else:
            found[key] = fields.integer(key, 0, _MOST)
    return found


def _key(rule: Rule) -> str:
    return rule.name.partition(".")[2]
