from __future__ import annotations

import json
from pathlib import Path

from lineage.digest import Digest, digest_of
from pipelines.clean.nfc import Nfc
from pipelines.decontamination.act import Decontamination
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.rules.decide import rules_transform
from pipelines.rules.rule import OneOf, Rule, Side
from pipelines.spec.decontamination import decontamination_spec
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


def test_the_rules_are_one_transform_of_all_thresholds() -> None:
    rules = (
        Rule("min_chars", "num_chars", Side.MIN, 1),
        Rule("words", "num_words", Side.MAX, None, {"zh": 9, "ja": None}),
        OneOf("language.allowed", "language", ("en", "pt")),
    )
    transform = rules_transform(rules)
    assert transform.parameters == {
        "min_chars": "num_chars >= 1",
        "words": None,
        "words[zh]": "num_words <= 9",
        "words[ja]": None,
        "language.allowed": "language in en pt",
    }
    assert rules_transform(rules[1:]).digest() != transform.digest()


def test_what_cleaning_does_to_the_probe_is_that_of_the_vector(tmp_path: Path) -> None:
    vector = json.loads(VECTORS.read_text())
    rule = Rule("min_chars", "num_chars", Side.MIN, 1)
    (tmp_path / "a.txt").write_text("an item of eight words or perhaps of nine", encoding="utf-8")
    looking = Decontamination(decontamination_spec({"sets": ["a.txt"]}, "a.toml"), tmp_path)
    transforms = (Nfc().transform(), rules_transform([rule]), looking.transform())
    assert looking.transform().parameters == vector["decontamination_parameters"]
    found = {t.name: str(t.behaviour) for t in transforms}
    assert found == vector["clean_behaviours"]
