"""Hot and cold: moves, a feed that fetches back, and disks that refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import IntegrityError, NotFound, Unavailable
from tests.system.disks import Disk
from tests.system.world import DATASET, World, add_lines, flip, make_world, sample_lines

pytestmark = pytest.mark.system
V1, V2 = f"{DATASET}@v1", f"{DATASET}@v2"


def status(cli: Callable[..., Any], world: World, name: str = V1) -> dict[str, Any]:
    said = cli("tier", "status", name, "--json", "-w", world.root)
    assert said.code == 0
    return dict(said.json)


def test_a_demoted_version_is_fetched_back_by_a_feed_and_verified(
    built: World, cli: Callable[..., Any]
) -> None:
    before, at_first = built.samples(), status(cli, built)
    assert at_first["num_hot"] == at_first["num_cold"] > 10
    said = cli("tier", "demote", V1, "-w", built.root)
    assert (said.code, said.out.split()[:2]) == (0, ["demoted", str(at_first["num_hot"])])
    demoted = status(cli, built)
    assert (demoted["num_hot"], demoted["hot_size_bytes"]) == (0, 0)
    assert demoted["num_cold"] == at_first["num_cold"]
    assert "demoted    0 objects" in cli("tier", "demote", V1, "-w", built.root).out

    assert built.samples() == before
    assert cli("tier", "promote", V1, "-w", built.root).code == 0
    assert status(cli, built) == at_first
    with built.open() as workspace:
        moves = [entry.body["kind"] for entry in workspace.ledger.entries(predicates={"move"})]
    assert moves == ["demote", "promote"]
    assert built.verify() == []


def test_a_feed_takes_only_the_shards_it_needs(built: World, cli: Callable[..., Any]) -> None:
    cli("tier", "demote", V1, "-w", built.root)
    built.samples()
    with built.read() as book:
        names = set(book.shard_names())
        on_hot = {item.name for item in book.objects if built.path_of(item, "hot").exists()}
    assert on_hot == names


def test_a_bad_copy_on_cold_never_comes_to_hot(built: World, cli: Callable[..., Any]) -> None:
    cli("tier", "demote", V1, "-w", built.root)
    with built.read() as book:
        stored = book.object(book.shard_names()[2])
    flip(built.path_of(stored, "cold"))
    with pytest.raises(IntegrityError, match=re.escape(stored.name)):
        built.samples()
    assert not built.path_of(stored, "hot").exists()
    said = cli("tier", "promote", V1, "-w", built.root)
    assert said.code == IntegrityError.exit_code
    assert stored.name in said.err
    assert not built.path_of(stored, "hot").exists()


def test_nothing_leaves_hot_while_its_copy_on_cold_is_bad(
    built: World, cli: Callable[..., Any]
) -> None:
    at_first = status(cli, built)
    with built.read() as book:
        stored = book.object(book.shard_names()[2])
    flip(built.path_of(stored, "cold"))
    said = cli("tier", "demote", V1, "-w", built.root)
    assert said.code == IntegrityError.exit_code
    assert stored.name in said.err
    assert status(cli, built) == at_first
    with built.open() as workspace:
        assert not list(workspace.ledger.entries(predicates={"move"}))


def test_a_demoted_version_that_is_lost_on_cold_is_named(
    built: World, cli: Callable[..., Any]
) -> None:
    cli("tier", "demote", V1, "-w", built.root)
    with built.read() as book:
        stored = book.object(book.shard_names()[2])
    built.path_of(stored, "cold").unlink()
    with pytest.raises(NotFound, match=re.escape(stored.name)):
        built.samples()
    assert status(cli, built)["missing"] == [stored.name]
    assert f"missing    {stored.name}" in cli("tier", "status", V1, "-w", built.root).out


def test_a_build_goes_on_from_a_demoted_version(built: World, cli: Callable[..., Any]) -> None:
    roots = built.content_roots()
    cli("tier", "demote", V1, "-w", built.root)
    path = built.help_files[0]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    add_lines(path, sample_lines("linux-doc", 1))
    report = built.build()
    assert (report.num_new, report.num_removed) == (1, 1)
    assert built.content_roots(V1) == roots
    assert built.verify() == []


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[Path, int], Disk]]:
    disks: list[Disk] = []

    def mount(folder: Path, size_kib: int) -> Disk:
        disks.append(Disk.mount(folder, size_kib))
        return disks[-1]

    yield mount
    for disk in disks:
        disk.unmount()


def test_a_full_cold_tier_is_one_clear_error_and_nothing_is_visible(
    built: World, mounted: Callable[[Path, int], Disk], tmp_path: Path
) -> None:
    cold = mounted(tmp_path / "cold", 128)
    world = make_world(tmp_path / "world", cold=str(cold.folder))
    require_invisible(world, cold.folder)
    cold.remount("size=8192k")
    world.build()
    assert world.content_roots() == built.content_roots()
    assert world.verify() == []


def test_a_read_only_cold_tier_is_one_clear_error_and_the_old_version_stays(
    mounted: Callable[[Path, int], Disk], tmp_path: Path
) -> None:
    cold = mounted(tmp_path / "cold", 8192)
    world = make_world(tmp_path / "world", cold=str(cold.folder))
    world.build()
    before, roots = world.samples(), world.content_roots()
    cold.remount("ro")
    add_lines(world.help_files[0], sample_lines("linux-doc", 1))
    with pytest.raises(Unavailable, match=re.escape(str(cold.folder))):
        world.build()
    assert world.versions() == [V1]
    assert world.verify() == []
    assert world.samples() == before
    cold.remount("rw")
    assert world.build().version.name == V2
    assert world.content_roots(V1) == roots
    assert world.verify() == []


def test_a_cold_tier_that_is_not_there_is_one_clear_error(
    built: World, cli: Callable[..., Any]
) -> None:
    cold = built.root / ".shardline" / "cold"
    cold.rename(cold.with_name("away"))
    add_lines(built.help_files[0], sample_lines("linux-doc", 1))
    with pytest.raises(Unavailable, match=re.escape(str(cold))):
        built.build()
    said = cli("tier", "demote", V1, "-w", built.root)
    assert said.code == Unavailable.exit_code
    assert not cold.exists()
    cold.with_name("away").rename(cold)
    assert built.build().version.name == V2


@pytest.mark.parametrize("place", ["hot", "stage"])
def test_a_full_disk_is_one_clear_error_and_nothing_is_visible(
    place: str, built: World, fresh: World, mounted: Callable[[Path, int], Disk]
) -> None:
    disk = mounted(fresh.root / ".shardline" / place, 128)
    require_invisible(fresh, disk.folder)
    disk.remount("size=8192k")
    fresh.build()
    assert fresh.content_roots() == built.content_roots()
    assert fresh.verify() == []


def require_invisible(world: World, full: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        world.build()
    assert str(full) in refused.value.message
    assert refused.value.hint
    assert world.versions() == []
    assert world.verify() == []
    with pytest.raises(NotFound):
        world.samples()
