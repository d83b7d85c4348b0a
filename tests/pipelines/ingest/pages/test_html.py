"""Pages: their text, their licence, and markup that would cost more than it is worth."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from lineage.ids import RecordKey
from pipelines.ingest.pages import whole
from pipelines.ingest.pages.extract import MAX_DEPTH, text_of_page
from pipelines.ingest.pages.shape import MAX_ANCESTORS, MAX_COMPARISONS, MAX_NODES, shape_of
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec
from tests.pipelines.ingest.conftest import HASHER

PAGE = """<!doctype html><html><head><title>Title</title><style>p{}</style></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/more">More</a></li></ul></nav>
<main><h1>Head</h1><p>First <b>bold</b>
word.</p><p>Second<br>line <a href="https://a.example/">link</a><img alt="picture" src="x"></p>
<ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul><pre>  code
    here</pre><table><tr><td>1</td><td>2</td></tr></table>
<form><input value="form"><textarea>area</textarea></form><script>x = "script"</script></main>
<footer>Foot</footer></body></html>"""


def source(**fields: str) -> SourceSpec:
    spec = {"encoding": "detect", **fields}
    return SourceSpec("wiki", "a.html", "html", "MIT", "user", "2026-01", **spec)


def refusal(page: str) -> str:
    with pytest.raises(Refused) as refused:
        text_of_page(page.encode(), source())
    return str(refused.value.reason)


def depth_of(page: bytes) -> int:
    """How deep the parser's own tree is below the body."""
    body = HTMLTree.parse(page.decode()).body
    deepest, open_ = 0, [(body, 0)]
    while open_:
        element, depth = open_.pop()
        deepest = max(deepest, depth)
        child = None if element is None else element.first_element_child
        while child is not None:
            open_.append((child, depth + 1))
            child = child.next_element_sibling
    return deepest


def test_paragraphs_lists_cells_and_code_stay_apart() -> None:
    text = text_of_page(PAGE.encode(), source(extract="all")).text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    assert lines[2:] == [
        "Head", "First bold word.", "Second", "line link", "• one", "• two", "1. deep",
        "code", "here", "1\t\t2", "Foot",
    ]  # fmt: skip
    for unseen in ("Title", "p{}", "picture", "form", "area", "script", "a.example"):
        assert unseen not in text


def test_main_content_goes_without_the_frame_of_the_page(folder: Any) -> None:
    folder.write("a.html", PAGE.encode())
    found = folder.read(folder.source("a.html", "html"))
    (row,) = found.records.to_pylist()
    assert row["text"].startswith("Head\n\nFirst bold word.\n\nSecond\nline link")
    assert "Foot" not in row["text"]
    assert "Home" not in row["text"]
    key = RecordKey.content(PAGE.encode())
    assert row["document_id"] == HASHER.document_id("wiki", key)
    assert row["raw_content_id"] == HASHER.content_id(PAGE.encode())
    assert row["content_id"] == HASHER.content_id(row["text"].encode())
    assert (row["url"], row["num_bytes"]) == (None, len(PAGE.encode()))


def test_a_page_without_text_is_an_empty_text_and_no_bytes_are_a_row(folder: Any) -> None:
    folder.write("a.html", b"<html><body><img></body></html>")
    folder.write("b.html", b"")
    folder.write("c.html", b"<p>a\0b")
    found = folder.read(folder.source("*.html", "html"))
    assert found.texts == [""]
    assert sorted(found.reasons) == ["empty_file", "nul_character"]


@pytest.mark.parametrize(
    "head",
    [
        b"<meta charset=windows-1251>",
        b'<META http-equiv="Content-Type" content="text/html; charset=Windows-1251">',
        b'<?xml version="1.0" encoding="windows-1251"?>',
        b"<!-- " + b"x" * 2000 + b" --><meta charset='cp1251'>",
    ],
)
def test_a_page_names_its_encoding(head: bytes) -> None:
    page = head + b"<p>" + "вот".encode("cp1251")
    found = text_of_page(page, source(extract="all"))
    assert (found.text.split()[-1], found.encoding) == ("вот", "cp1251")
    assert text_of_page(page, source(extract="all"), ("koi8-r",)).encoding == "koi8-r"


def test_a_page_that_says_utf16_in_ascii_is_not_in_it() -> None:
    page = b"<meta charset=utf-16><p>" + "Größe und Güte für Jäger".encode("cp1252")
    found = text_of_page(page, source(extract="all"))
    assert found == type(found)("Größe und Güte für Jäger", "cp1252", None)


@pytest.mark.parametrize(
    ("element", "licence"),
    [
        ('<a rel="license" href="https://cc.example/by/4.0/">CC</a>', "https://cc.example/by/4.0/"),
        ("<link href='https://cc.example/?a&amp;b' rel=LICENSE>", "https://cc.example/?a&b"),
        ('<a rel="nofollow license noopener" href="/l">L</a>', "/l"),
        ('<a rel="license">no address</a><a rel="license" href="/l">L</a>', "/l"),
        ('<a rel="licensee" href="/l">L</a>', None),
        ('<a href="/license">licence</a>', None),
        ("<!-- <a rel='license' href='/l'> -->", None),
        ('<script>\'<a rel="license" href="/l">\'</script>', None),
    ],
)
def test_the_licence_is_the_address_behind_its_link(element: str, licence: str | None) -> None:
    assert text_of_page((PAGE + element).encode(), source()).licence == licence


@pytest.mark.parametrize(
    "opened",
    ["<div>", "<b>", "<x-y>", "<div><span><b x=%d>", "<ul><li>", "<table><tr><td>", "<svg><g>",
     "<div><table><td></div>", "<li><section>", "<font size=%d><p>", "<svg><style><g>"],
)  # fmt: skip
def test_elements_nested_too_deep_are_refused(opened: str) -> None:
    page = "".join(opened % i if "%d" in opened else opened for i in range(MAX_DEPTH * 2)) + "x"
    assert refusal(page) == "nested_too_deep"


def test_markup_that_is_only_long_is_read() -> None:
    rows = 3 * MAX_DEPTH
    for part in (
        "<p>x<br>", "<li>x", "<p><b>x", "<tr><td>x<td><font size=%d>y", "<h2>x<h3>y", "<dt>x<dd>y",
        "<div><span>x</div>", "<option>x", "<a name=%d>x", "<img alt=%d>", "<p><i>x</i></p>",
    ):  # fmt: skip
        inner = "".join(part % i if "%d" in part else part for i in range(rows))
        page = f"<table>{inner}</table>" if part.startswith("<tr>") else inner
        text_of_page(page.encode(), source(extract="all"))
    script = f"<script>{'<div>' * rows}</script><!-- {'<div>' * rows} --><p>x"
    assert text_of_page(script.encode(), source(extract="all")).text == "x"


def test_a_small_page_that_asks_for_gigabytes_is_refused_at_once() -> None:
    anew = "<div>" + "".join(f"<b x={i}>" for i in range(400)) + "</div>" + "<div>x</div>" * 20_000
    attributes = "<a " + " ".join(f"a{i}=1" for i in range(60_000)) + ">"
    listed = "<ul>" * 500 + "<li>x" * 80_000
    start = time.process_time()
    for page in (anew, attributes, listed, "<br>" * (MAX_NODES + 1)):
        assert refusal(page) == "page_too_complex"
    assert time.process_time() - start < 20
    assert shape_of(anew.encode()).nodes > MAX_NODES
    assert shape_of(attributes.encode()).comparisons > MAX_COMPARISONS
    assert shape_of(listed.encode()).ancestors > MAX_ANCESTORS


def test_a_page_over_the_bound_of_bytes_is_a_row(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "MAX_FILE_BYTES", 100_000)
    folder.write("a.html", b"<p>" + b"x" * 100_000)
    found = folder.read(folder.source("a.html", "html"))
    assert found.reasons == ["text_too_long"]
    assert found.num_bytes == 100_003


NAMES = (
    "div", "p", "b", "i", "a", "table", "tr", "td", "li", "ul", "h1", "span", "x-y", "dd",
    "section", "blockquote", "button", "font", "caption", "object", "option", "svg", "g",
)  # fmt: skip
MARKUP = st.lists(
    st.sampled_from(
        [*(f"<{name}>" for name in NAMES), *(f"</{name}>" for name in NAMES),
         "<i x=1>", "<font c=1>", "<font c=2>", "<br>", "text", "<g/>", "<!-- <div> -->"]
    ),
    max_size=60,
)  # fmt: skip


@given(MARKUP)
@settings(deadline=None, max_examples=200)
def test_the_measured_depth_bounds_the_depth_of_the_tree(parts: list[str]) -> None:
    page = "".join(parts).encode()
    # Each table brings a body, and each row one more element, that stand in no markup.
    hidden = 2 * page.count(b"<table>") + 3
    assert depth_of(page) <= shape_of(page).depth + hidden


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=100)
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    for page in (noise, b"<div " + noise + b">x", b"<!--" + noise, b"<p>&" + noise):
        try:
            text_of_page(page, source(extract="all")).text.encode()
        except Refused:
            continue


def test_the_text_of_a_page_is_always_the_same() -> None:
    texts = {text_of_page(PAGE.encode(), source()).text for _ in range(20)}
    assert len(texts) == 1
    assert os.linesep == "\n" or "\r" not in texts.pop()
