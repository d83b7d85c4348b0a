#!/usr/bin/env python3
"""One core of cleaning: signals, near duplicates, repair, languages, evaluation items, HTML.

    python benchmarks/clean.py --input DIR --peers DIR [--html DIR]
    python benchmarks/clean.py --quick

Rates are of text (pages for HTML), 10^6 bytes a second of one core, of the work alone. Near
duplicates are signatures, crowds and verification on the text; the peer (datatrove) makes
signatures alone. Pages are those of `--html`, or the rows wrapped as pages with a menu and
a foot; the peer is trafilatura.
"""

from __future__ import annotations

import argparse
import html
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # run as a script: its own folder is not where packages lie
    sys.path[0] = str(ROOT)

from benchmarks.figures import Figure
from benchmarks.inputs import take
from pipelines.clean.act import Act
from pipelines.clean.repair import repairs
from pipelines.decontamination.act import Decontamination
from pipelines.dedup.choose import choose
from pipelines.dedup.crowds import crowds
from pipelines.dedup.minhash import band_keys
from pipelines.dedup.shingles import shingles
from pipelines.ingest.pages.extract import text_of_page
from pipelines.signals.catalogue import SIGNALS
from pipelines.signals.language import Language
from pipelines.signals.measured import Measured, pieces
from pipelines.signals.segments import Segmenter
from pipelines.spec.decontamination import decontamination_spec
from pipelines.spec.repair import RepairSpec
from pipelines.spec.source import SourceSpec

SAMPLE = ROOT / "shardline" / "data" / "sample"
QUICK_MB = 10
ITEMS, ITEM_WORDS = 20_000, 60
WORDS, BANDS, ROWS, SIMILARITY = 5, 14, 8, 800_000
PAGE_SOURCE = SourceSpec("pages", "*.html", "html", "CC0-1.0", "other", "2026-11")


def texts_of(rows: Path) -> pa.LargeStringArray:
    """The texts of all rows."""
    found = [
        json.loads(line)["text"]
        for file in sorted(rows.glob("*.jsonl"))
        for line in file.open("rb")
    ]
    return pa.array(found, pa.large_string())


def act_work(act: Act) -> Callable[[pa.LargeStringArray], None]:
    """An act over chunks of the size that a build has."""

    def work(texts: pa.LargeStringArray) -> None:
        for chunk in pieces(texts, 16 << 20):
            act.apply(pa.table({"text": chunk}))

    return work


def near(texts: pa.LargeStringArray) -> int:
    """Near duplicates with verification; the first of two rows stays."""
    segmenter = Segmenter()
    keys = [
        band_keys(segmenter.segments_of(piece), WORDS, BANDS, ROWS)
        for piece in pieces(texts, 1 << 20)
    ]
    table, pairs, so_far = np.concatenate(keys), [], 0
    for band in range(BANDS):
        crowd, member = crowds(np.ascontiguousarray(table[:, band]))
        pairs.append((crowd + so_far, member))
        so_far += int(crowd.max(initial=-1)) + 1
    crowd, member = (np.concatenate(part) for part in zip(*pairs, strict=True))
    present, member = np.unique(member, return_inverse=True)
    found = shingles(segmenter.segments_of(texts.take(pa.array(present))), WORDS)
    chosen = choose(found, crowd, member, SIMILARITY, containment=False)
    return int((chosen.survivor >= 0).sum())


def looking_for_items(texts: pa.LargeStringArray, folder: Path) -> Decontamination:
    """An act that looks for as many items as a usual collection of evaluation sets has.

    They are words of the texts in another order, so hardly any text holds one.
    """
    words = np.array(" ".join(texts.slice(0, 2000).to_pylist()).split())
    chosen = np.random.default_rng(1).integers(len(words), size=(ITEMS, ITEM_WORDS))
    (folder / "items.txt").write_text("\n".join(map(" ".join, words[chosen])), "utf-8")
    return Decontamination(decontamination_spec({"sets": ["items.txt"]}, "items"), folder)


def write_pages(texts: pa.LargeStringArray, folder: Path, number: int) -> None:
    """Rows as pages: a menu, an article of paragraphs, a foot."""
    menu = "".join(f"<li><a href='/{n}'>Entry {n}</a></li>" for n in range(30))
    folder.mkdir()
    for at, text in enumerate(texts.slice(0, number).to_pylist()):
        parts = "".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n") if part.strip())
        page = (
            f"<html><body><nav><ul>{menu}</ul></nav><article>{parts}</article><footer>Foot</footer>"
        )
        (folder / f"{at:05d}.html").write_text(page, "utf-8")


def timed(work: Callable[[], object]) -> float:
    """Seconds of the work."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peer_rate(peers: Path, work: str, folder: Path) -> float:
    """MB/s of one core of the peer."""
    command = [peers / "prep" / "bin" / "python", ROOT / "benchmarks" / "peers" / "one_core.py"]
    done = subprocess.run(
        [*map(str, command), work, str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{work} of the peer ended with {done.returncode}:\n{done.stderr[-2000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    return float(said["bytes"] / 1e6 / said["seconds"])


def measure(
    rows: Path, pages: Path, texts: pa.LargeStringArray, runs: int, peers: Path | None
) -> Iterator[Figure]:
    """Every figure: all of them once a run, so that a slow minute hits all."""
    size = texts.nbytes / 1e6
    found_pages = [file.read_bytes() for file in sorted(pages.glob("*.html"))]
    page_size = sum(map(len, found_pages)) / 1e6
    works: dict[str, tuple[float, Callable[[], object]]] = {
        "signals": (size, lambda: act_work(Measured(SIGNALS))(texts)),
        "near_duplicates": (size, lambda: near(texts)),
        "language": (size, lambda: act_work(Language())(texts)),
        "html": (page_size, lambda: [text_of_page(page, PAGE_SOURCE) for page in found_pages]),
    }
    for act in repairs(RepairSpec(mojibake=True, controls=True, line_endings=True)):
        works[act.name] = (size, partial(act_work(act), texts))
    items = looking_for_items(texts, rows.parent)
    works[items.name] = (size, partial(act_work(items), texts))
    ours: dict[str, list[float]] = {name: [] for name in works}
    theirs: dict[str, list[float]] = {"near_duplicates": [], "html": []}
    for _, work in works.values():
        work()  # compiled code is loaded, and memory is there
    for _ in range(runs):
        for name, (megabytes, work) in works.items():
            ours[name].append(megabytes / timed(work))
        if peers is not None:
            theirs["near_duplicates"].append(peer_rate(peers, "minhash", rows))
            theirs["html"].append(peer_rate(peers, "html", pages))
    names = {"near_duplicates": "datatrove", "html": "trafilatura"}
    for name, rates in ours.items():
        peer = theirs.get(name, [])
        about: dict[str, object] = {"input_mb": round(works[name][0], 1)}
        yield Figure(f"clean.{name}", rates, "MB/s", names[name] if peer else "", peer, about)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, default=SAMPLE, help="folder of *.jsonl")
    parser.add_argument("--html", type=Path, help="folder of *.html; made from rows when left out")
    parser.add_argument("--peers", type=Path, help="what benchmarks/peers/setup made")
    parser.add_argument("--mb", type=float, default=50, help="10^6 bytes taken of the input")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help=f"ours alone, once, {QUICK_MB} MB")
    return parser.parse_args()


def main() -> None:
    """Measures, and prints each figure when all runs are done."""
    options = arguments()
    megabytes = min(options.mb, QUICK_MB) if options.quick else options.mb
    peers = options.peers.resolve() if options.peers and not options.quick else None
    with tempfile.TemporaryDirectory(prefix="shardline-clean-") as name:
        rows, pages = Path(name) / "rows", options.html or Path(name) / "pages"
        take(options.input, rows, int(megabytes * 1e6), 1)
        texts = texts_of(rows)
        if options.html is None:
            write_pages(texts, pages, 500)
        for figure in measure(rows, pages, texts, 1 if options.quick else options.runs, peers):
            print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
