from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError
from pipelines.ingest.fields import FieldMap, fields_of, template_of, value_of
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec


def source(**fields: str) -> SourceSpec:
    return SourceSpec("wiki", "a.jsonl", "jsonl", "MIT", "user", "2026-01", **fields)


def text(record: dict[str, Any], template: str) -> str:
    return FieldMap(source(text=template)).document(record).text.decode()


def refusal(record: dict[str, Any], **fields: str) -> str:
    with pytest.raises(Refused) as raised:
        FieldMap(source(**fields)).document(record)
    return raised.value.reason


def test_a_plain_name_a_path_and_a_template() -> None:
    record = {"a": "one", "b": {"c": {"d": "two"}}, "b.c": {"d": "three"}, "x.y": "four"}
    assert text(record, "a") == "one"
    assert text(record, "b.c.d") == "two"
    assert text(record, "x.y") == "four"
    assert text(record, "{a}\n\n{b.c.d} {{{x.y}}}") == "one\n\ntwo {four}"


def test_a_place_in_a_template_may_be_empty_as_long_as_another_has_text() -> None:
    assert text({"a": None, "b": "B"}, "{a}-{b}-{c}") == "-B-"
    assert refusal({"a": None, "b": ""}, text="{a}-{b}-{c}") == "text_missing"
    assert refusal({"a": "A", "b": 3}, text="{a}-{b}") == "text_not_a_string"


def test_a_path_that_leads_through_no_object_is_missing() -> None:
    values: list[Any] = [None, "b", 3, ["b"], [{"b": "c"}], {}]
    for value in values:
        assert refusal({"a": value}, text="a.b") == "text_missing"
    assert refusal({"a": {"b": None}}, text="a.b") == "text_null"
    assert refusal({"a": {"b": {}}}, text="a.b") == "text_not_a_string"


@pytest.mark.parametrize(
    ("template", "place"), [("{a", 0), ("a}", 1), ("{}", 0), ("{a} {b {c}}", 4), ("{a}}", 3)]
)
def test_a_brace_that_does_not_pair_up_is_an_error(template: str, place: int) -> None:
    with pytest.raises(ConfigError, match=f"cannot be read at character {place}"):
        FieldMap(source(text=template))


def test_a_template_of_no_field_is_an_error() -> None:
    with pytest.raises(ConfigError, match="names no field"):
        template_of("{{a}}")


def test_no_document_is_lost_for_its_address_or_its_licence() -> None:
    fields = FieldMap(source(url="m.u", record_licence="l"))
    told = fields.document({"text": "t", "m": {"u": "https://a.example/"}, "l": "MIT"}).told
    assert (told.url, told.licence) == ("https://a.example/", "MIT")
    for url, licence in ((None, ["MIT", "BSD"]), ({"u": 1}, 3), ("x", True)):
        told = fields.document({"text": "t", "m": url, "l": licence}).told
        assert (told.url, told.licence) == (None, None)


def test_all_fields_of_a_source_are_known() -> None:
    spec = source(text="{a} {b.c}", id="i", url="u", record_licence="l")
    assert fields_of(spec) == ["a", "b.c", "i", "u", "l"]
    assert fields_of(source()) == ["text"]


@given(
    st.lists(st.tuples(st.text("ab{}\n. é", max_size=6), st.text("xyz", min_size=1)), min_size=1),
    st.text("ab{}", max_size=4),
)
@settings(deadline=None, max_examples=100)
def test_a_template_written_with_doubled_braces_is_read_back(
    parts: list[tuple[str, str]], last: str
) -> None:
    def doubled(literal: str) -> str:
        return literal.replace("{", "{{").replace("}", "}}")

    template = "".join(doubled(literal) + "{" + field + "}" for literal, field in parts)
    record = {field: field * 2 for _, field in parts}
    wanted = "".join(literal + field * 2 for literal, field in parts) + last
    assert text(record, template + doubled(last)) == wanted


@given(st.recursive(st.none() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
@settings(deadline=None, max_examples=50)
def test_a_path_never_fails(value: Any) -> None:
    assert value_of({"a": value}, "a.b.c", "no") in ("no", None) or isinstance(value, dict)
