"""A dataset's spec: what is read, how it is cleaned, tokenized and cut into shards.

The file is ``specs/NAME.toml``. The digest covers every field with its defaults
filled in, so that writing a default out changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import ConfigError, NotFound
from lineage.fields import Fields, read_fields
from pipelines.spec.decontamination import DecontaminationSpec, decontamination_spec
from pipelines.spec.duplicates import EXACT_ONLY, DuplicatesSpec, duplicates_spec
from pipelines.spec.language import LanguageSpec, language_spec
from pipelines.spec.licences import LicencesSpec, licences_spec
from pipelines.spec.limits import (
    NO_LIMIT,
    LimitSpec,
    QuarantineLimit,
    limit_spec,
    quarantine_limit,
)
from pipelines.spec.lines import C4LinesSpec, c4_lines_spec
from pipelines.spec.own import OwnSpec, own_spec
from pipelines.spec.personal import NOTHING_PERSONAL, PersonalSpec, personal_spec
from pipelines.spec.repair import NO_REPAIR, RepairSpec, repair_spec
from pipelines.spec.repeated import RepeatedSpec, repeated_spec
from pipelines.spec.rules import RuleSetSpec, rule_set_specs
from pipelines.spec.scores import ScoreSpec, score_specs
from pipelines.spec.section import section_json
from pipelines.spec.source import NAME, NAME_HINT, TOKENIZED, SourceSpec, source_spec
from pipelines.spec.urls import UrlsSpec, urls_spec
from pipelines.spec.words import WordsSpec, words_specs

_KIB = 1024
_MAX_SHARD_KIB = 4 * _KIB * _KIB
_MAX_CHARS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CleanSpec:
    """How documents are cleaned.

    Attributes:
        normalize: ``NFC`` or ``none``.
        min_chars: shortest text kept, in code points after normalizing.
        max_chars: longest text kept, or None for no limit.
    """

    normalize: str = "NFC"
    min_chars: int = 1
    max_chars: int | None = None


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """The tokenizer's file, and its end-of-document token as it is written there."""

    file: str
    end_of_document: str


@dataclass(frozen=True, slots=True)
class ShardSpec:
    """How tokens are cut into shards.

    Attributes:
        sample_tokens: tokens in a sample.
        shard_bytes: bytes that a shard aims at.
        group_shards: shards that a run keeps open together.
        window_samples: samples that are shuffled together.
    """

    sample_tokens: int = 2048
    shard_bytes: int = 128 << 20
    group_shards: int = 16
    window_samples: int = 4096


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """Everything that a build of a dataset depends on, besides the files themselves.

    Attributes:
        seed: of the global shuffle, 0 to 2**64 - 1.
        sources: in the order of the file; a source's ordinal is its place here.
        max_quarantined: how many records may be unreadable before a build stops.
        repair: damage that is undone first.
        language: which languages are kept, or None where none is detected.
        transforms: functions of the user's own, in the order of the file.
        c4_lines: which lines are taken out of texts, or None for none.
        repeated: which lines or paragraphs that stand elsewhere too are taken out, or None.
        urls: lists of addresses, or None.
        licences: which licences are kept, or None for all.
        personal: what is done about personal data and secrets.
        rules: published rule sets with their thresholds.
        duplicates: what counts as a near duplicate.
        words: lists of words that are counted.
        scores: classifiers that are asked.
        limits: thresholds on signals, asked after the rule sets.
        decontamination: evaluation sets that no document may hold, or None.
    """

    name: str
    seed: int
    sources: tuple[SourceSpec, ...]
    clean: CleanSpec
    tokenizer: TokenizerSpec
    shards: ShardSpec
    max_quarantined: QuarantineLimit = NO_LIMIT
    repair: RepairSpec = NO_REPAIR
    language: LanguageSpec | None = None
    transforms: tuple[OwnSpec, ...] = ()
    c4_lines: C4LinesSpec | None = None
    urls: UrlsSpec | None = None
    licences: LicencesSpec | None = None
    personal: PersonalSpec = NOTHING_PERSONAL
    rules: tuple[RuleSetSpec, ...] = ()
    duplicates: DuplicatesSpec = EXACT_ONLY
    words: tuple[WordsSpec, ...] = ()
    scores: tuple[ScoreSpec, ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    repeated: RepeatedSpec | None = None
    decontamination: DecontaminationSpec | None = None

    @property
    def tokenized(self) -> bool:
        """Whether the sources hold token ids and no text."""
        return self.sources[0].format in TOKENIZED

    def digest(self) -> Digest:
        """The digest of the canonical JSON of all fields (frozen, docs/formats.md section 5)."""
        return digest_of(canonical_json(spec_to_json(self)))


def spec_to_json(spec: DatasetSpec) -> dict[str, object]:
    """All fields of a spec as JSON values, under a format version.

    Sections that a spec does not use do not stand, so that one more kind of section
    renames no spec.
    """
    members = {item.name: getattr(spec, item.name) for item in fields(spec)}
    used = {name: value for name, value in members.items() if value != _UNUSED.get(name)}
    return {"format": "shardline/spec/v2"} | {
        name: section_json(value) for name, value in used.items()
    }


def check_dataset_name(name: str) -> None:
    """Refuses what is no name of a dataset, such as a path or the name of a version.

    Raises:
        ConfigError: it is none.
    """
    if not NAME.match(name):
        raise ConfigError(f"{name!r} is no dataset name", NAME_HINT)


def load_spec(path: Path) -> DatasetSpec:
    """Reads ``NAME.toml``; the dataset's name is the file's.

    Raises:
        NotFound: there is no such file.
        ConfigError: not TOML in UTF-8, an unknown key, a wrong type or value.
        Unavailable: the file cannot be read.
    """
    where = path.name
    try:
        table = read_fields(path, DatasetSpec.__slots__)
    except NotFound:
        raise NotFound(f"there is no spec {path.name}", "write it under specs/") from None
    name = table.text("name", path.stem)
    if not NAME.match(name):
        table.refuse("name", f"{name!r} is no dataset name", NAME_HINT)
    if name != path.stem:
        table.refuse("name", f"{name!r} stands in {path.name}", f"call the file {name}.toml")
    spec = DatasetSpec(
        name=name,
        seed=table.integer("seed", 0, 2**64 - 1),
        sources=_sources(table, where),
        clean=_clean(table.value("clean") if "clean" in table else {}, where),
        tokenizer=_tokenizer(table.value("tokenizer"), where),
        shards=_shards(table.value("shards") if "shards" in table else {}, where),
        max_quarantined=quarantine_limit(table),
        duplicates=duplicates_spec(table.value("duplicates"), where)
        if "duplicates" in table
        else EXACT_ONLY,
        repair=repair_spec(table.value("repair"), where) if "repair" in table else NO_REPAIR,
        language=language_spec(table.value("language"), where) if "language" in table else None,
        transforms=_own(table),
        c4_lines=c4_lines_spec(table.value("c4_lines"), where) if "c4_lines" in table else None,
        repeated=repeated_spec(table.value("repeated"), where) if "repeated" in table else None,
        urls=urls_spec(table.value("urls"), where) if "urls" in table else None,
        licences=licences_spec(table.value("licences"), where) if "licences" in table else None,
        personal=personal_spec(table.value("personal"), where)
        if "personal" in table
        else NOTHING_PERSONAL,
        rules=rule_set_specs(table.value("rules"), where) if "rules" in table else (),
        words=words_specs(table.value("words"), where) if "words" in table else (),
        scores=score_specs(table.value("scores"), where) if "scores" in table else (),
        limits=tuple(limit_spec(*item) for item in _tables(table, "limits")),
        decontamination=decontamination_spec(table.value("decontamination"), where)
        if "decontamination" in table
        else None,
    )
    _refuse_work_on_tokens(spec, table)
    return spec


def _refuse_work_on_tokens(spec: DatasetSpec, table: Fields) -> None:
    if not {source.format for source in spec.sources} & TOKENIZED:
        return
    if not all(source.format in TOKENIZED for source in spec.sources):
        hint = "make two datasets"
        table.refuse("sources", "some hold text and others token ids", hint)
    used = [name for name, unused in _UNUSED.items() if getattr(spec, name) != unused]
    for name in used:
        if name != "max_quarantined":
            hint = f"leave `{name}` out"
            table.refuse(name, "the sources hold token ids, which cannot be cleaned", hint)
    if spec.clean.normalize != "none":
        table.refuse("clean", "the sources hold token ids", 'write [clean] normalize = "none"')


_UNUSED: Mapping[str, object] = {
    item.name: item.default for item in fields(DatasetSpec) if item.default is not MISSING
}


def _tables(spec: Fields, name: str) -> list[tuple[object, str]]:
    """The tables of a list such as ``[[limits]]``, each with its name for messages."""
    tables = spec.value(name) if name in spec else []
    if not isinstance(tables, list):
        spec.refuse(name, f"a list of tables [[{name}]] was expected")
    return [(table, f"{spec.where}, {name} {i}") for i, table in enumerate(tables, 1)]


def _sources(fields: Fields, where: str) -> tuple[SourceSpec, ...]:
    tables = fields.value("sources")
    if not isinstance(tables, list) or not tables:
        fields.refuse("sources", "at least one table [[sources]] is needed")
    sources = tuple(source_spec(table, f"{where}, source {i}") for i, table in enumerate(tables, 1))
    seen: set[str] = set()
    for source in sources:
        if source.name in seen:
            fields.refuse("sources", f"the name {source.name!r} stands twice")
        seen.add(source.name)
    return sources


def _own(spec: Fields) -> tuple[OwnSpec, ...]:
    own = tuple(own_spec(*item) for item in _tables(spec, "transforms"))
    names = [item.name for item in own]
    for name in names:
        if names.count(name) > 1:
            spec.refuse("transforms", f"the name {name!r} stands twice", "give one another name")
    return own


def _clean(table: object, where: str) -> CleanSpec:
    fields = Fields(table, f"{where}, [clean]", CleanSpec.__slots__)
    low = fields.integer("min_chars", 0, _MAX_CHARS, 1)
    return CleanSpec(
        normalize=fields.choice("normalize", ("NFC", "none"), "NFC"),
        min_chars=low,
        max_chars=fields.integer("max_chars", low, _MAX_CHARS) if "max_chars" in fields else None,
    )


def _tokenizer(table: object, where: str) -> TokenizerSpec:
    fields = Fields(table, f"{where}, [tokenizer]", TokenizerSpec.__slots__)
    return TokenizerSpec(fields.text("file"), fields.text("end_of_document"))


def _shards(table: object, where: str) -> ShardSpec:
    known = ("sample_tokens", "shard_mib", "shard_kib", "group_shards", "window_samples")
    fields = Fields(table, f"{where}, [shards]", known)
    if "shard_kib" in fields and "shard_mib" in fields:
        fields.refuse("shard_kib", "shard_mib stands beside it", "keep one of the two")
    if "shard_kib" in fields:
        shard_kib = fields.integer("shard_kib", 1, _MAX_SHARD_KIB)
    else:
        shard_kib = fields.integer("shard_mib", 1, _MAX_SHARD_KIB // _KIB, 128) * _KIB
    return ShardSpec(
        sample_tokens=fields.integer("sample_tokens", 2, 1 << 20, 2048),
        shard_bytes=shard_kib * _KIB,
        group_shards=fields.integer("group_shards", 1, 1 << 16, 16),
        window_samples=fields.integer("window_samples", 1, 1 << 24, 4096),
    )
