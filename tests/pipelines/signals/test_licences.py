"""Licences: what people write is read, and the policy is kept."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lineage.errors import ConfigError
from pipelines.signals.licences import ALLOWED, DENIED, UNKNOWN, Licences, licence_rules, spdx_of
from pipelines.spec.licences import LicencesSpec, licences_spec


@pytest.mark.parametrize(
    ("word", "spdx"),
    [
        ("mit", "MIT"),
        ("MIT License", "MIT"),
        ("Apache 2.0", "Apache-2.0"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("CC BY-SA 4.0", "CC-BY-SA-4.0"),
        ("cc-by-nc-nd-3.0", "CC-BY-NC-ND-3.0"),
        ("https://creativecommons.org/licenses/by-sa/4.0/deed.pt", "CC-BY-SA-4.0"),
        ("http://www.creativecommons.org/licenses/by/2.5/", "CC-BY-2.5"),
        ("//creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("gpl-2.0-only or mit", "GPL-2.0-only OR MIT"),
        ("all rights reserved", None),
        ("see LICENSE", None),
        ("", None),
    ],
)
def test_what_people_write_is_read(word: str, spdx: str | None) -> None:
    assert spdx_of(word) == spdx


def judged(spec: LicencesSpec, *words: str | None, source: str = "MIT") -> list[int]:
    documents = pa.table(
        {
            "licence": pa.array(words, pa.string()),
            "source": pa.array(["web"] * len(words), pa.string()),
        }
    )
    found: list[int] = (
        Licences(spec, {"web": source}).apply(documents).signals["licence_status"].to_pylist()
    )
    return found


def test_one_side_of_an_or_has_to_be_allowed_and_both_of_an_and() -> None:
    spec = LicencesSpec(allowed=("MIT", "GPL-2.0-only"))
    words = ("MIT", "ISC", "MIT OR ISC", "MIT AND ISC", "(MIT OR ISC) AND GPL-2.0-only")
    assert judged(spec, *words) == [ALLOWED, DENIED, ALLOWED, DENIED, ALLOWED]


def test_what_is_denied_is_denied_and_all_else_is_allowed() -> None:
    spec = LicencesSpec(denied=("GPL-2.0-only",))
    words = ("MIT", "GPL-2.0-only", "GPL-2.0-only WITH Classpath-exception-2.0", "nobody knows")
    assert judged(spec, *words) == [ALLOWED, DENIED, DENIED, UNKNOWN]


def test_a_records_own_word_goes_before_that_of_its_source() -> None:
    spec = LicencesSpec(allowed=("MIT",))
    assert judged(spec, None, "ISC", "MIT", source="MIT") == [ALLOWED, DENIED, ALLOWED]
    assert judged(spec, None, "MIT", source="ISC") == [DENIED, ALLOWED]


def test_unknown_ones_are_dropped_by_a_rule_of_their_own_where_they_are() -> None:
    assert [rule.name for rule in licence_rules(LicencesSpec(("MIT",)))] == ["licences.denied"]
    both = licence_rules(LicencesSpec(("MIT",), unknown="drop"))
    assert [(rule.name, rule.threshold) for rule in both] == [
        ("licences.denied", UNKNOWN),
        ("licences.unknown", ALLOWED),
    ]


def test_another_policy_is_another_act() -> None:
    one = Licences(LicencesSpec(("MIT",)), {"web": "MIT"}).transform()
    two = Licences(LicencesSpec(("ISC",)), {"web": "MIT"}).transform()
    assert one.behaviour != two.behaviour


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "neither allowed nor denied"),
        ({"allowed": ["Nope-1.0"]}, "is not in the SPDX list"),
        ({"allowed": ["MIT OR ISC"]}, "is more than one licence"),
        ({"allowed": ["MIT"], "unknown": "maybe"}, "'maybe' is none of keep, drop"),
        ({"allow": ["MIT"]}, "unknown key 'allow'"),
    ],
)
def test_a_slip_is_an_error(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        licences_spec(table, "news.toml")


def test_names_are_spelled_as_spdx_spells_them() -> None:
    assert licences_spec({"allowed": ["mit", "cc-by-4.0"]}, "n").allowed == ("MIT", "CC-BY-4.0")
