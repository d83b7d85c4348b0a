#!/usr/bin/env python3
"""What one core of a peer does.

    one_core.py minhash INPUT_DIR     datatrove: signatures of the rows of *.jsonl
    one_core.py html PAGES_DIR        trafilatura: the text of *.html

Prints one JSON line: bytes of text or of pages, and the seconds of the work alone, without
imports and reading.
"""

import argparse
import json
import time
from pathlib import Path


def minhash(folder: Path) -> dict:
    from datatrove.data import Document
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature

    config = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8)
    rows = [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.open()]
    documents = [Document(text=row["text"], id=str(n)) for n, row in enumerate(rows)]
    step = MinhashDedupSignature(str(folder / "signatures"), config=config)
    begun = time.perf_counter()
    step.run(iter(documents), rank=0, world_size=1)
    seconds = time.perf_counter() - begun
    return {"bytes": sum(len(row["text"].encode()) for row in rows), "seconds": seconds}


def html(folder: Path) -> dict:
    import trafilatura

    pages = [file.read_bytes().decode("utf-8", "replace") for file in sorted(folder.glob("*.html"))]
    begun = time.perf_counter()
    chars = sum(len(trafilatura.extract(page) or "") for page in pages)
    seconds = time.perf_counter() - begun
    return {"bytes": sum(len(page.encode()) for page in pages), "seconds": seconds, "chars": chars}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", choices=("minhash", "html"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    print(json.dumps({"minhash": minhash, "html": html}[options.work](options.folder)))


if __name__ == "__main__":
    main()
