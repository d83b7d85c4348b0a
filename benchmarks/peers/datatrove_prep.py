#!/usr/bin/env python3
"""The work of `shardline build`, done by datatrove.

    datatrove_prep.py INPUT_DIR TOKENIZER_JSON OUT_DIR [--workers N] [--seed N]

As its own examples do it: read JSON Lines, drop exact duplicates of the text (ExactDedup:
signatures, find, filter), tokenize with an end token after each document and shuffle the
documents within each file (DocumentTokenizer), then shuffle all documents into the final
files (DocumentTokenizerMerger).

Prints one JSON line. MB count the bytes of the input's files (10^6); seconds are wall time a
stage, the start of its worker processes included. What it does not do: NFC, quarantine,
decisions, ids, sealing, hashing of what it wrote, versions, a ledger.
"""

import argparse
import json
import time
from pathlib import Path

# The text's 64-bit hash names a duplicate. One part a bucket keeps "find" parallel too.
FIND_TASKS = 2


def text_of(document) -> str:
    """What ExactDedup compares; it reads the annotation."""
    return document.text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("input", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--end-of-document", default="<|endoftext|>")
    found = parser.parse_args()
    if found.out.exists() and any(found.out.iterdir()):
        parser.error("the output folder is not empty")
    return found


def pipelines(options: argparse.Namespace) -> dict[str, tuple[int, list]]:
    """The stages by name: number of tasks, and the steps of each."""
    from datatrove.pipeline.dedup import (
        ExactDedupConfig,
        ExactDedupFilter,
        ExactDedupSignature,
        ExactFindDedups,
    )
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer, DocumentTokenizerMerger

    config = ExactDedupConfig(content_getter=text_of)

    def folder(name: str) -> str:
        return str(options.out / name)

    def reader() -> JsonlReader:
        return JsonlReader(str(options.input), glob_pattern="*.jsonl")

    files = len(list(options.input.glob("*.jsonl")))
    signature = ExactDedupSignature(folder("signatures"), config, finder_workers=FIND_TASKS)
    find = ExactFindDedups(folder("signatures"), folder("duplicates"), config)
    tokenize = DocumentTokenizer(
        folder("tokens"),
        tokenizer_name_or_path=str(options.tokenizer),
        eos_token=options.end_of_document,
        seed=options.seed,
    )
    merge = DocumentTokenizerMerger(
        folder("tokens"),
        folder("merged"),
        save_filename="shuffled",
        seed=options.seed,
        progress=False,
    )
    return {
        "signature": (files, [reader(), signature]),
        "find": (FIND_TASKS, [find]),
        "filter_and_tokenize": (
            files,
            [reader(), ExactDedupFilter(folder("duplicates"), config), tokenize],
        ),
        "shuffle": (1, [merge]),
    }


def counted(logs: Path) -> dict[str, int]:
    """Documents in and out and tokens, from the statistics that datatrove keeps itself."""
    found = {"documents_in": 0, "documents_out": 0, "tokens": 0}
    for step in json.loads((logs / "filter_and_tokenize" / "stats.json").read_text()):
        totals = {
            name: value["total"] if isinstance(value, dict) else value
            for name, value in step["stats"].items()
        }
        if "dropped" in totals or "forwarded" in totals:
            found["documents_in"] = totals["total"]
            found["documents_out"] = totals["forwarded"]
        found["tokens"] = totals.get("tokens", found["tokens"])
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
        "token_bytes": sum(file.stat().st_size for file in (options.out / "merged").glob("*.ds")),
    }
    print(json.dumps(result))


if __name__ == "__main__":  # the executor's workers import this file again
    main()
