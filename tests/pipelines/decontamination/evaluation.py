"""Evaluation items and documents that the stories share."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from pipelines.decontamination.index import EvalIndex
from pipelines.decontamination.measure import Overlaps, measure
from pipelines.spec.decontamination import DecontaminationSpec, EvalSetSpec

SAMPLE = Path(__file__).parents[3] / "shardline" / "data" / "sample"

QUESTION = (
    "A farmer sells forty-two eggs on Monday, half as many on Tuesday, and keeps the rest for "
    "her three neighbours' children. How many eggs does each child get if she began with ninety?"
)
OTHER = (
    "The lighthouse keeper writes down every ship that passes between dusk and dawn; on the "
    "longest night of the year he counted seventeen, and none of them came back in spring."
)
CHINESE = "小明有四十二个鸡蛋,星期一卖掉一半,星期二又卖掉剩下的三分之一,请问他最后还剩下多少个鸡蛋?"
THAI = "ชาวนาคนหนึ่งขายไข่ไก่สี่สิบสองฟองในวันจันทร์และขายอีกครึ่งหนึ่งในวันอังคารเขาเหลือไข่กี่ฟอง"


def column(*texts: str) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def spec(**given: int) -> DecontaminationSpec:
    return DecontaminationSpec((EvalSetSpec("evals/a.jsonl", "jsonl", ("text",)),), **given)


def index(*items: str, **given: int) -> EvalIndex:
    return EvalIndex.build(column(*items), spec(**given))


def coverage(text: str, found: EvalIndex) -> int:
    return int(measure(column(text), found).coverage[0])


def rows(found: Overlaps) -> list[tuple[int, int, int]]:
    columns = (found.coverage.tolist(), found.ngrams.tolist(), found.item.tolist())
    return list(zip(*columns, strict=True))


def sample_texts(name: str, num: int = 40) -> list[str]:
    lines = (SAMPLE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:num]
    return [json.loads(line)["text"] for line in lines]
