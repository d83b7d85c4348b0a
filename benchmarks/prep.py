#!/usr/bin/env python3
"""Preparation: `shardline build` beside datatrove on the same rows, in turn.

    python benchmarks/prep.py --input DIR --peers DIR --tokenizer FILE
    python benchmarks/prep.py --input DIR --peers DIR --tokenizer FILE --work full
    python benchmarks/prep.py --quick

Both read JSON Lines, drop exact duplicates, tokenize with an end token and shuffle all
documents. We also do NFC, ids, decisions, sealing, verified tiers, DVC, Git and the ledger.
With `--work full` both also drop by Gopher's repetition and quality rules and remove near
duplicates (words of 5, 14 bands of 8); ours are verified on the text, the peer's are not.
Every time is wall time of a whole process, its start included. `prep.build` is the
command as a user types it, `prep.build.without_prefect` the same build in a process that
never imports Prefect. Every run has a fresh workspace.

--peers holds what benchmarks/peers/setup made; without it only our figures are taken.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # run as a script: its own folder is not where packages lie
    sys.path[0] = str(ROOT)

from benchmarks.figures import Figure
from benchmarks.inputs import take

HERE = ROOT / "benchmarks"
SAMPLE = ROOT / "shardline" / "data" / "sample"
DATASET = "bench"
NUM_FILES = 8  # of equal size, so that the peer's tasks, a file each, are equal too
QUICK_MB = 20
COMMAND = "from shardline.cli.app import main; raise SystemExit(main())"
SPEC = """\
name = "{dataset}"
seed = 1

[[sources]]
name = "rows"
path = "rows/*.jsonl"
id = "id"
licence = "LicenseRef-Mixed-Free"
source_class = "public_dataset"
collected = "2026-11"

{rules}
[tokenizer]
file = "tokenizer.json"
end_of_document = "{end}"

[shards]
sample_tokens = 2048
shard_mib = 64
"""

RULES = """\
[rules.gopher_quality]

[rules.gopher_repetition]

[duplicates]
near = true
"""
# By the name of the work: what stands in the spec, and the peer's driver.
WORKS = {"exact": ("", "datatrove_prep.py"), "full": (RULES, "datatrove_full.py")}


@dataclass(frozen=True, slots=True)
class Work:
    """What every run does: the rows, the tokenizer, and how many processes may work."""

    name: str
    rows: Path
    tokenizer: Path
    end_of_document: str
    workers: int
    folder: Path

    @property
    def megabytes(self) -> float:
        """Of the input's files, 10^6 bytes."""
        return sum(file.stat().st_size for file in self.rows.glob("*.jsonl")) / 1e6


@dataclass(frozen=True, slots=True)
class Timed:
    """One finished process: its wall time and what it printed."""

    seconds: float
    printed: str


def run(command: Sequence[str | Path], folder: Path = ROOT) -> Timed:
    """Runs a process in `folder` to its end, with this repository importable."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    begun = time.perf_counter()
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return Timed(seconds, done.stdout)


@contextmanager
def workspace(work: Work) -> Iterator[Path]:
    """A fresh workspace with the rows (hard links where they can be) and the spec."""
    root = work.folder / "workspace"
    run([sys.executable, "-c", COMMAND, "init", root])
    (root / "rows").mkdir()
    for file in work.rows.glob("*.jsonl"):
        _link(file, root / "rows" / file.name)
    shutil.copyfile(work.tokenizer, root / "tokenizer.json")
    spec = SPEC.format(dataset=DATASET, end=work.end_of_document, rules=WORKS[work.name][0])
    (root / "specs").mkdir(exist_ok=True)
    (root / "specs" / f"{DATASET}.toml").write_text(spec, "utf-8")
    yield root
    shutil.rmtree(root)


def _link(file: Path, name: Path) -> None:
    try:
        name.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, name)


def build_by_command(work: Work) -> Timed:
    """`shardline build` as a user types it, Prefect's start included."""
    with workspace(work) as root:
        command = [sys.executable, "-c", COMMAND, "build", "--quiet", DATASET]
        return run([*command, "--workers", str(work.workers)], root)


def build_plainly(work: Work) -> Timed:
    """The same build in a process without Prefect; prints its report."""
    with workspace(work) as root:
        return run([sys.executable, HERE / "plain_build.py", root, DATASET, str(work.workers)])


def build_by_datatrove(work: Work, peers: Path) -> Timed:
    """The peer's build; prints its report."""
    out = work.folder / "datatrove"
    options = ["--workers", str(work.workers), "--end-of-document", work.end_of_document]
    python, script = peers / "prep" / "bin" / "python", HERE / "peers" / WORKS[work.name][1]
    timed = run([python, script, work.rows, work.tokenizer, out, *options])
    shutil.rmtree(out)
    return timed


def measure(work: Work, runs: int, peers: Path | None) -> Iterator[Figure]:
    """Runs everybody in turn, so that a slow minute of the machine hits all of them."""
    commands: list[Timed] = []
    plains: list[Timed] = []
    peer: list[Timed] = []
    for _ in range(runs):
        commands.append(build_by_command(work))
        plains.append(build_plainly(work))
        if peers:
            peer.append(build_by_datatrove(work, peers))
    yield from figures(work, commands, plains, peer)


def figures(
    work: Work, commands: Sequence[Timed], plains: Sequence[Timed], peer: Sequence[Timed]
) -> Iterator[Figure]:
    """The lines that are printed, from what every run took and said."""
    reports = [json.loads(timed.printed) for timed in plains]
    said = [json.loads(timed.printed) for timed in peer]
    name = "datatrove" if peer else ""
    size = work.megabytes
    about: dict[str, object] = {"input_mb": round(size, 1), "workers": work.workers}
    speeds = [size / timed.seconds for timed in peer]
    stages = {"peer_stage_s": said[-1]["stage_s"]} if said else {}

    def speed(label: str, timed: Sequence[Timed], more: dict[str, object]) -> Figure:
        ours = [size / one.seconds for one in timed]
        return Figure(label, ours, "MB/s", name, speeds, {**about, **more})

    prep = "prep" if work.name == "exact" else f"prep.{work.name}"
    yield speed(f"{prep}.build", commands, {})
    yield speed(f"{prep}.build.without_prefect", plains, stages)
    starts = [one.seconds - two.seconds for one, two in zip(commands, plains, strict=True)]
    yield Figure(f"{prep}.prefect", starts, "s", about=about)
    for stage in reports[0]["stage_seconds"]:
        work_s = [report["stage_seconds"][stage] for report in reports]
        rates = [size / seconds for seconds in work_s if seconds > 0]
        if rates:
            yield Figure(f"{prep}.stage.{stage}", rates, "MB/s of one worker", about=about)
    for label, our, theirs in (
        ("documents", "documents_added", "documents_out"),
        ("tokens", "tokens", "tokens"),
    ):
        counts = [report[our] for report in reports]
        yield Figure(f"{prep}.{label}", counts, label, name, [one[theirs] for one in said], about)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", choices=sorted(WORKS), default="exact")
    parser.add_argument("--input", type=Path, default=SAMPLE, help="folder of *.jsonl")
    parser.add_argument("--peers", type=Path, help="what benchmarks/peers/setup made")
    parser.add_argument("--tokenizer", type=Path, default=SAMPLE / "tokenizer.json")
    parser.add_argument("--end-of-document", default="<|endoftext|>")
    parser.add_argument("--mb", type=float, default=200, help="10^6 bytes taken of the input")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help=f"ours alone, once, {QUICK_MB} MB")
    return parser.parse_args()


def main() -> None:
    """Measures, and prints each figure when all runs are done."""
    options = arguments()
    megabytes = min(options.mb, QUICK_MB) if options.quick else options.mb
    peers = options.peers.resolve() if options.peers and not options.quick else None
    with tempfile.TemporaryDirectory(prefix="shardline-prep-") as name:
        folder = Path(name)
        take(options.input, folder / "rows", int(megabytes * 1e6), NUM_FILES)
        tokenizer, end = options.tokenizer.resolve(), options.end_of_document
        work = Work(options.work, folder / "rows", tokenizer, end, options.workers, folder)
        for figure in measure(work, 1 if options.quick else options.runs, peers):
            print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
