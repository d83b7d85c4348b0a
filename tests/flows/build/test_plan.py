"""The plan: what is read, under which keys, and what makes a build nothing new."""

from __future__ import annotations

import shutil

import pytest

from flows.build.plan import BuildPlan, plan_build
from flows.build.report import nothing_new
from lineage.digest import Digest
from lineage.errors import ConfigError, Conflict, NotFound
from tests.system.world import DATASET, World, add_lines, record


def plan(world: World) -> BuildPlan:
    with world.open() as workspace:
        return plan_build(workspace, DATASET)


def keys(made: BuildPlan) -> set[Digest]:
    return {item.key for item in made.partitions}


def edit_spec(world: World, old: str, new: str) -> None:
    path = world.root / "specs" / f"{DATASET}.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_every_source_is_planned_in_order_and_numbered(world: World) -> None:
    made = plan(world)
    assert [item.ordinal for item in made.partitions] == list(range(len(made.partitions)))
    sources = [item.source for item in made.partitions]
    assert sources == sorted(sources)
    names = [source.name for source in made.spec.sources]
    assert all(item.partition.source == names[item.source] for item in made.partitions)
    assert set(sources) == set(range(4))
    assert made.parent is None
    assert not made.nothing_new


def test_a_plan_is_the_same_again(world: World) -> None:
    first, second = plan(world), plan(world)
    assert (first.inputs, first.packing, keys(first)) == (
        second.inputs,
        second.packing,
        keys(second),
    )


def test_a_renamed_file_is_nothing_new(world: World) -> None:
    before = plan(world)
    world.help_files[0].rename(world.root / "text" / "help" / "zz.jsonl")
    assert plan(world).inputs == before.inputs


def test_an_added_line_changes_its_partition_and_no_other(world: World) -> None:
    before = plan(world)
    add_lines(world.help_files[1], [record("a new text", "new/1")], at=0)
    after = plan(world)
    assert after.inputs != before.inputs
    assert len(keys(before) - keys(after)) == len(keys(after) - keys(before)) == 1
    assert after.packing == before.packing


def test_another_licence_is_a_new_input_but_no_partition_is_read_again(world: World) -> None:
    before = plan(world)
    edit_spec(world, "MPL-2.0", "Apache-2.0")
    after = plan(world)
    assert after.inputs != before.inputs
    assert keys(after) == keys(before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 20261101", "seed = 20261102"),
        ("[tokenizer]", "[clean]\nmin_chars = 9\n\n[tokenizer]"),
        ("[tokenizer]", '[clean]\nnormalize = "none"\n\n[tokenizer]'),
    ],
)
def test_another_seed_or_cleaning_makes_every_partition_anew(
    world: World, old: str, new: str
) -> None:
    before = plan(world)
    edit_spec(world, old, new)
    assert not keys(plan(world)) & keys(before)


def test_another_size_of_shards_packs_anew_but_reads_nothing_again(world: World) -> None:
    before = plan(world)
    edit_spec(world, "group_shards = 3", "group_shards = 4")
    after = plan(world)
    assert keys(after) == keys(before)
    assert after.packing != before.packing


def test_an_unknown_dataset_says_where_its_spec_belongs(world: World) -> None:
    with world.open() as workspace, pytest.raises(NotFound, match=r"no spec other\.toml") as caught:
        plan_build(workspace, "other")
    assert caught.value.hint == "write it under specs/"


def test_a_missing_tokenizer_is_named(world: World) -> None:
    (world.root / "tokenizer.json").unlink()
    with pytest.raises((ConfigError, NotFound), match=r"tokenizer\.json"):
        plan(world)


def test_a_tokenizer_file_that_is_none_is_named(world: World) -> None:
    (world.root / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"tokenizer\.json"):
        plan(world)


def test_an_end_of_document_that_the_tokenizer_does_not_have_is_named(world: World) -> None:
    edit_spec(world, "<|endoftext|>", "<|nowhere|>")
    with pytest.raises(ConfigError, match="nowhere"):
        plan(world)


def test_an_end_of_document_that_a_text_can_spell_is_refused(world: World) -> None:
    edit_spec(world, "<|endoftext|>", "e")
    with pytest.raises(ConfigError, match="cannot end documents"):
        plan(world)


def test_a_source_that_matches_nothing_is_named(world: World) -> None:
    shutil.rmtree(world.root / "text" / "help")
    with pytest.raises((ConfigError, NotFound), match="help"):
        plan(world)


def test_nothing_is_new_only_against_a_version(world: World) -> None:
    with pytest.raises(Conflict, match="does not exist"):
        nothing_new(plan(world), 0.1)
