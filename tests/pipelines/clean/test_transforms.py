from __future__ import annotations

import json
from pathlib import Path

from lineage.digest import Digest, digest_of
from pipelines.clean.clean import clean_transforms
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.dataset import CleanSpec
from pipelines.transform import Transform

VECTORS = Path(__file__).parents[2] / "vectors" / "transform.json"


def test_the_probe_texts_and_their_framing_are_those_of_the_vector() -> None:
    vector = json.loads(VECTORS.read_text())
    assert len(PROBE_TEXTS) == vector["num_probe_texts"]
    assert str(behaviour_of(text.encode() for text in PROBE_TEXTS)) == vector["identity_behaviour"]
    assert str(behaviour_of([b"a", b""])) == vector["behaviour_of_a_and_empty"]


def test_a_transforms_digest_is_that_of_the_vector() -> None:
    vector = json.loads(VECTORS.read_text())
    behaviour = Digest.parse(vector["behaviour_of_a_and_empty"])
    transform = Transform("example", 3, {"form": "NFC", "limit": 2**63, "none": None}, behaviour)
    assert str(transform.digest()) == vector["example_digest"]


def test_every_field_counts_in_the_digest() -> None:
    behaviour = digest_of(b"x")
    transforms = [
        Transform("a", 1, {"n": 1}, behaviour),
        Transform("b", 1, {"n": 1}, behaviour),
        Transform("a", 2, {"n": 1}, behaviour),
        Transform("a", 1, {"n": 2}, behaviour),
        Transform("a", 1, {"n": 1, "m": None}, behaviour),
        Transform("a", 1, {"n": 1}, digest_of(b"y")),
    ]
    digests = {transform.digest() for transform in transforms}
    assert len(digests) == 6


def test_the_transforms_of_a_spec_follow_its_parameters() -> None:
    both = clean_transforms(CleanSpec(max_chars=100))
    assert [transform.name for transform in both] == ["nfc", "length"]
    assert both[1].parameters == {"min_chars": 1, "max_chars": 100}
    assert clean_transforms(CleanSpec(normalize="none", max_chars=100)) == both[1:]
    assert clean_transforms(CleanSpec(max_chars=101))[1].digest() != both[1].digest()


def test_what_cleaning_does_to_the_probe_is_that_of_the_vector() -> None:
    vector = json.loads(VECTORS.read_text())
    found = {t.name: str(t.behaviour) for t in clean_transforms(CleanSpec(max_chars=100))}
    assert found == vector["clean_behaviours"]
