"""Markdown: as it is, but for the metadata at its top."""

from __future__ import annotations

from typing import Any

import pytest


def text_of(folder: Any, text: str) -> str:
    folder.write("a.md", text.encode())
    (found,) = folder.read(folder.source("a.md", "markdown")).texts
    return str(found)


@pytest.mark.parametrize(
    "matter",
    [
        "---\ntitle: T\n---\n",
        "---\r\ntitle: T\r\ntags:\r\n- a\r\n\r\n- b\r\n---\r\n",
        "---\n# a comment\ntitle: T\n...\n",
        "---\n---\n",
        '+++\ntitle = "T"\n[params]\nx = 1\n+++\n',
    ],
)
def test_front_matter_is_no_part_of_the_text(folder: Any, matter: str) -> None:
    text = "# Head\n\n<!-- stays -->\n\n---\nkey: stays\n---\n"
    assert text_of(folder, matter + text) == text


@pytest.mark.parametrize(
    "text",
    [
        "---\nProse between two dividing lines.\n\n---\nmore\n",
        "--- not\ntext\n---\n",
        "---\ntitle: never closed\n",
        "\n---\ntitle: not at the top\n---\n",
        "----\ntitle: four dashes\n----\n",
    ],
)
def test_what_only_looks_like_front_matter_stays(folder: Any, text: str) -> None:
    assert text_of(folder, text) == text


def test_a_file_of_front_matter_alone_is_an_empty_text(folder: Any) -> None:
    assert text_of(folder, "---\ntitle: T\n---") == ""


def test_an_encoding_is_detected_and_a_mark_is_dropped(folder: Any) -> None:
    folder.write("a.md", "---\ntitle: T\n---\n# Über\n".encode("utf-16"))
    found = folder.read(folder.source("a.md", "markdown", encoding="detect"))
    assert found.texts == ["# Über\n"]
    assert found.records["encoding"].to_pylist() == ["utf-16-le"]
