"""A small workspace with real text in several languages, and what stories do with it.

The text is the bundled sample's, in four kinds of files: JSON Lines with and without
record ids, plain text, and Parquet.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shardline
from flows.build.announcer import Silence
from flows.build.plain import build_without_prefect
from flows.build.report import BuildReport
from flows.storage import workspace_tiers
from flows.workspace import create_workspace
from lineage.audit.reading import Reading
from lineage.clock import system_clock
from lineage.digest import Digest
from lineage.keys.sealing import open_parquet
from lineage.manifests.content import ContentManifest
from lineage.manifests.storage import StoredObject
from lineage.versions import Version, find_version, published_versions
from lineage.workspace import Workspace
from storage_tiers.stored import store_name

SAMPLE = Path(str(resources.files("shardline") / "data" / "sample"))
DATASET = "corpus"
SAMPLE_TOKENS = 128
HELP = "text/help/*.jsonl"

SOURCE = """
[[sources]]
name = "{name}"
path = "{path}"
licence = "{licence}"
source_class = "public_dataset"
collected = "2026-11"
{more}
"""
SPEC = """
seed = 20261101

[tokenizer]
file = "tokenizer.json"
end_of_document = "<|endoftext|>"

[shards]
sample_tokens = {sample_tokens}
shard_kib = {shard_kib}
group_shards = 3
window_samples = 40
"""
FOUR_SOURCES = "".join(
    SOURCE.format(name=name, path=path, licence=licence, more=more)
    for name, path, licence, more in (
        ("help", HELP, "MPL-2.0", 'id = "id"'),
        ("rights", "text/rights.jsonl", "LicenseRef-UN-UDHR", ""),
        ("guide", "text/guide", "GPL-2.0-only", 'format = "text"'),
        ("handbook", "text/handbook.parquet", "CC-BY-SA-3.0 OR GPL-2.0-or-later", 'id = "id"'),
    )
)


@dataclass(frozen=True)
class World:
    """One workspace and its dataset ``corpus``."""

    root: Path

    @property
    def help_files(self) -> list[Path]:
        return sorted(self.root.glob(HELP))

    @property
    def stage(self) -> Path:
        return self.root / ".shardline" / "stage" / DATASET

    @contextmanager
    def open(self) -> Iterator[Workspace]:
        """The workspace as another process would open it: nothing is remembered."""
        workspace = Workspace(self.root)
        try:
            yield workspace
        finally:
            workspace.close()

    def write_spec(self, sources: str = FOUR_SOURCES, shard_kib: int = 16) -> None:
        spec = SPEC.format(sample_tokens=SAMPLE_TOKENS, shard_kib=shard_kib) + sources
        (self.root / "specs" / f"{DATASET}.toml").write_text(spec, encoding="utf-8")

    def build(self, workers: int = 1) -> BuildReport:
        with self.open() as workspace:
            return build_without_prefect(workspace, DATASET, workers, Silence())

    def versions(self) -> list[str]:
        with self.open() as workspace:
            return [version.name for version in published_versions(workspace.ledger.entries())]

    @contextmanager
    def read(self, name: str = DATASET) -> Iterator[Book]:
        """A version, opened through the gate."""
        with self.open() as workspace:
            reading = Reading(workspace, workspace_tiers(workspace), "audit")
            yield Book(reading, find_version(workspace.ledger.entries(), name))

    def content_roots(self, name: str = DATASET) -> list[Digest]:
        with self.read(name) as book:
            return [segment.content_root for segment in book.content.segments]

    def verify(self) -> list[str]:
        """What ``audit verify`` finds wrong: each place and what is wrong with it."""
        from shardline.cli.audit import verify

        with self.open() as workspace:
            facts = verify(workspace).facts
        return [f"{item['where']}: {item['what']}" for item in facts["findings"]]

    def path_of(self, stored: StoredObject, tier: str) -> Path:
        return self.root / ".shardline" / tier / store_name(stored)

    def samples(self, name: str = DATASET) -> list[bytes]:
        """Every sample of a version as a feed gives it, in the running order."""
        run = shardline.training_run(
            name, model="reader", seed=5, workspace=self.root, allow_unapproved=True
        )
        with run:
            return [
                batch.input_ids.tobytes() + batch.loss_mask.tobytes()
                for batch in shardline.ShardFeed(run, batch_size=1)
            ]


@dataclass(frozen=True)
class Book:
    """One version, open: its manifests and its tables."""

    reading: Reading
    version: Version

    @property
    def content(self) -> ContentManifest:
        return self.reading.content(self.version)

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        return self.reading.storage(self.version).objects

    def object(self, name: str) -> StoredObject:
        return self.reading.storage(self.version).object(name)

    def table(self, name: str) -> pa.Table:
        return self.reading.table(self.version, name)

    def shard_names(self) -> list[str]:
        """The samples of every shard, in the order of the version."""
        return [name for _, name, _ in self.reading.spans(self.version)]

    def open(self, name: str) -> pa.Table:
        return self.reading.read(self.version.dataset, self.object(name))

    def kept_ids(self) -> set[bytes]:
        """Ids of the documents that are alive in the version."""
        ids: set[bytes] = set()
        for _, _, spans in self.reading.spans(self.version):
            column = self.reading.read(self.version.dataset, spans)["document_id"]
            ids.update(value for value in column.to_pylist() if value is not None)
        return ids

    def stage_of(self, name: str) -> dict[str, Any]:
        """One stage of the books, numbers as numbers."""
        book = next(book for book in self.content.books if book["stage"] == name)
        return dict(json.loads(json.dumps(book), object_hook=_numbers))


def make_world(root: Path, cold: str = ".shardline/cold") -> World:
    """A new workspace with its own random keys, real text, and a spec."""
    create_workspace(root, os.urandom, system_clock, cold=cold).close()
    world = World(root)
    shutil.copy(SAMPLE / "tokenizer.json", root)
    write_text(root / "text")
    world.write_spec()
    return world


def copy_world(world: World, root: Path) -> World:
    """The same workspace at another place; only DVC's settings name places."""
    shutil.copytree(world.root, root, symlinks=True)
    for name in ("config", "config.local"):
        path = root / ".dvc" / name
        text = path.read_text("utf-8").replace(str(world.root), str(root))
        path.write_text(text, encoding="utf-8")
    return World(root)


def write_text(folder: Path) -> None:
    """24 + 6 + 6 + 10 documents; all languages of the sample come by in turn."""
    (folder / "help").mkdir(parents=True)
    (folder / "guide").mkdir()
    lines = sample_lines("libreoffice-help", 24)
    for number, name in enumerate(("a", "b", "c", "d")):
        part = lines[6 * number : 6 * number + 6]
        (folder / "help" / f"{name}.jsonl").write_bytes(b"".join(part))
    rights = [json.loads(line)["text"][:3000] for line in sample_lines("udhr", 6)]
    (folder / "rights.jsonl").write_bytes(b"".join(record(text) for text in rights))
    for number, line in enumerate(sample_lines("installation-guide", 6)):
        path = folder / "guide" / f"{number}.txt"
        path.write_text(json.loads(line)["text"], encoding="utf-8")
    rows = [json.loads(line) for line in sample_lines("debian-handbook", 10)]
    table = pa.table({name: [row[name] for row in rows] for name in ("id", "text")})
    pq.write_table(table, folder / "handbook.parquet", row_group_size=4)


def sample_lines(name: str, count: int) -> list[bytes]:
    """Lines of one file of the sample, spread over it."""
    lines = (SAMPLE / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    return [lines[place * len(lines) // count] for place in range(count)]


def record(text: str | None, record_id: str | None = None) -> bytes:
    """One line of JSON Lines."""
    value = {"text": text} if record_id is None else {"id": record_id, "text": text}
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def add_lines(path: Path, lines: Sequence[bytes], *, at: int | None = None) -> None:
    """Adds lines to a file, at its end or before a line."""
    old = path.read_bytes().splitlines(keepends=True)
    place = len(old) if at is None else at
    path.write_bytes(b"".join([*old[:place], *lines, *old[place:]]))


def flip(path: Path, place: int | None = None) -> None:
    """Flips one bit of one byte of a file, also of a read-only one."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if place is None else place] ^= 1
    overwrite(path, bytes(data))


def overwrite(path: Path, data: bytes) -> None:
    """Puts other bytes where a file is, also where it is read-only."""
    path.chmod(0o644)
    path.write_bytes(data)


def shard_samples(book: Book, shard: str) -> list[bytes]:
    """Every sample of one stored shard in the form of `World.samples`, opened directly."""
    stored = book.object(shard)
    path = workspace_tiers(book.reading.workspace).path_on_hot(stored)
    with open_parquet(path, book.reading.lease(DATASET).seal(stored.object_id)) as file:
        rows = file.read(columns=["input_ids", "loss_mask"]).to_pylist()
    return [row["input_ids"] + _mask(row["loss_mask"]) for row in rows]


def _mask(packed: bytes | None) -> bytes:
    if packed is None:
        return np.ones(SAMPLE_TOKENS, np.bool_).tobytes()
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=SAMPLE_TOKENS, bitorder="little")
    return bits.astype(np.bool_).tobytes()


def _numbers(value: dict[str, Any]) -> dict[str, Any]:
    return {
        name: int(item) if isinstance(item, str) and item.isdigit() else item
        for name, item in value.items()
    }
