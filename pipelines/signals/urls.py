"""The act urls: whether a document's address stands on a list of the user's.

A domain covers its subdomains. An address is compared as a whole, however it is spelled
(`pipelines.signals.addresses`), with or without ``www.``. A word is looked for among the
words of the address. Documents without an address are on no list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lineage.digest import Digest
from lineage.errors import ConfigError
from pipelines.clean.act import Effect
from pipelines.clean.codepoints import text_bytes
from pipelines.clean.nfc import replaced
from pipelines.listed import Listed, read_list
from pipelines.probe import behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.signals.addresses import Addresses, addresses_of
from pipelines.signals.keyset import KeySet, contains, key_set
from pipelines.signals.phrases import Phrases, count, phrases_of
from pipelines.signals.units import Units
from pipelines.spec.urls import UrlsSpec
from pipelines.transform import Transform

_REVISION = 1
# Why an address is denied.
DOMAIN, ADDRESS, WORD = 1, 2, 3
_PROBE = (
    "https://www.example.org/a/",
    "http://user@Sub.Example.ORG:8080/a?b=c#d",
    "HTTPS://b\u00fccher.example./",
    "//example.net/x",
    "example.com",
    "not an address",
    "http://[broken/",
    "http://[::1]:80/x//?y=/",
    "https://ex%61mple.org\\a\\b?c\\d",
    "mailto:somebody@example.org",
)
_DOT, _W = b".w"
Flags = NDArray[np.bool_]


class Urls:
    """Looks addresses up: the signals ``url_denied`` and ``url_allowed``.

    Denied is 0 for no, 1 by its domain, 2 as an address, 3 by a word; allowed is 0 or 1.

    Memory: the lists, and 16 to 24 bytes an entry.

    Args:
        root: the workspace's root, below which the lists lie.

    Raises:
        NotFound, ConfigError, Unavailable: a list cannot be read, or an entry is none.
    """

    name = "urls"
    columns = (pa.field("url_denied", pa.int64()), pa.field("url_allowed", pa.int64()))

    def __init__(self, spec: UrlsSpec, root: Path) -> None:
        names = {key: getattr(spec, key) for key in UrlsSpec.__slots__}
        lists = {key: read_list(root, name) for key, name in names.items() if name}
        self._digests = {key: item.digest for key, item in lists.items()}
        self._denied = _domains(lists.get("denied_domains"))
        self._allowed = _domains(lists.get("allowed_domains"))
        self._addresses = _whole_addresses(lists.get("denied_urls"))
        words = lists.get("denied_words")
        self._words: Phrases | None = None if words is None else phrases_of(words)
        self._units = Units()

    @property
    def files(self) -> tuple[Digest, ...]:
        """Digests of the lists' entries: a build that sees others is another build."""
        return tuple(self._digests.values())

    def transform(self) -> Transform:
        """What a build key knows of it: the entries of each list."""
        found = addresses_of(pa.array(_PROBE, pa.large_string()))
        rows = zip(found.texts.to_pylist(), found.hosts.tolist(), strict=True)
        digests = {key: str(digest) for key, digest in self._digests.items()}
        outputs = (f"{text} {host}".encode() for text, host in rows)
        return Transform(self.name, _REVISION, digests, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Looks the address of each document up."""
        urls = pc.fill_null(documents["url"].combine_chunks().cast(pa.large_string()), "")
        addresses = addresses_of(urls)
        denied = np.where(self._has_word(urls), WORD, 0)
        denied[_has(self._addresses, addresses, domains=False)] = ADDRESS
        denied[_has(self._denied, addresses, domains=True)] = DOMAIN
        allowed = _has(self._allowed, addresses, domains=True).astype(np.int64)
        return Effect(signals={"url_denied": pa.array(denied), "url_allowed": pa.array(allowed)})

    def _has_word(self, urls: pa.LargeStringArray) -> Flags:
        if self._words is None:
            return np.zeros(len(urls), np.bool_)
        places = np.flatnonzero(np.asarray(pc.match_substring(urls, "%")))
        plain = [unquote(urls[int(place)].as_py()) for place in places]
        spelled = replaced(urls, places, pa.array(plain, pa.large_string()))
        times, _ = count(*self._units.of(spelled), self._words)
        return times > 0


def url_rules(spec: UrlsSpec) -> Iterator[Rule]:
    """What drops: an address on a denied list, or on no allowed one."""
    if spec.denied_domains or spec.denied_urls or spec.denied_words:
        yield Rule("urls.denied", "url_denied", Side.MAX, 0)
    if spec.allowed_domains:
        yield Rule("urls.allowed", "url_allowed", Side.MIN, 1)


def _domains(listed: Listed | None) -> KeySet:
    entries = _entries(listed)
    # As block lists write them: `*.example.org` and `.example.org` are example.org.
    found = addresses_of(pc.replace_substring_regex(entries, r"^(\*?\.)+", ""))
    wrong = np.flatnonzero(found.hosts != np.diff(text_bytes(found.texts)[1]))
    if listed is not None and len(wrong):
        entry = entries[int(wrong[0])].as_py()[:80]
        hint = "addresses with a path belong into denied_urls"
        raise ConfigError(f"{listed.name}: {entry!r} is no domain", hint)
    return key_set(found.texts)


def _whole_addresses(listed: Listed | None) -> KeySet:
    texts, _ = addresses_of(_entries(listed))
    return key_set(pc.replace_substring_regex(texts, r"^www\.", ""))


def _entries(listed: Listed | None) -> pa.LargeStringArray:
    return pa.array([], pa.large_string()) if listed is None else listed.entries


def _has(keys: KeySet, addresses: Addresses, domains: bool) -> Flags:
    flags = np.zeros(len(addresses.hosts), np.bool_)
    data, starts = text_bytes(addresses.texts)
    look = _domains_in if domains else _addresses_in
    if len(keys.starts) > 1:
        look(keys, data, starts, addresses.hosts, flags)
    return flags


@numba.njit(cache=True, nogil=True)
def _domains_in(
    keys: KeySet,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    hosts: NDArray[np.int64],
    flags: Flags,
) -> None:
    for row in range(len(hosts)):
        end = starts[row] + hosts[row]
        for at in range(starts[row], end):
            # The host itself, and what stands behind each of its dots.
            if (at == starts[row] or data[at - 1] == _DOT) and contains(keys, data, at, end):
                flags[row] = True
                break


@numba.njit(cache=True, nogil=True)
def _addresses_in(
    keys: KeySet,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    hosts: NDArray[np.int64],
    flags: Flags,
) -> None:
    for row in range(len(hosts)):
        at, end = starts[row], starts[row + 1]
        if hosts[row] > 4:
            www = data[at] == _W and data[at + 1] == _W and data[at + 2] == _W
            at += 4 if www and data[at + 3] == _DOT else 0
        flags[row] = hosts[row] > 0 and contains(keys, data, at, end)
