from __future__ import annotations

import os
from typing import Any

import pytest

from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.ingest.places.files import list_files, reading


def paths(folder: Any, path: str, format: str = "jsonl") -> list[str]:  # noqa: A002
    return [file.path for file in list_files(folder.source(path, format), folder.root)]


def test_a_glob_gives_its_files_in_sorted_order(folder: Any) -> None:
    for name in ("data/b.jsonl", "data/a.jsonl", "data/c.txt", "data/.hidden.jsonl"):
        folder.write(name, b"{}\n")
    assert paths(folder, "data/*.jsonl") == ["data/a.jsonl", "data/b.jsonl"]


def test_two_stars_reach_any_depth(folder: Any) -> None:
    for name in ("data/a.jsonl", "data/x/b.jsonl", "data/x/y/c.jsonl", "data/x/y/d.txt"):
        folder.write(name, b"{}\n")
    deep = ["data/a.jsonl", "data/x/b.jsonl", "data/x/y/c.jsonl"]
    assert paths(folder, "data/**/*.jsonl") == deep
    assert paths(folder, "**/y/*.jsonl") == deep[2:]
    assert paths(folder, "data/[wx]/?.jsonl") == deep[1:2]


def test_a_folder_gives_every_file_of_its_format(folder: Any) -> None:
    for name in (
        "d/a.jsonl",
        "d/b.jsonl.gz",
        "d/x/c.NDJSON",
        "d/x/d.json.zst",
        "d/e.txt",
        "d/f",
        "d/g.md",
        "d/h.html.xz",
        "d/cache-1.arrow",
        "d/data-0.arrow",
    ):
        folder.write(name, b"")
    assert paths(folder, "d") == ["d/a.jsonl", "d/b.jsonl.gz", "d/x/c.NDJSON"]
    assert paths(folder, "d", "json") == ["d/x/d.json.zst"]
    assert paths(folder, "d", "html") == ["d/h.html.xz"]
    assert paths(folder, "d", "arrow") == ["d/data-0.arrow"]
    assert paths(folder, "d/", "text") == ["d/e.txt"]


def test_names_with_a_line_feed_spaces_or_brackets_are_fine(folder: Any) -> None:
    for name in ("a\nb.jsonl", "c d.jsonl", "e[1].jsonl"):
        folder.write(name, b"{}\n")
    assert paths(folder, "*.jsonl") == ["a\nb.jsonl", "c d.jsonl", "e[1].jsonl"]
    assert paths(folder, "e[1].jsonl") == ["e[1].jsonl"]


def test_nothing_to_read_is_an_error_that_names_source_and_path(folder: Any) -> None:
    folder.write("data/a.txt", b"")
    for path in ("data/*.jsonl", "data", "gone.jsonl", "gone/*.jsonl", "data/a.txt/x.jsonl"):
        with pytest.raises(NotFound, match="source wiki: ") as error:
            paths(folder, path)
        assert path in str(error.value)


def test_a_folder_where_a_file_was_meant_is_named(folder: Any) -> None:
    folder.write("data/a.jsonl", b"{}\n")
    (folder.root / "data" / "x.jsonl").mkdir()
    with pytest.raises(ConfigError, match=r"data/x\.jsonl.*a folder where a file was meant"):
        paths(folder, "data/*.jsonl")


def test_something_that_is_no_file_is_refused(folder: Any) -> None:
    os.mkfifo(folder.root / "pipe.jsonl")
    with pytest.raises(ConfigError, match="neither a file nor a folder"):
        paths(folder, "*.jsonl")


def test_a_name_that_is_not_utf8_is_refused(folder: Any) -> None:
    try:
        (folder.root / os.fsdecode(b"a\xff.jsonl")).write_bytes(b"{}\n")
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    with pytest.raises(ConfigError, match="not UTF-8"):
        paths(folder, "*.jsonl")


def test_links_inside_the_workspace_are_followed(folder: Any) -> None:
    folder.write("real/a.jsonl", b"{}\n")
    (folder.root / "data").mkdir()
    (folder.root / "data" / "b.jsonl").symlink_to("../real/a.jsonl")
    (folder.root / "data" / "sub").symlink_to("../real")
    assert paths(folder, "data/**/*.jsonl") == ["data/b.jsonl", "data/sub/a.jsonl"]


def test_links_that_leave_the_workspace_are_refused(folder: Any) -> None:
    outside = folder.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_bytes(b"{}\n")
    (folder.root / "file.jsonl").symlink_to(outside / "secret.jsonl")
    (folder.root / "way").symlink_to(outside)
    for path in ("file.jsonl", "*.jsonl", "way", "way/secret.jsonl", "way/*.jsonl", "**/s*.jsonl"):
        with pytest.raises(ConfigError, match="leaves the workspace"):
            paths(folder, path)


def test_a_path_outside_the_workspace_is_read_where_it_is_named(folder: Any) -> None:
    outside = folder.root.parent / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "a.jsonl").write_bytes(b"{}\n")
    name = (outside / "sub" / "a.jsonl").as_posix()
    patterns = (name, f"{outside}", f"{outside}/**/*.jsonl", "../outside/sub/*.jsonl")
    assert [paths(folder, path) for path in patterns] == [[name]] * 4
    (outside / "b.jsonl").symlink_to(folder.write("own.jsonl", b"{}\n"))
    with pytest.raises(ConfigError, match="symbolic link"):
        paths(folder, f"{outside}")


def test_loops_of_links_are_refused(folder: Any) -> None:
    folder.write("data/a.jsonl", b"{}\n")
    (folder.root / "data" / "up").symlink_to("../data")
    (folder.root / "self.jsonl").symlink_to("self.jsonl")
    for path in ("data", "data/**/*.jsonl", "self.jsonl", "*.jsonl"):
        with pytest.raises(ConfigError, match="loop of symbolic links"):
            paths(folder, path)


def test_a_link_that_points_nowhere_is_not_found(folder: Any) -> None:
    (folder.root / "a.jsonl").symlink_to("gone.jsonl")
    with pytest.raises(NotFound, match=r"a\.jsonl"):
        paths(folder, "*.jsonl")


def test_errors_of_the_system_become_ours() -> None:
    for theirs, ours in ((PermissionError(), ConfigError), (OSError(5, "I/O error"), Unavailable)):
        with pytest.raises(ours, match="the file"), reading("the file"):
            raise theirs
