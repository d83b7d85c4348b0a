"""Addresses are looked up in the user's lists, however they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError, NotFound
from pipelines.signals.addresses import addresses_of
from pipelines.signals.keyset import contains, key_set
from pipelines.signals.urls import ADDRESS, DOMAIN, WORD, Urls, url_rules
from pipelines.spec.urls import UrlsSpec, urls_spec


def write(root: Path, name: str, *lines: str) -> str:
    (root / name).write_text("\n".join(lines), encoding="utf-8")
    return name


def judged(spec: UrlsSpec, root: Path, *urls: str | None) -> list[tuple[int, int]]:
    signals = Urls(spec, root).apply(pa.table({"url": pa.array(urls, pa.string())})).signals
    columns = (signals["url_denied"].to_pylist(), signals["url_allowed"].to_pylist())
    return list(zip(*columns, strict=True))


def test_a_domain_covers_its_subdomains_and_no_other_name(tmp_path: Path) -> None:
    spec = UrlsSpec(denied_domains=write(tmp_path, "d", "# spam", "Example.org", "bücher.example"))
    urls = (
        "https://example.org/",
        "http://user@a.b.EXAMPLE.org.:8080/x",
        "https://notexample.org/",
        "https://example.org.evil.net/",
        "https://xn--bcher-kva.example/x",
        None,
        "http://[broken/",
    )
    denied = [row[0] for row in judged(spec, tmp_path, *urls)]
    assert denied == [1, 1, 0, 0, 1, 0, 0]


def test_an_address_is_the_same_with_and_without_scheme_and_slash(tmp_path: Path) -> None:
    spec = UrlsSpec(denied_urls=write(tmp_path, "u", "https://www.example.org/page/?a=1"))
    urls = ("http://example.org/page?a=1", "example.org/page/?a=1#x", "example.org/page?a=2")
    assert [row[0] for row in judged(spec, tmp_path, *urls)] == [ADDRESS, ADDRESS, 0]


def test_only_allowed_domains_where_there_is_a_list(tmp_path: Path) -> None:
    spec = UrlsSpec(allowed_domains=write(tmp_path, "a", "gov.example"))
    urls = ("https://www.gov.example/x", "https://other.example/", None)
    assert [row[1] for row in judged(spec, tmp_path, *urls)] == [1, 0, 0]
    assert [rule.name for rule in url_rules(spec)] == ["urls.allowed"]


def test_it_is_told_which_list_denies(tmp_path: Path) -> None:
    spec = UrlsSpec(
        write(tmp_path, "d", "*.example.org"),
        write(tmp_path, "u", "example.net/page", "sub.example.org"),
        write(tmp_path, "w", "casino", "free money", "赌场"),
    )
    urls = (
        "https://sub.example.org/casino",
        "https://www.example.net/page/#casino",
        "https://casino.example.net/page",
        "https://example.net/get-free%20money?x",
        "https://example.net/%E8%B5%8C%E5%9C%BA",
        "https://casinos.example.net/",
        "https://example.net/page/2",
        None,
    )
    expected = [DOMAIN, ADDRESS, WORD, WORD, WORD, 0, 0, 0]
    assert [row[0] for row in judged(spec, tmp_path, *urls)] == expected
    assert [rule.name for rule in url_rules(UrlsSpec(denied_words="w"))] == ["urls.denied"]


@pytest.mark.parametrize(
    ("url", "address", "host"),
    [
        ("https://user:pass@Example.ORG.:8080/A/b/?q=/#f", "example.org/A/b?q=/", 11),
        ("  http://example.org  ", "example.org", 11),
        ("//example.org\\a\\b?c\\d", "example.org/a/b?c\\d", 11),
        ("http:///example.org///", "example.org", 11),
        ("example.org:443/x", "example.org/x", 11),
        ("http://[2001:DB8::1]:80/x", "[2001:db8::1]/x", 13),
        ("http://ex%61mple.org/%61", "example.org/%61", 11),
        ("https://BÜCHER.example./é", "xn--bcher-kva.example/é", 21),
        ("http://exa\tmple.org/a\nb", "example.org/ab", 11),
        ("mailto:somebody@example.org", "example.org", 11),
        ("http://[broken/x", "/x", 0),
        ("/only/a/path", "/only/a/path", 0),
        ("", "", 0),
    ],
)
def test_an_address_has_one_spelling(url: str, address: str, host: int) -> None:
    found = addresses_of(pa.array(["x", url], pa.large_string()).slice(1))
    assert (found.texts.to_pylist(), found.hosts.tolist()) == ([address], [host])


URL = st.lists(
    st.sampled_from(
        ["http://", "//", "a", "Ü", "@", ":", "8", "/", "?", "#", "[", "]", ".", "%41"]
    ),
    max_size=9,
).map("".join)


@given(st.lists(URL | st.text(max_size=12), max_size=6))
@settings(deadline=None, max_examples=200)
def test_any_text_has_an_address_wherever_it_stands(urls: list[str]) -> None:
    together = addresses_of(pa.array(urls, pa.large_string()))
    alone = [addresses_of(pa.array([url], pa.large_string())) for url in urls]
    assert together.texts.to_pylist() == [found.texts[0].as_py() for found in alone]
    assert together.hosts.tolist() == [int(found.hosts[0]) for found in alone]
    for text, host in zip(together.texts.to_pylist(), together.hosts, strict=True):
        assert 0 <= host <= len(text.encode())


@given(st.lists(st.text("ab.", min_size=1, max_size=6), max_size=30), st.data())
@settings(deadline=None)
def test_a_set_of_keys_holds_its_keys_and_no_others(keys: list[str], data: st.DataObject) -> None:
    found = key_set(pa.array(keys, pa.large_string()))
    asked = data.draw(st.text("ab.", max_size=6))
    raw = np.frombuffer(f"-{asked}-".encode(), np.uint8)
    assert contains(found, raw, 1, len(raw) - 1) == (asked in keys)


def test_what_is_no_domain_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"d: 'example\.org/page' is no domain"):
        Urls(UrlsSpec(denied_domains=write(tmp_path, "d", "a.org", "example.org/page")), tmp_path)


def test_the_lists_content_is_part_of_the_identity(tmp_path: Path) -> None:
    spec = UrlsSpec(denied_domains=write(tmp_path, "d", "a.example", "b.example"))
    one = Urls(spec, tmp_path).transform()
    write(tmp_path, "d", "b.example", "", "# a remark", "a.example")
    assert Urls(spec, tmp_path).transform().digest() == one.digest()
    write(tmp_path, "d", "b.example")
    assert Urls(spec, tmp_path).transform().digest() != one.digest()


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="gone: there is no such file"):
        Urls(UrlsSpec(denied_domains="gone"), tmp_path)
    with pytest.raises(ConfigError, match="leads out of the workspace"):
        Urls(UrlsSpec(denied_domains="../../etc/hosts"), tmp_path)
    (tmp_path / "bad").write_bytes(b"a\xff")
    with pytest.raises(ConfigError, match="bad: not UTF-8 in line 1"):
        Urls(UrlsSpec(denied_domains="bad"), tmp_path)
    with pytest.raises(ConfigError, match="no list at all"):
        urls_spec({}, "news.toml")
