"""The documents keep up with the code: commands, options, exit codes, formats and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from lineage import errors
from lineage.ledger.statement import PREDICATES
from shardline.cli.app import INTERRUPTED, app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROOMS = ("flows", "lineage", "pipelines", "shardline", "storage_tiers")
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
DONE, FAILED = 0, 1


def read(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def commands() -> Iterator[tuple[str, Any]]:
    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        inside = getattr(command, "commands", {})
        if not inside:
            yield name, command
        for child, found in inside.items():
            yield from walk(f"{name} {child}", found)

    yield from walk("shardline", typer.main.get_command(app))


COMMANDS = dict(commands())


def section_of(command: str) -> str:
    """The part of docs/cli.md under the heading that names a command."""
    found = re.search(rf"^#+ .*\b{re.escape(command)}\b(?! \w).*$", read("cli.md"), re.MULTILINE)
    assert found, f"docs/cli.md has no heading for `{command}`"
    rest = read("cli.md")[found.end() :]
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_each_of_its_options_stands_in_the_documents(command: str) -> None:
    section = section_of(command)
    for parameter in COMMANDS[command].params:
        for option in parameter.opts:
            known = option in section or option in ("--help", "--workspace", "-w", "--json")
            assert known or not option.startswith("-"), f"`{command}` has no word on {option}"


def test_the_options_that_many_commands_share_are_told_once() -> None:
    for option in ("--workspace", "-w", "SHARDLINE_WORKSPACE", "--json"):
        assert option in read("cli.md")


def test_the_table_of_exit_codes_is_the_tree_of_errors() -> None:
    rows = re.findall(r"^\|\s*`?(\d+)`?\s*\|(.*)\|\s*$", read("cli.md"), re.MULTILINE)
    table = {int(code): words for code, words in rows}
    tree = {kind.exit_code: kind.__name__ for kind in errors.ShardlineError.__subclasses__()}
    assert len(tree) == len(errors.ShardlineError.__subclasses__())
    assert set(table) == {DONE, FAILED, *tree, INTERRUPTED}
    for code, name in tree.items():
        assert name in table[code], f"exit code {code} is {name}"


def test_every_error_that_code_raises_has_an_exit_code_of_the_tree() -> None:
    def kinds(kind: type[errors.ShardlineError]) -> Iterator[type[errors.ShardlineError]]:
        for below in kind.__subclasses__():
            yield below
            yield from kinds(below)

    codes = {kind.exit_code for kind in errors.ShardlineError.__subclasses__()}
    assert {kind.exit_code for kind in kinds(errors.ShardlineError)} == codes


def citations() -> list[tuple[str, str, str]]:
    pattern = re.compile(r"docs/(\w[\w-]*\.md),? +section +(\d+)")
    return [
        (str(path.relative_to(ROOT)), *found)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for found in pattern.findall(" ".join(path.read_text("utf-8").split()))
    ]


def test_every_section_that_the_code_cites_is_there() -> None:
    assert citations()
    for path, page, number in citations():
        heading = re.search(rf"^#+ {number}\. ", read(page), re.MULTILINE)
        assert heading, f"{path} cites section {number} of {page}"


def test_every_file_that_the_code_cites_is_there() -> None:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for cited in re.findall(r"\b((?:docs|tests)/[\w./-]+\.(?:md|json))", path.read_text()):
                assert (ROOT / cited).is_file() or "NAME" in cited, f"{path.name} cites {cited}"


def test_every_predicate_that_the_product_writes_has_its_fields_in_the_formats() -> None:
    written = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            written |= set(re.findall(r"Draft\(\s*\"([a-z-]+)\"", path.read_text("utf-8")))
            written |= set(re.findall(r"_draft\(\s*\"([a-z-]+)\"", path.read_text("utf-8")))
    assert {"genesis", "version", "access", "run", "checkpoint"} <= written <= PREDICATES
    for predicate in written:
        told = re.search(rf"^(#+ |\*\*).*\b{predicate}\b", read("formats.md"), re.MULTILINE)
        assert told, f"docs/formats.md has no word on the predicate {predicate}"


def test_every_vector_is_named_by_the_formats() -> None:
    for path in sorted((ROOT / "tests" / "vectors").glob("*.json")):
        assert path.name in read("formats.md"), path.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_of_the_repository_leads_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links {target}"
    assert not re.search(r"(?<![\w.])/(?:work|home|root|Users)/", text), "a path of a machine"
