"""The act decontamination, from files of a workspace to a decision that names an item."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from lineage.errors import ConfigError
from pipelines.decontamination.act import Decontamination, decontamination_rules
from pipelines.decontamination.recall import Recall
from pipelines.rules.decide import decide
from pipelines.spec.decontamination import DecontaminationSpec, decontamination_spec
from tests.pipelines.decontamination.evaluation import OTHER, QUESTION, column, sample_texts


def act(root: Path, *items: str, **given: object) -> tuple[Decontamination, DecontaminationSpec]:
    (root / "evals").mkdir(exist_ok=True)
    lines = "".join(json.dumps({"text": item}) + "\n" for item in items)
    (root / "evals" / "a.jsonl").write_text(lines, encoding="utf-8")
    spec = decontamination_spec({"sets": ["evals/*.jsonl"], **given}, "a.toml")
    return Decontamination(spec, root), spec


def test_a_contaminated_document_is_dropped_and_its_item_named(tmp_path: Path) -> None:
    found, spec = act(tmp_path, OTHER, QUESTION)
    texts = column("A page of its own.", f"Homework:\n{QUESTION.upper()}", *sample_texts("udhr", 5))
    effect = found.apply(pa.table({"text": texts}))
    assert effect.signals["eval_item"].to_pylist() == [None, "evals/a.jsonl:2", *[None] * 5]
    assert effect.signals["eval_coverage"].to_pylist() == [0, 1_000_000, *[0] * 5]
    assert effect.signals["eval_ngrams"][1].as_py() > 10
    assert len(effect.places) == 0
    signals = pa.table({name: effect.signals[name] for name in ("eval_coverage",)})
    judged = decide(signals, decontamination_rules(spec))
    assert judged.rule.tolist() == [-1, 0, *[-1] * 5]
    assert judged.threshold[1] == 200_000


def test_the_columns_are_those_it_gives(tmp_path: Path) -> None:
    found, _ = act(tmp_path, QUESTION)
    effect = found.apply(pa.table({"text": column("a")}))
    assert [(c.name, c.type) for c in found.columns] == [
        (name, values.type) for name, values in effect.signals.items()
    ]


def test_items_and_n_grams_are_its_identity_and_the_threshold_is_not(tmp_path: Path) -> None:
    first = act(tmp_path, QUESTION)[0].transform().digest()
    assert act(tmp_path, QUESTION)[0].transform().digest() == first
    assert act(tmp_path, QUESTION, max_coverage=0.9)[0].transform().digest() == first
    others = {
        act(tmp_path, QUESTION, words=12)[0].transform().digest(),
        act(tmp_path, QUESTION, min_words=9)[0].transform().digest(),
        act(tmp_path, QUESTION, max_items=9)[0].transform().digest(),
        act(tmp_path, QUESTION, OTHER)[0].transform().digest(),
    }
    assert len(others - {first}) == 4


def test_the_evaluation_tells_items_and_recall_by_mutation(tmp_path: Path) -> None:
    found, _ = act(tmp_path, QUESTION, OTHER, "Yes.")
    told = found.evaluation(column(*sample_texts("udhr", 10)), seed=1)
    assert told.recall["embedded"] == Recall(found=10, injected=10)
    assert told == found.evaluation(column(*sample_texts("udhr", 10)), seed=1)
    assert (told.counts.items, told.counts.indexed, told.counts.too_short) == (3, 2, 1)


def test_sets_without_an_item_of_any_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="long enough"):
        act(tmp_path, "Yes.", "No.")
