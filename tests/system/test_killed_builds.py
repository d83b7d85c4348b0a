"""A build that is killed anywhere loses nothing, shows nothing, and is finished by the next one."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.build.ordered import SPILLS
from flows.build.worker import stage_store
from lineage.digest import Digest
from lineage.errors import NotFound
from tests.system.killing import die_after, kill_when, preload
from tests.system.world import DATASET, World, add_lines, copy_world, sample_lines

pytestmark = pytest.mark.system
V1, V2 = f"{DATASET}@v1", f"{DATASET}@v2"

# What had been done when the process died; the steps are those of flows/build/publish.py.
BEFORE_THE_LEDGER = {
    "1 some objects on hot": ("storage_tiers.local:LocalStore.put", 2),
    "1 all objects on hot": ("flows.build.publish:Publisher._place_on_hot", 1),
    "2 one folder named in DVC": ("storage_tiers.dvc:DvcWriter.track", 1),
    "2 one folder pushed": ("storage_tiers.dvc:DvcWriter.push", 1),
    "2 everything pushed": ("flows.build.publish:Publisher._track_and_push", 1),
    "3 verified on cold": ("flows.build.publish:Publisher._verify_on_cold", 1),
    "4 one manifest": ("flows.build.publish:replace_file", 1),
    "4 half of the other manifest": ("flows.build.publish:write_storage", 1),
    "4 both manifests": ("flows.build.publish:Publisher._write_manifests", 1),
    "5 keys": ("lineage.keys.keytable:KeyTable.add", 1),
    "6 staged in Git": ("storage_tiers.git:GitRepository._run", 1),
    "6 committed to Git": ("flows.build.publish:Publisher._commit", 1),
    "7 in the ledger's transaction": ("lineage.ledger.sqlite:_SqliteAppending._write", 2),
}
BEHIND_THE_LEDGER = {
    "7 in the ledger": ("lineage.ledger.sqlite:SqliteLedgerStore._finish", 2),
    "8 tree head beside it": ("flows.build.publish:replace_file", 2),
}


@pytest.fixture(scope="session", autouse=True)
def _processes() -> None:
    preload()


@pytest.fixture(scope="session")
def _grown(_first_build: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The same change as in every story of a crash, built without one."""
    world = copy_world(_first_build, tmp_path_factory.mktemp("grown") / "grown")
    change_text(world)
    world.build()
    yield world
    shutil.rmtree(world.root)


def change_text(world: World) -> None:
    """One document goes, another comes: a hole and a new segment."""
    path = world.help_files[0]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    add_lines(path, sample_lines("gnome-user-docs", 2))


@pytest.mark.parametrize("place", BEFORE_THE_LEDGER)
def test_nothing_is_visible_of_a_publish_that_died_after(
    place: str, built: World, _grown: World
) -> None:
    before = built.samples()
    change_text(built)
    die_after(built, *BEFORE_THE_LEDGER[place])
    assert built.versions() == [V1]
    with pytest.raises(NotFound):
        built.samples(V2)
    assert built.samples(V1) == before
    assert built.verify() == []
    report = built.build()
    assert report.version.name == V2
    assert built.content_roots() == _grown.content_roots()
    assert built.verify() == []


@pytest.mark.parametrize("place", BEHIND_THE_LEDGER)
def test_a_version_is_whole_once_the_ledger_has_it(place: str, built: World, _grown: World) -> None:
    change_text(built)
    die_after(built, *BEHIND_THE_LEDGER[place])
    assert built.versions() == [V1, V2]
    assert built.content_roots() == _grown.content_roots()
    assert built.verify() == []
    assert not built.build().published


@pytest.mark.parametrize(
    ("kind", "entries"),
    [("partitions", 3), ("tokens", 3), ("shards", 5)],
    ids=["preparing", "tokenizing", "packing"],
)
def test_what_was_done_before_the_kill_is_used_again(
    kind: str, entries: int, built: World, fresh: World
) -> None:
    partitions = count_partitions(built)
    before = {"partitions": 0, "tokens": partitions + 1, "shards": 2 * partitions + 1}
    calls = before[kind] + entries
    die_after(fresh, "storage_tiers.stage:StageStore._finish", calls)
    done = finished(fresh, kind)
    assert len(done) == entries
    assert fresh.versions() == []
    places = {path: path.stat().st_ino for path in finished(fresh, "partitions")}
    require_same_content(fresh, built.content_roots())
    assert (
        places.items()
        <= {path: path.stat().st_ino for path in finished(fresh, "partitions")}.items()
    )


def test_what_a_killed_build_left_of_sorting_is_dropped_by_the_next_one(fresh: World) -> None:
    with fresh.open() as workspace:
        stage = stage_store(workspace, DATASET)
        with stage.scratch(SPILLS) as part:
            torn = fresh.stage / SPILLS / ".killed.part"
            shutil.copytree(part.folder, torn)
    (torn / "00000.parquet").write_bytes(b"sealed")
    fresh.build()
    assert not torn.exists()


@pytest.mark.parametrize("phase", ["preparing", "packing", "publishing"])
def test_a_build_with_workers_is_killed_from_outside(
    phase: str, built: World, fresh: World
) -> None:
    reached: dict[str, Callable[[], bool]] = {
        "preparing": lambda: len(finished(fresh, "partitions")) >= 2,
        "packing": lambda: len(finished(fresh, "shards")) >= 2,
        "publishing": lambda: any((fresh.root / ".shardline/hot/files").rglob("*/*")),
    }
    kill_when(fresh, 2, reached[phase])
    assert fresh.versions() == []
    require_quiet(fresh)
    require_same_content(fresh, built.content_roots())


def finished(world: World, kind: str) -> list[Path]:
    return list(world.stage.glob(f"{kind}/[!.]*/receipt.json"))


def count_partitions(world: World) -> int:
    return len(finished(world, "partitions"))


def require_quiet(world: World) -> None:
    """The workers of a killed build leave by themselves: nobody writes any more."""
    deadline = time.monotonic() + 30
    while True:
        before = sorted(world.stage.rglob("*"))
        time.sleep(0.3)
        if before == sorted(world.stage.rglob("*")):
            return
        assert time.monotonic() < deadline


def require_same_content(world: World, roots: list[Digest]) -> None:
    """The next build publishes what an undisturbed one does, with every record in its books."""
    report = world.build()
    assert report.version.name == V1
    assert world.content_roots() == roots
    assert world.verify() == []
    with world.read() as book:
        rows = book.table("decisions").num_rows + book.table("quarantine").num_rows
        assert book.stage_of("ingest")["in"]["records"] == rows
        text = json.dumps(report.to_json())
        assert all(path not in text for path in (str(world.root), "tmp"))
    assert not list(world.stage.glob("partitions/.*.part"))
