"""The section ``[urls]``: lists of addresses and domains that documents may not be from."""

from __future__ import annotations

from dataclasses import dataclass

from lineage.fields import Fields


@dataclass(frozen=True, slots=True)
class UrlsSpec:
    """Files of the workspace, one entry a line.

    Attributes:
        denied_domains: domains; their subdomains are denied too.
        denied_urls: whole addresses, without scheme, ``www.`` and a slash at the end.
        denied_words: words and phrases that may not stand in an address.
        allowed_domains: when there are any, documents of all others are dropped.
    """

    denied_domains: str | None = None
    denied_urls: str | None = None
    denied_words: str | None = None
    allowed_domains: str | None = None


def urls_spec(table: object, where: str) -> UrlsSpec:
    """Reads ``[urls]``.

    Raises:
        ConfigError: an unknown key, a wrong type, or no list at all.
    """
    fields = Fields(table, f"{where}, [urls]", UrlsSpec.__slots__)
    lists = {key: fields.text(key) if key in fields else None for key in UrlsSpec.__slots__}
    if not any(lists.values()):
        fields.refuse("denied_domains", "no list at all", "name a file of the workspace")
    return UrlsSpec(**lists)
