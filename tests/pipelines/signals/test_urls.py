"""Addresses are looked up in the user's lists, however they are written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lineage.errors import ConfigError, NotFound
from pipelines.signals.urls import Urls, url_rules
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
    assert [row[0] for row in judged(spec, tmp_path, *urls)] == [1, 1, 0]


def test_only_allowed_domains_where_there_is_a_list(tmp_path: Path) -> None:
    spec = UrlsSpec(allowed_domains=write(tmp_path, "a", "gov.example"))
    urls = ("https://www.gov.example/x", "https://other.example/", None)
    assert [row[1] for row in judged(spec, tmp_path, *urls)] == [1, 0, 0]
    assert [rule.name for rule in url_rules(spec)] == ["urls.allowed"]


def test_the_lists_content_is_part_of_the_identity(tmp_path: Path) -> None:
    spec = UrlsSpec(denied_domains=write(tmp_path, "d", "a.example", "b.example"))
    one = Urls(spec, tmp_path).transform()
    write(tmp_path, "d", "b.example", "", "# a remark", "a.example")
    assert Urls(spec, tmp_path).transform().digest() == one.digest()
    write(tmp_path, "d", "b.example")
    assert Urls(spec, tmp_path).transform().digest() != one.digest()


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="'gone'"):
        Urls(UrlsSpec(denied_domains="gone"), tmp_path)
    with pytest.raises(ConfigError, match="outside the workspace"):
        Urls(UrlsSpec(denied_domains="../../etc/hosts"), tmp_path)
    (tmp_path / "bad").write_bytes(b"a\xff")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 1"):
        Urls(UrlsSpec(denied_domains="bad"), tmp_path)
    with pytest.raises(ConfigError, match="no list at all"):
        urls_spec({}, "news.toml")
