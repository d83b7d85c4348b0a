"""Objects of an S3 bucket, to be read: lists and ranges, nothing is ever written.

Endpoint, region and keys come from the environment (``AWS_*``), or from the machine's own
role; never from a spec. What the store answers may hold names of keys and addresses, so
none of it stands in an error: only what it means.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from lineage.errors import (
    AccessDenied,
    ConfigError,
    Conflict,
    NotFound,
    ShardlineError,
    Unavailable,
)

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ClientConfig, RetryConfig, S3Config

T = TypeVar("T")

SCHEME = "s3://"
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_RETRIES: RetryConfig = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
_TIMEOUTS: ClientConfig = {
    "connect_timeout": timedelta(seconds=5),
    "timeout": timedelta(seconds=60),
}
_LIST_ROWS = 1000
# What is listed is held in memory, some 500 bytes an object, and in the plan.
_MAX_LISTED = 5_000_000
# Where keys are asked for last, when the environment names none: a machine of a cloud has a role.
_MACHINE_ROLES = "169.254.169.254"
_NO_KEYS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (public: AWS_SKIP_SIGNATURE=true)"
# What is asked for grows while an object is read on; a small member of it costs itself.
_MAX_AHEAD_BYTES = 8 << 20
# A gap that is cheaper to read over than to ask for anew.
_GAP_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, order=True)
class BucketObject:
    """One object as it was listed.

    Attributes:
        key: its whole name in the bucket.
        size_bytes: its size.
        etag: changes when it is replaced.
    """

    key: str
    size_bytes: int
    etag: str


class Bucket:
    """One bucket, open for reading.

    Retries: up to 4 inside, for 30 seconds; Unavailable may be tried again by the caller.

    Args:
        name: of the bucket.
        environment: where endpoint, region and keys are looked up.

    Raises:
        ConfigError: the name or the endpoint is none, or the endpoint is not encrypted.
    """

    def __init__(self, name: str, environment: Mapping[str, str] = os.environ) -> None:
        self.name = name
        options: ClientConfig = {**_TIMEOUTS}
        endpoint = _endpoint(environment)
        if endpoint is not None:
            options["allow_http"] = endpoint.startswith("http://")
        settings: S3Config = {} if endpoint is None else {"endpoint": endpoint}
        try:
            self._store = S3Store(
                name, config=settings, client_options=options, retry_config=_RETRIES
            )
        except (BaseError, ValueError):
            raise ConfigError(
                f"{SCHEME}{name}: no such bucket can be opened",
                "check the bucket's name and the AWS_* variables",
            ) from None

    def objects(self, folder: str = "") -> Iterator[BucketObject]:
        """All objects below a folder, in no order.

        Args:
            folder: whole parts of keys, without a slash at the end.

        Raises:
            NotFound: there is no such bucket.
            AccessDenied: it may not be listed.
            ConfigError: there are more than five million.
            Unavailable: the store does not answer.
        """
        what, listed = f"{SCHEME}{self.name}/{folder}", 0
        batches = obstore.list(self._store, folder or None, chunk_size=_LIST_ROWS)
        stream = iter(batches)
        while True:
            batch = _asked(what, lambda: next(stream, None))
            if batch is None:
                return
            listed += len(batch)
            if listed > _MAX_LISTED:
                hint = "name a folder further down, in several sources"
                raise ConfigError(f"{what}: more than {_MAX_LISTED:,} objects", hint)
            for found in batch:
                yield BucketObject(found["path"], found["size"], found["e_tag"] or "")

    def find(self, key: str) -> BucketObject | None:
        """The object of a key, or None.

        Raises:
            AccessDenied, Unavailable: as `objects`.
        """
        try:
            found = _asked(f"{SCHEME}{self.name}/{key}", lambda: obstore.head(self._store, key))
        except NotFound:
            return None
        return BucketObject(found["path"], found["size"], found["e_tag"] or "")

    def open(self, listed: BucketObject) -> OpenObject:
        """An object to be read at any place, as it was when it was listed."""
        return OpenObject(self._store, f"{SCHEME}{self.name}/{listed.key}", listed)


class OpenObject:
    """An object that is open for reading; holds up to 8 MiB of it.

    Attributes:
        size_bytes: as it was listed.
    """

    def __init__(self, store: S3Store, shown: str, listed: BucketObject) -> None:
        self._store, self._shown, self._listed = store, shown, listed
        self.size_bytes = listed.size_bytes
        self._held, self._held_at, self._ahead = b"", 0, 0

    def read_at(self, start: int, length: int) -> bytes:
        """Bytes from a place on: as many as asked for, fewer only at the end.

        Raises:
            Conflict: the object was replaced since it was listed.
            NotFound: it is gone.
            AccessDenied: it may not be read.
            Unavailable: the store does not answer.
        """
        end = min(start + length, self.size_bytes)
        if start >= end:
            return b""
        held_end = self._held_at + len(self._held)
        if not self._held_at <= start <= end <= held_end:
            near = self._held_at <= start <= held_end + _GAP_BYTES
            self._ahead = min(2 * max(self._ahead, length), _MAX_AHEAD_BYTES) if near else 0
            # What is held already is not asked for again.
            kept = self._held[start - self._held_at :] if self._held_at <= start < held_end else b""
            to = min(max(end, start + self._ahead), self.size_bytes)
            self._held = kept + self._range(start + len(kept), to)
            self._held_at = start
        at = start - self._held_at
        return self._held[at : at + end - start]

    def close(self) -> None:
        self._held = b""

    def _range(self, start: int, end: int) -> bytes:
        options: GetOptions = {"range": (start, end)}
        if self._listed.etag:
            options["if_match"] = self._listed.etag
        key = self._listed.key
        data = _asked(
            self._shown,
            lambda: bytes(obstore.get(self._store, key, options=options).bytes()),
        )
        if len(data) != end - start:
            raise Conflict(f"{self._shown} changed since it was listed", "build again")
        return data


def bucket_and_key(url: str) -> tuple[str, str]:
    """The parts of ``s3://bucket/key``; the key may be empty, or a pattern.

    Raises:
        ConfigError: it names no bucket, or more than a bucket and a key.
    """
    bucket, _, key = url.removeprefix(SCHEME).partition("/")
    if not url.startswith(SCHEME) or not bucket or not _is_bucket(bucket):
        # It is not shown: somebody may have written keys into it.
        raise ConfigError("a path of S3 names no bucket", "write s3://bucket/folder/*.jsonl")
    return bucket, key


def _is_bucket(name: str) -> bool:
    # Keys in an address (s3://id:secret@bucket) would end in the ledger.
    return all(char.isascii() and (char.isalnum() or char in ".-_") for char in name)


def _endpoint(environment: Mapping[str, str]) -> str | None:
    """The endpoint that the environment names, if any.

    Raises:
        ConfigError: it is no address, or one without encryption that nobody asked for.
    """
    named = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    endpoint = named or environment.get("AWS_ENDPOINT")
    if not endpoint:
        return None
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ConfigError("the endpoint of S3 is no address", "set AWS_ENDPOINT_URL to one")
    if parts.scheme == "http" and not named and parts.hostname not in _LOCAL_HOSTS:
        raise ConfigError(
            "the endpoint of S3 is not encrypted", "name it in AWS_ENDPOINT_URL if that is meant"
        )
    return endpoint


def _asked(what: str, ask: Callable[[], T]) -> T:
    """Asks the store, and turns what it raises into one of ours.

    Raises:
        NotFound, AccessDenied, Conflict, Unavailable: what the store's answer means.
        ConfigError: a name that no object can have.
    """
    try:
        return ask()
    except FileNotFoundError:
        raise NotFound(f"{what}: no such object", "check the path in the spec") from None
    except ValueError:
        raise ConfigError(f"{what!r}: no name of an object", "rename it") from None
    except (BaseError, OSError) as error:
        raise _ours(what, error) from None


def _ours(what: str, error: Exception) -> ShardlineError:
    text, kind = str(error), type(error).__name__
    if _MACHINE_ROLES in text:
        return AccessDenied(f"{what}: there are no credentials", _NO_KEYS)
    if kind == "PreconditionError" or "412 Precondition" in text:
        return Conflict(f"{what} changed since it was listed", "build again")
    if kind in ("PermissionDeniedError", "UnauthenticatedError") or _told(text, "401", "403"):
        return AccessDenied(f"{what}: the store refuses", "check the AWS_* variables and rights")
    if _told(text, "404"):
        return NotFound(f"{what}: no such bucket", "check the path in the spec")
    if _told(text, "301", "307", "400"):
        return ConfigError(f"{what}: another region or endpoint", "set AWS_REGION")
    hint = "check AWS_ENDPOINT_URL and the network, and try again"
    return Unavailable(f"{what}: the store does not answer", hint)


def _told(text: str, *statuses: str) -> bool:
    return any(f"status code: {status} " in text for status in statuses)
