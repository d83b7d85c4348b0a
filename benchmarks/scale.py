#!/usr/bin/env python3
"""Scale: the same build on growing inputs, its rate and its peak memory.

    python benchmarks/scale.py --input DIR --tokenizer FILE [--mb 50 100 200 400]
    python benchmarks/scale.py --quick

The work is `prep.py --work full`, without Prefect. `scale.rate` compares the MB/s of the largest
input with those of the smallest, fixed seconds of a build's start included; `scale.growth`
compares what the last megabytes took with what the first took beyond that, so 1 is linear
and less is worse. Memory is looked at ten times a second: of the main process, of the largest
worker (each with the pages it shares), and of all processes together, where shared pages
count once. `--documents N` gives N documents of a few words instead, for memory by document.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # run as a script: its own folder is not where packages lie
    sys.path[0] = str(ROOT)

from benchmarks.figures import Figure
from benchmarks.inputs import take
from benchmarks.prep import DATASET, HERE, NUM_FILES, SAMPLE, Work, workspace

QUICK_MB = (2.0, 4.0)
EVERY_S = 0.1


@dataclass(slots=True)
class Peak:
    """Peak memory in bytes."""

    main: int = 0
    worker: int = 0
    together: int = 0

    def look(self, process: psutil.Process) -> None:
        """Looks once; processes that end meanwhile are left out."""
        children = []
        with suppress(psutil.Error):
            children = process.children(recursive=True)
        together = 0
        for one in (process, *children):
            with suppress(psutil.Error):
                memory = one.memory_full_info()
                together += getattr(memory, "pss", memory.uss)
                if one is process:
                    self.main = max(self.main, memory.rss)
                else:
                    self.worker = max(self.worker, memory.rss)
        self.together = max(self.together, together)


@dataclass(frozen=True, slots=True)
class Built:
    """One build of one input."""

    megabytes: float
    documents: int
    seconds: float
    peak: Peak


def build(work: Work) -> Built:
    """Builds in a process of its own, and looks at its memory."""
    with workspace(work) as root:
        script = str(HERE / "plain_build.py")
        command = [sys.executable, script, str(root), DATASET, str(work.workers)]
        begun, peak = time.perf_counter(), Peak()
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
            seen = psutil.Process(process.pid)
            while process.poll() is None:
                peak.look(seen)
                time.sleep(EVERY_S)
            seconds = time.perf_counter() - begun
            printed = "" if process.stdout is None else process.stdout.read()
    if process.returncode:
        raise SystemExit(f"the build ended with {process.returncode}")
    books = json.loads(printed)["books"]
    return Built(work.megabytes, books[0]["in"]["records"], seconds, peak)


def figures(builds: Sequence[Built], workers: int) -> Iterator[Figure]:
    """The lines that are printed."""
    for one in builds:
        size = {"input_mb": round(one.megabytes, 1), "documents": one.documents}
        about: dict[str, object] = {**size, "workers": workers}
        yield Figure("scale.build", [one.megabytes / one.seconds], "MB/s", about=about)
        for name in ("main", "worker", "together"):
            peak = getattr(one.peak, name) / 1e6
            yield Figure(f"scale.memory.{name}", [peak], "MB", about=about)
    small, large = builds[0], builds[-1]
    ratio = large.megabytes / large.seconds / (small.megabytes / small.seconds)
    grown = {"from_mb": round(small.megabytes, 1), "to_mb": round(large.megabytes, 1)}
    yield Figure("scale.rate", [ratio], "of the smallest input's MB/s", about=dict(grown))
    if len(builds) > 2:
        first, last = _added(*builds[:2]), _added(*builds[-2:])
        yield Figure("scale.growth", [last / first], "of the first added MB/s", about=dict(grown))
    if large.documents > small.documents:
        more = (large.peak.main - small.peak.main) / (large.documents - small.documents)
        yield Figure("scale.memory.main_per_document", [more], "bytes", about=dict(grown))


def _added(one: Built, two: Built) -> float:
    """MB/s of what the second has more than the first."""
    return (two.megabytes - one.megabytes) / (two.seconds - one.seconds)


def few_words(out: Path, num_documents: int) -> None:
    """Writes so many different documents of a few words."""
    out.mkdir(parents=True)
    for number in range(NUM_FILES):
        with (out / f"part-{number:03d}.jsonl").open("w", encoding="utf-8") as lines:
            for one in range(number, num_documents, NUM_FILES):
                lines.write(f'{{"id": "{one}", "text": "document {one} of a few words"}}\n')


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, default=SAMPLE, help="folder of *.jsonl")
    parser.add_argument("--tokenizer", type=Path, default=SAMPLE / "tokenizer.json")
    parser.add_argument("--end-of-document", default="<|endoftext|>")
    parser.add_argument("--mb", type=float, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--documents", type=int, nargs="+", default=[], help="instead of --mb")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="two small inputs")
    return parser.parse_args()


def main() -> None:
    """Builds each size, and prints the figures when all are done."""
    options = arguments()
    sizes: Sequence[float] = options.documents or (QUICK_MB if options.quick else options.mb)
    builds = []
    # The smallest is built once more in front: that run finds nothing in the page cache.
    for size in (min(sizes), *sorted(sizes)):
        with tempfile.TemporaryDirectory(prefix="shardline-scale-") as name:
            folder = Path(name)
            if options.documents:
                few_words(folder / "rows", int(size))
            else:
                take(options.input, folder / "rows", int(size * 1e6), NUM_FILES)
            tokenizer, end = options.tokenizer.resolve(), options.end_of_document
            kind = "exact" if options.documents else "full"
            builds.append(
                build(Work(kind, folder / "rows", tokenizer, end, options.workers, folder))
            )
    for figure in figures(builds[1:], options.workers):
        print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
