"""The act urls: whether a document's address stands on a list of the user's.

Domains are compared in lower case and in their ASCII form (IDNA), without port, user or
trailing dot; a domain covers its subdomains. Documents without an address are on no list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import numpy as np
import pyarrow as pa

from lineage.digest import digest_of
from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.clean.act import Effect
from pipelines.probe import behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.spec.urls import UrlsSpec
from pipelines.transform import Transform

_REVISION = 1
_PROBE = (
    "https://www.example.org/a/",
    "http://user@Sub.Example.ORG:8080/a?b=c#d",
    "HTTPS://b\u00fccher.example./",
    "//example.net/x",
    "example.com",
    "not an address",
    "http://[broken/",
)


class Urls:
    """Looks addresses up: the signals ``url_denied`` and ``url_allowed``, 0 or 1.

    Memory: about 120 bytes an entry of the lists.

    Args:
        root: the workspace's root, below which the lists lie.

    Raises:
        NotFound, ConfigError: a list is missing, or not a file of UTF-8 below the root.
    """

    name = "urls"
    columns = (pa.field("url_denied", pa.int64()), pa.field("url_allowed", pa.int64()))

    def __init__(self, spec: UrlsSpec, root: Path) -> None:
        lists = {key: _lines(root, getattr(spec, key)) for key in UrlsSpec.__slots__}
        self._digests = {key: _digest(lines) for key, lines in lists.items()}
        self._domains = {_ascii(line) for line in lists["denied_domains"]}
        self._urls = {_bare(line) for line in lists["denied_urls"]}
        self._allowed = {_ascii(line) for line in lists["allowed_domains"]}

    def transform(self) -> Transform:
        """What a build key knows of it: the digest of each list."""
        outputs = (f"{_bare(url)} {_host(url)}".encode() for url in _PROBE)
        return Transform(self.name, _REVISION, dict(self._digests), behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Looks each distinct address up once."""
        words = documents["url"].combine_chunks().dictionary_encode()
        urls = words.dictionary.to_pylist()
        found = np.array([*(self._judged(url) for url in urls), (0, 0)], np.int64).reshape(-1, 2)
        which = np.asarray(words.indices.fill_null(len(urls)))
        denied, allowed = found[which].T
        return Effect(signals={"url_denied": pa.array(denied), "url_allowed": pa.array(allowed)})

    def _judged(self, url: str) -> tuple[int, int]:
        domains = list(_parents(_host(url)))
        denied = _bare(url) in self._urls or not self._domains.isdisjoint(domains)
        return int(denied), int(not self._allowed.isdisjoint(domains))


def url_rules(spec: UrlsSpec) -> Iterator[Rule]:
    """What drops: an address on a denied list, or on no allowed one."""
    if spec.denied_domains or spec.denied_urls:
        yield Rule("urls.denied", "url_denied", Side.MAX, 0)
    if spec.allowed_domains:
        yield Rule("urls.allowed", "url_allowed", Side.MIN, 1)


def _lines(root: Path, name: str | None) -> list[str]:
    if name is None:
        return []
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ConfigError(f"the list {name!r} lies outside the workspace", "copy it there")
    try:
        text = path.read_text("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise NotFound(f"the list {name!r}: there is no such file") from None
    except UnicodeDecodeError as wrong:
        raise ConfigError(f"the list {name!r} is not UTF-8 at byte {wrong.start}") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unavailable(f"the list {name!r} cannot be read: {reason}") from None
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return sorted({line for line in lines if line})


def _digest(lines: Iterable[str]) -> str:
    return str(digest_of("\n".join(lines).encode()))


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url if "//" in url else f"//{url}")
    except ValueError:
        return None


def _host(url: str) -> str:
    parts = _split(url.strip())
    host = None if parts is None else parts.hostname
    return "" if host is None else _ascii(host)


def _ascii(host: str) -> str:
    bare = host.strip().rstrip(".").lower()
    try:
        return bare.encode("idna").decode("ascii") if not bare.isascii() else bare
    except UnicodeError:
        return bare


def _bare(url: str) -> str:
    """An address without scheme, user, port, ``www.``, fragment and a slash at the end."""
    parts = _split(url.strip())
    if parts is None:
        return url
    query = f"?{parts.query}" if parts.query else ""
    return _host(url).removeprefix("www.") + parts.path.rstrip("/") + query


def _parents(host: str) -> Iterator[str]:
    while host:
        yield host
        host = host.partition(".")[2]
