"""The cleaning of a dataset: its acts in order, and the rules that decide on their signals."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import pyarrow as pa

from lineage.digest import Digest
from lineage.errors import ConfigError
from pipelines.clean.act import Act
from pipelines.clean.c4_lines import C4Lines
from pipelines.clean.nfc import Nfc
from pipelines.clean.repair import repairs
from pipelines.decontamination.act import Decontamination, decontamination_rules
from pipelines.dedup.repeated import Repeated
from pipelines.own.act import Own
from pipelines.personal.act import Personal
from pipelines.personal.act import rules_of as personal_rules
from pipelines.rules.rule import AnyRule, OneOf, Rule, Side
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.language import Language
from pipelines.signals.licences import Licences, licence_rules
from pipelines.signals.measured import Measured
from pipelines.signals.scores import Scores, score_rules
from pipelines.signals.urls import Urls, url_rules
from pipelines.signals.words_listed import WordsListed, words_rules
from pipelines.spec.dataset import CleanSpec, DatasetSpec
from pipelines.spec.language import LanguageSpec
from pipelines.spec.limits import LimitSpec

# Signals that every document has, whatever the spec.
_ALWAYS = ("num_chars", "num_bytes")


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What is done to every document of a dataset before duplicates are looked for.

    Attributes:
        acts: in the order in which they are applied.
        rules: in the order in which they are asked.
        own: digests of the user's files: own transforms, lists, models and evaluation sets.
    """

    acts: tuple[Act, ...]
    rules: tuple[AnyRule, ...]
    own: tuple[Digest, ...] = ()

    @classmethod
    def of(cls, spec: DatasetSpec, root: Path) -> Cleaning:
        """Builds the acts of a spec.

        Args:
            root: the workspace's root, below which own transforms lie.

        Raises:
            NotFound: an own transform is missing.
            ConfigError: a rule stands on a signal that nothing measures, or an own
                transform does not do what one must.
        """
        rules = _rules(spec)
        acts: list[Act] = [*_edits(spec)]
        own = [Own(item, root) for item in spec.transforms]
        acts += own
        files = [item.source for item in own]
        if spec.urls is not None:
            urls = Urls(spec.urls, root)
            files += urls.files
            acts.append(urls)
        if spec.licences is not None:
            of_sources = {source.name: source.licence for source in spec.sources}
            acts.append(Licences(spec.licences, of_sources))
        if spec.language is not None:
            acts.append(Language())
        if spec.decontamination is not None:
            # Before redaction: a placeholder would break the n-grams of an item with an address.
            evaluation = Decontamination(spec.decontamination, root)
            files.append(evaluation.source)
            acts.append(evaluation)
        if spec.personal.actions:
            acts.append(Personal(spec.personal))
        if spec.words:
            words = WordsListed(spec.words, root)
            files += words.files
            acts.append(words)
        if spec.scores:
            scores = Scores(spec.scores, root)
            files += scores.files
            acts.append(scores)
        wanted = SIGNALS.keys() & {rule.signal for rule in rules}
        near = spec.duplicates if spec.duplicates.near else None
        if wanted or near:
            acts.append(Measured(wanted, near))
        _require_measured(acts, rules)
        _require_languages(spec, rules)
        return cls(tuple(acts), rules, tuple(files))

    def before(self, name: str) -> tuple[Act, ...]:
        """The acts before the one of a name."""
        return tuple(takewhile(lambda act: act.name != name, self.acts))

    def taking_out(self, repeated: Repeated) -> Cleaning:
        """The same, with the act repeated knowing what the corpus repeats."""
        acts = tuple(repeated if act.name == repeated.name else act for act in self.acts)
        return replace(self, acts=acts)

    @property
    def decontamination(self) -> Decontamination | None:
        """The act that looks for evaluation items, or None where the spec names no set."""
        return next((act for act in self.acts if isinstance(act, Decontamination)), None)


def _edits(spec: DatasetSpec) -> Iterator[Act]:
    """What changes texts before anything is measured, transforms of the user's aside."""
    yield from repairs(spec.repair)
    if spec.clean.normalize == "NFC":
        yield Nfc()
    if spec.c4_lines is not None:
        yield C4Lines(spec.c4_lines)
    if spec.repeated is not None:
        yield Repeated(spec.repeated)


def _rules(spec: DatasetSpec) -> tuple[AnyRule, ...]:
    """Every rule of a spec, in the order in which they are asked."""
    published = [rule for rules in spec.rules for rule in rules.rules()]
    return (
        *_length_rules(spec.clean),
        *(() if spec.urls is None else url_rules(spec.urls)),
        *(() if spec.licences is None else licence_rules(spec.licences)),
        *_language_rules(spec.language),
        *(() if spec.decontamination is None else decontamination_rules(spec.decontamination)),
        *personal_rules(spec.personal),
        *words_rules(spec.words),
        *published,
        *score_rules(spec.scores),
        *_limit_rules(spec.limits),
    )


def _require_measured(acts: Sequence[Act], rules: Sequence[AnyRule]) -> None:
    words = {c.name for act in acts for c in act.columns if c.type == pa.string()}
    for rule in rules:
        if isinstance(rule, Rule) and rule.signal in words:
            hint = "a threshold needs a number"
            raise ConfigError(f"the rule {rule.name} compares {rule.signal!r}, a word", hint)
    known = [*_ALWAYS, *SIGNALS, *(column.name for act in acts for column in act.columns)]
    for rule in rules:
        if rule.signal not in known:
            near = difflib.get_close_matches(rule.signal, known, n=1, cutoff=0.0)
            raise ConfigError(
                f"the rule {rule.name} stands on {rule.signal!r}, which nothing measures",
                f"the nearest signal that is measured is {near[0]!r}",
            )


def _require_languages(spec: DatasetSpec, rules: Sequence[AnyRule]) -> None:
    for rule in rules:
        if isinstance(rule, Rule) and rule.languages and spec.language is None:
            raise ConfigError(
                f"{spec.name}: {rule.name} has thresholds by language, and none is detected",
                "add a section [language], which may be empty",
            )


def _language_rules(spec: LanguageSpec | None) -> Iterator[AnyRule]:
    if spec is not None and spec.allowed:
        yield OneOf("language.allowed", "language", spec.allowed)
    if spec is not None and spec.min_share:
        yield Rule("language.min_share", "language_share", Side.MIN, spec.min_share)


def _limit_rules(limits: Sequence[LimitSpec]) -> Iterator[Rule]:
    for limit in limits:
        for side, threshold in ((Side.MIN, limit.min), (Side.MAX, limit.max)):
            if threshold is not None:
                yield Rule(f"limits.{limit.signal}.{side}", limit.signal, side, threshold)


def _length_rules(spec: CleanSpec) -> tuple[Rule, ...]:
    low = Rule("min_chars", "num_chars", Side.MIN, spec.min_chars)
    if spec.max_chars is None:
        return (low,)
    return (low, Rule("max_chars", "num_chars", Side.MAX, spec.max_chars))
