"""Statements: in-toto Statement v1 as canonical JSON (frozen, docs/formats.md section 11).

A statement says one thing about named digests. What it says lies in `body`; around
it stand the facts that tie it to one place in one ledger: the log, the signer, the
signer's own count, and the tree head that the signer had seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lineage.clock import parse_time, time_text
from lineage.digest import Digest, canonical_json
from lineage.errors import ConfigError, IntegrityError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_URI_START, _URI_END = "urn:shardline:predicate:", ":v1"
PREDICATES = frozenset(
    (
        "genesis",
        "principal",
        "source",
        "build",
        "version",
        "verdict",
        "approval",
        "grant",
        "revoke",
        "access",
        "refusal",
        "run",
        "consumption",
        "checkpoint",
        "deployment",
        "move",
        "hold",
        "expire",
        "erase",
        "export",
        "key-rotation",
        "recovery",
    )
)


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a statement is about.

    Attributes:
        name: a name for people, such as ``corpus@v3``; never a path or a text.
        digest: of the thing itself.
        extra: fields of other writers, kept as they were.
    """

    name: str
    digest: Digest
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statement:
    """One in-toto statement.

    Attributes:
        predicate_type: a URI, see `predicate_uri`.
        subjects: one or more.
        predicate: the claim; integers read back as decimal strings.
        extra: fields of other writers, kept as they were.
    """

    predicate_type: str
    subjects: tuple[Subject, ...]
    predicate: Mapping[str, object]
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """The predicate of every statement of ours.

    Attributes:
        log_id: 32 hex digits.
        principal: id of the first signer.
        sequence: 1 for a principal's first statement in this log, then gapless.
        seen_size: leaves of the tree head that the signer had seen.
        seen_root: its root.
        time: UTC, whole seconds.
        body: the claim itself.
    """

    log_id: str
    principal: str
    sequence: int
    seen_size: int
    seen_root: Digest
    time: datetime
    body: Mapping[str, object]

    def predicate(self) -> dict[str, object]:
        """The claim as JSON values."""
        return {
            "log_id": self.log_id,
            "principal": self.principal,
            "sequence": self.sequence,
            "seen": {"size": self.seen_size, "root": self.seen_root},
            "time": time_text(self.time),
            "body": self.body,
        }


def predicate_uri(name: str) -> str:
    """The predicate type of a name.

    Raises:
        ConfigError: this version writes no such predicate.
    """
    if name not in PREDICATES:
        raise ConfigError(f"no predicate is called {name!r}", "see docs/formats.md, section 12")
    return _URI_START + name + _URI_END


def predicate_name(uri: str) -> str:
    """The short name of one of our predicate types, known or not; another URI as it is."""
    if uri.startswith(_URI_START) and uri.endswith(_URI_END):
        return uri[len(_URI_START) : -len(_URI_END)]
    return uri


def statement_bytes(statement: Statement) -> bytes:
    """The canonical JSON of a statement.

    Raises:
        ConfigError: it has no subject, or holds a float or another value without identity.
    """
    if not statement.subjects:
        raise ConfigError("a statement names one subject or more")
    document = {
        **statement.extra,
        "_type": STATEMENT_TYPE,
        "subject": [_subject_json(subject) for subject in statement.subjects],
        "predicateType": statement.predicate_type,
        "predicate": statement.predicate,
    }
    try:
        return canonical_json(document)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"a statement cannot be written: {error}") from None


def parse_statement(data: bytes) -> Statement:
    """Reads a statement; unknown fields and predicate types survive.

    Raises:
        IntegrityError: the bytes are no in-toto Statement v1 with SHA-256 subjects.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise IntegrityError("a statement is not JSON") from None
    fields = dict(_mapping(document, "statement"))
    if fields.pop("_type", None) != STATEMENT_TYPE:
        raise IntegrityError("not an in-toto Statement v1")
    subjects = fields.pop("subject", None)
    if not isinstance(subjects, list) or not subjects:
        raise IntegrityError("a statement names no subject")
    return Statement(
        predicate_type=_text(fields.pop("predicateType", None), "predicateType"),
        subjects=tuple(_parse_subject(subject) for subject in subjects),
        predicate=_mapping(fields.pop("predicate", None), "predicate"),
        extra=fields,
    )


def claim_of(statement: Statement) -> Claim:
    """The claim in a statement of ours.

    Raises:
        IntegrityError: a field is missing or has another form.
    """
    predicate = statement.predicate
    seen = _mapping(predicate.get("seen"), "seen")
    return Claim(
        log_id=_text(predicate.get("log_id"), "log_id"),
        principal=_text(predicate.get("principal"), "principal"),
        sequence=_count(predicate.get("sequence"), "sequence"),
        seen_size=_count(seen.get("size"), "seen.size"),
        seen_root=Digest.parse(_text(seen.get("root"), "seen.root")),
        time=parse_time(_text(predicate.get("time"), "time")),
        body=_mapping(predicate.get("body"), "body"),
    )


def _subject_json(subject: Subject) -> dict[str, object]:
    others = _mapping(subject.extra.get("digest", {}), "digest")
    digests = {**others, "sha256": subject.digest.hex}
    return {**subject.extra, "name": subject.name, "digest": digests}


def _parse_subject(value: object) -> Subject:
    fields = dict(_mapping(value, "subject"))
    digests = dict(_mapping(fields.pop("digest", None), "digest"))
    digest = Digest.parse("sha256:" + _text(digests.pop("sha256", None), "sha256"))
    if digests:
        fields["digest"] = digests
    return Subject(_text(fields.pop("name", None), "name"), digest, fields)


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise IntegrityError(f"a statement has no {name}, or it is not an object")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise IntegrityError(f"a statement has no {name}, or it is not text")
    return value


def _count(value: object, name: str) -> int:
    text = _text(value, name)
    # At most 20 digits: what fits 64 bits, and nothing that int() takes long to read.
    if not (text.isascii() and text.isdecimal() and len(text) <= 20 and str(int(text)) == text):
        raise IntegrityError(f"{name} in a statement is not a count")
    return int(text)
