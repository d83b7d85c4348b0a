"""The section of the spec, and the act that does what it says."""

from __future__ import annotations

import hashlib
import json
import tomllib

import pyarrow as pa
import pytest

from lineage.digest import canonical_json
from lineage.errors import ConfigError
from pipelines.clean.act import FINDINGS
from pipelines.personal.act import Personal, rules_of
from pipelines.personal.probe import OWN_PROBE_TEXTS
from pipelines.personal.registry import KINDS
from pipelines.rules.rule import Rule, Side
from pipelines.spec.personal import NOTHING_PERSONAL, PersonalSpec, personal_spec
from pipelines.spec.section import section_json

OWN = """
[[personal.kinds]]
name = "staff"
pattern = "EMP-[0-9]{6}"
literal = "EMP-"
"""


def spec_of(toml: str) -> PersonalSpec:
    return personal_spec(tomllib.loads(toml)["personal"], "web.toml")


def table_of(*texts: str) -> pa.Table:
    ids = [hashlib.sha256(text.encode()).digest() for text in texts]
    return pa.table(
        {
            "text": pa.array(texts, pa.large_string()),
            "document_id": pa.array(ids, pa.binary(32)),
        }
    )


def test_actions_come_in_the_order_of_the_registry_and_own_kinds_first() -> None:
    spec = spec_of('[personal]\nip = "count"\nemail = "redact"\nstaff = "drop"\n' + OWN)
    assert spec.actions == (("staff", "drop"), ("email", "redact"), ("ip", "count"))
    assert [kind.name for kind in spec.kinds()] == ["staff", "email", "ip"]
    assert json.loads(canonical_json(section_json(spec)))["own"][0]["literal"] == "EMP-"


def test_the_stronger_action_wins_where_kinds_overlap() -> None:
    spec = spec_of('[personal]\nemail = "count"\nip = "drop"\ncard = "redact"')
    assert [kind.name for kind in spec.kinds()] == ["ip", "card", "email"]


def test_an_empty_section_does_nothing() -> None:
    assert spec_of("[personal]") == NOTHING_PERSONAL
    assert rules_of(NOTHING_PERSONAL) == ()


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ('[personal]\nemial = "redact"', "unknown key 'emial'"),
        ('[personal]\nemail = "remove"', "none of drop, redact, count"),
        ("[personal]\nemail = true", "a string was expected"),
        ("[personal]\n" + OWN, "'staff' has no action"),
        ('[personal]\nstaff = "drop"\n' + OWN + OWN, "stands twice"),
        ("[personal]\nkinds = 3", "a list of tables"),
        ('[[personal.kinds]]\nname = "email"\npattern = "a"\nliteral = "aa"', "built in"),
        ('[[personal.kinds]]\nname = "Staff"\npattern = "a"\nliteral = "aa"', "no name of a kind"),
        ('[[personal.kinds]]\nname = "staff"\npattern = "a"', "literal and digits"),
        (OWN + "digits = 6", "literal and digits"),
        (OWN + 'check = "crc"', "none of luhn"),
        (OWN.replace("EMP-[", "(EMP)-["), "not understood"),
        (OWN.replace("pattern", "regex"), "unknown key 'regex'"),
    ],
)
def test_a_slip_in_the_section_is_refused(toml: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        spec_of(toml)


def test_documents_are_counted_redacted_and_shown_masked() -> None:
    act = Personal(spec_of('[personal]\nemail = "redact"\ncard = "drop"\nip = "count"'))
    documents = table_of("a@example.org b@example.org ip 8.20.30.40", "4111 1111 1111 1111", "")
    effect = act.apply(documents)
    assert effect.places.tolist() == [0]
    assert effect.texts.to_pylist() == ["<EMAIL> <EMAIL> ip 8.20.30.40"]
    assert [field.name for field in act.columns] == [*effect.signals]
    assert {name: column.to_pylist() for name, column in effect.signals.items()} == {
        "personal_card": [0, 1, 0],
        "personal_email": [2, 0, 0],
        "personal_ip": [1, 0, 0],
    }
    assert effect.findings is not None and effect.findings.schema == FINDINGS
    assert effect.findings["masked"].to_pylist() == [
        "4*** **** **** **11",
        "a***@e***.org",
        "8.*.*.*",
    ]


def test_dropping_is_a_rule_on_the_count() -> None:
    spec = spec_of('[personal]\nemail = "redact"\ncard = "drop"\nstaff = "drop"\n' + OWN)
    assert rules_of(spec) == (
        Rule("personal.staff", "personal_staff", Side.MAX, 0),
        Rule("personal.card", "personal_card", Side.MAX, 0),
    )


def test_the_transform_changes_with_what_is_looked_for_and_what_is_redacted() -> None:
    specs = [
        '[personal]\nemail = "redact"',
        '[personal]\nemail = "count"',
        '[personal]\nemail = "redact"\nip = "count"',
        '[personal]\nemail = "redact"\nstaff = "count"\n' + OWN,
        '[personal]\nemail = "redact"\nstaff = "count"\n' + OWN.replace("{6}", "{7}"),
    ]
    transforms = [Personal(spec_of(toml)).transform() for toml in specs]
    assert len({transform.digest() for transform in transforms}) == len(specs)
    assert transforms[0] == Personal(spec_of(specs[0])).transform()
    assert transforms[0].name == "personal"


def test_every_text_of_the_probe_shows_what_it_is_there_for() -> None:
    everything = "".join(f'{name} = "count"\n' for name in KINDS)
    act = Personal(spec_of("[personal]\n" + everything))
    effect = act.apply(table_of(*OWN_PROBE_TEXTS))
    assert all(sum(column.to_pylist()) > 0 for column in effect.signals.values())
