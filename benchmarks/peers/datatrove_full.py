#!/usr/bin/env python3
"""Rules, near duplicates and tokens, done by datatrove.

    datatrove_full.py INPUT_DIR TOKENIZER_JSON OUT_DIR [--workers N]

As its own examples do it: Gopher's repetition and quality filters with their defaults, then
MinHash in four stages (words of 5, 14 buckets of 8 hashes), then tokens with an end token
after each document. Prints one JSON line; MB count the bytes of the input's files (10^6),
seconds are wall time a stage, the start of its worker processes included. What it does not
do: verify pairs on the text, quarantine, decisions, ids, sealing, versions, a ledger.
"""

import argparse
import json
import time
from pathlib import Path

BUCKETS, ROWS, WORDS = 14, 8, 5


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("input", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--end-of-document", default="<|endoftext|>")
    found = parser.parse_args()
    if found.out.exists() and any(found.out.iterdir()):
        parser.error("the output folder is not empty")
    return found


def pipelines(options: argparse.Namespace) -> dict[str, tuple[int, list]]:
    """The stages by name: number of tasks, and the steps of each."""
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    from datatrove.pipeline.writers import JsonlWriter

    config = MinhashConfig(n_grams=WORDS, num_buckets=BUCKETS, hashes_per_bucket=ROWS)

    def folder(name: str) -> str:
        return str(options.out / name)

    def read(name: str) -> JsonlReader:
        return JsonlReader(folder(name))

    tokenize = DocumentTokenizer(
        folder("tokens"),
        tokenizer_name_or_path=str(options.tokenizer),
        eos_token=options.end_of_document,
    )
    rules = [
        JsonlReader(str(options.input), glob_pattern="*.jsonl"),
        GopherRepetitionFilter(),
        GopherQualityFilter(),
        JsonlWriter(folder("clean")),
    ]
    many = options.workers
    near = [read("clean"), MinhashDedupFilter(folder("remove")), JsonlWriter(folder("unique"))]
    return {
        "rules": (many, rules),
        "signature": (many, [read("clean"), MinhashDedupSignature(folder("hashes"), config)]),
        "buckets": (
            BUCKETS,
            [MinhashDedupBuckets(folder("hashes"), folder("pairs"), config=config)],
        ),
        "cluster": (1, [MinhashDedupCluster(folder("pairs"), folder("remove"), config=config)]),
        "filter": (many, near),
        "tokenize": (many, [read("unique"), tokenize]),
    }


def counted(logs: Path) -> dict[str, int]:
    """Documents after each filter, and tokens, from the statistics that datatrove keeps."""
    found: dict[str, int] = {}
    for name in ("rules", "filter", "tokenize"):
        for step in json.loads((logs / name / "stats.json").read_text()):
            totals = {
                key: value["total"] if isinstance(value, dict) else value
                for key, value in step["stats"].items()
            }
            if "dropped" in totals or "forwarded" in totals:
                found.setdefault("documents_in", totals["total"])
                key = "documents_out" if name == "filter" else "documents_passed"
                found[key] = totals.get("forwarded", 0)
            found["tokens"] = totals.get("tokens", found.get("tokens", 0))
    return found


def main() -> None:
    options = arguments()
    from datatrove.executor import LocalPipelineExecutor

    seconds = {}
    for name, (tasks, steps) in pipelines(options).items():
        begun = time.perf_counter()
        LocalPipelineExecutor(
            pipeline=steps,
            tasks=tasks,
            workers=min(tasks, options.workers),
            logging_dir=str(options.out / "logs" / name),
        ).run()
        seconds[name] = round(time.perf_counter() - begun, 3)
    megabytes = sum(file.stat().st_size for file in options.input.glob("*.jsonl")) / 1e6
    total = sum(seconds.values())
    result = {
        "peer": "datatrove",
        "workers": options.workers,
        "input_mb": round(megabytes, 3),
        "stage_s": seconds,
        "total_s": round(total, 3),
        "mb_per_s": round(megabytes / total, 3),
        **counted(options.out / "logs"),
    }
    print(json.dumps(result))


if __name__ == "__main__":  # the executor's workers import this file again
    main()
