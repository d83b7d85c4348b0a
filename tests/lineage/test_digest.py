"""Digests, canonical JSON and framing: frozen, exact, and without two readings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest, canonical_json, digest_of, digest_of_file, frame
from lineage.errors import IntegrityError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "ids.json").read_text())
quick = settings(deadline=None, max_examples=60)
parts = st.lists(st.binary(max_size=12), max_size=5)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("vector", VECTORS["digests"])
def test_a_digest_is_sha256_with_its_name_before_it(vector: dict[str, str]) -> None:
    assert str(digest_of(bytes.fromhex(vector["data"]))) == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS["frames"])
def test_framing_is_frozen(vector: dict[str, Any]) -> None:
    assert frame(*map(bytes.fromhex, vector["parts"])).hex() == vector["framed"]


@pytest.mark.parametrize("vector", VECTORS["canonical_json"])
def test_canonical_json_is_frozen(vector: dict[str, Any]) -> None:
    assert canonical_json(vector["value"]) == vector["bytes"].encode()


@quick
@given(parts, parts)
def test_two_lists_of_parts_never_give_the_same_bytes(
    left: list[bytes], right: list[bytes]
) -> None:
    assert (frame(*left) == frame(*right)) == (left == right)


@quick
@given(st.dictionaries(st.text(max_size=5), values, max_size=6))
def test_the_order_of_keys_makes_no_difference(value: dict[str, Any]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@quick
@given(values)
def test_what_was_written_reads_back_and_writes_the_same_again(value: Any) -> None:
    written = canonical_json(value)
    assert canonical_json(json.loads(written)) == written


@quick
@given(st.integers(-(2**70), 2**70))
def test_an_integer_stands_as_a_decimal_string_of_any_size(number: int) -> None:
    assert json.loads(canonical_json({"n": number})) == {"n": str(number)}


@pytest.mark.parametrize("value", [1.0, float("nan"), b"bytes", {1: "a"}, {"a": [{2.5}]}, object()])
def test_values_without_an_identity_are_refused(value: object) -> None:
    with pytest.raises(TypeError, match="canonical JSON"):
        canonical_json(value)


def test_a_lone_surrogate_has_no_canonical_bytes() -> None:
    with pytest.raises(ValueError):
        canonical_json("\ud800")


def test_a_digest_stands_in_json_as_its_text() -> None:
    digest = digest_of(b"x")
    assert canonical_json([digest]) == f'["{digest}"]'.encode()


def test_the_text_of_a_digest_reads_back() -> None:
    digest = digest_of(b"x")
    assert Digest.parse(str(digest)) == digest
    assert Digest(digest.raw).hex == str(digest).removeprefix("sha256:")


GOOD = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    "text",
    ["", GOOD[7:], GOOD.upper(), GOOD[:-1], GOOD + "0", "md5:" + "ab" * 32, GOOD[:-1] + "g",
     "sha256:" + " " + "ab" * 31 + "a", GOOD[:-2] + "\u0661\u0661"],
)  # fmt: skip
def test_any_other_text_is_no_digest(text: str) -> None:
    with pytest.raises(IntegrityError, match="not a digest"):
        Digest.parse(text)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_digest_has_32_bytes(length: int) -> None:
    with pytest.raises(IntegrityError, match="32 bytes"):
        Digest(bytes(length))


def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path) -> None:
    data = os.urandom((1 << 20) + 17)
    (tmp_path / "file").write_bytes(data)
    assert digest_of_file(tmp_path / "file") == digest_of(data)
