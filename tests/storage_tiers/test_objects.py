"""Objects of a bucket, read from a real server; and what goes wrong, said without secrets."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from lineage.errors import (
    AccessDenied,
    ConfigError,
    Conflict,
    NotFound,
    ShardlineError,
    Unavailable,
)
from storage_tiers import objects
from storage_tiers.objects import Bucket, OpenObject, bucket_and_key
from tests.s3_server import BUCKET, S3Server, free_ports, s3_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


def opened(bucket: Bucket, key: str) -> OpenObject:
    found = bucket.find(key)
    assert found is not None
    return bucket.open(found)


def counted(file: OpenObject, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that a file asks its store for from now on."""
    asked: list[tuple[int, int]] = []
    ask = file._range

    def noted(start: int, end: int) -> bytes:
        asked.append((start, end))
        return ask(start, end)

    monkeypatch.setattr(file, "_range", noted)
    return asked


@pytest.mark.slow
class TestServer:
    def test_objects_are_listed_below_a_folder(self, server: S3Server) -> None:
        for key in ("list/a.txt", "list/b/c.txt", "list/d e+%.txt", "listed.txt"):
            server.put(key, key.encode())
        found = {item.key: item.size_bytes for item in Bucket(BUCKET).objects("list")}
        assert found == {"list/a.txt": 10, "list/b/c.txt": 12, "list/d e+%.txt": 14}

    def test_more_than_one_page_is_listed_and_listing_is_bounded(
        self, server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: server.put(f"pages/{i:04}", b"x"), range(1100)))
        assert len(list(Bucket(BUCKET).objects("pages"))) == 1100
        with monkeypatch.context() as patch, pytest.raises(ConfigError, match="more than 1,000"):
            patch.setattr(objects, "_MAX_LISTED", 1000)
            list(Bucket(BUCKET).objects("pages"))

    def test_any_range_of_an_object_is_read(self, server: S3Server) -> None:
        data = os.urandom(300_000)
        server.put("range", data)
        file = opened(Bucket(BUCKET), "range")
        assert file.size_bytes == len(data)
        places = ((0, 10), (5, 10), (100_000, 50_000), (299_990, 50), (300_000, 5), (400_000, 5))
        for start, length in (*places, (0, 300_000)):
            assert file.read_at(start, length) == data[start : start + length]
        server.put("empty", b"")
        assert opened(Bucket(BUCKET), "empty").read_at(0, 10) == b""

    def test_reading_on_asks_seldom_and_jumping_asks_for_no_more_than_it_wants(
        self, server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = os.urandom(6 << 20)
        server.put("long", data)
        file = opened(Bucket(BUCKET), "long")
        asked = counted(file, monkeypatch)
        read = b"".join(file.read_at(at, 64 << 10) for at in range(0, len(data), 64 << 10))
        assert read == data
        assert len(asked) < 12
        file = opened(Bucket(BUCKET), "long")
        asked = counted(file, monkeypatch)
        for at in (5 << 20, 1 << 20, 3 << 20):
            assert file.read_at(at, 1000) == data[at : at + 1000]
        assert sum(end - start for start, end in asked) <= 3 * 1000 * 2

    def test_an_object_that_was_replaced_or_deleted_is_told(self, server: S3Server) -> None:
        server.put("changing", b"one")
        listed = Bucket(BUCKET).find("changing")
        assert listed is not None
        server.put("changing", b"two")
        with pytest.raises(Conflict, match=r"s3://cold/changing changed since it was listed"):
            Bucket(BUCKET).open(listed).read_at(0, 3)
        gone = Bucket(BUCKET).open(replace(listed, key="gone"))
        with pytest.raises(NotFound, match="s3://cold/gone"):
            gone.read_at(0, 3)
        longer = Bucket(BUCKET).open(replace(listed, size_bytes=9, etag=""))
        with pytest.raises(Conflict, match="changed"):
            longer.read_at(0, 9)

    def test_what_is_not_there_is_not_found(self, server: S3Server) -> None:
        assert Bucket(BUCKET).find("nothing/here") is None
        assert list(Bucket(BUCKET).objects("nothing")) == []
        with pytest.raises(NotFound, match="no such bucket"):
            list(Bucket("no-such-bucket").objects())

    def test_wrong_keys_are_refused_and_no_error_holds_one(
        self, server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.put("kept", b"one")
        listed = Bucket(BUCKET).find("kept")
        assert listed is not None
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "somebody-else"),
            ("AWS_SECRET_ACCESS_KEY", "wrong-secret"),
        ):
            with monkeypatch.context() as patch:
                patch.setenv(name, value)
                bucket = Bucket(BUCKET)
                for ask in (
                    lambda bucket=bucket: list(bucket.objects()),
                    lambda bucket=bucket: bucket.find("kept"),
                    lambda bucket=bucket: bucket.open(listed).read_at(0, 3),
                ):
                    with pytest.raises(AccessDenied) as error:
                        ask()
                    assert_no_secret(error.value, {**server.environment, name: value})

    def test_names_that_no_object_can_have_are_refused(self, server: S3Server) -> None:
        for key in ("a//b", "a/../b", "a/./b"):
            with pytest.raises(ConfigError, match="no name of an object"):
                Bucket(BUCKET).find(key)


def assert_no_secret(error: ShardlineError, environment: Mapping[str, str]) -> None:
    assert error.__cause__ is None
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        assert environment[name] not in str(error)
    assert error.__suppress_context__


def test_a_server_that_does_not_answer_is_unavailable_after_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(objects._RETRIES, "max_retries", 2)
    environment = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_ports(1)[0]}"}
    for name, value in {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}.items():
        monkeypatch.setenv(name, value)
    started = time.monotonic()
    with pytest.raises(Unavailable, match="does not answer") as error:
        Bucket(BUCKET, environment).find("a")
    assert time.monotonic() - started < 20
    assert "127.0.0.1" not in str(error.value)


def test_an_address_names_a_bucket_and_perhaps_a_key() -> None:
    assert bucket_and_key("s3://bucket") == ("bucket", "")
    assert bucket_and_key("s3://bucket/a/b*.jsonl") == ("bucket", "a/b*.jsonl")
    for url in ("s3://", "s3:///key", "s3://id:secret@bucket/a", "https://bucket/a", "bucket/a"):
        with pytest.raises(ConfigError, match="names no bucket") as error:
            bucket_and_key(url)
        assert "secret" not in str(error.value)


def test_an_endpoint_without_encryption_must_be_local_or_meant() -> None:
    for name, endpoint in (
        ("AWS_ENDPOINT", "http://localhost:9000"),
        ("AWS_ENDPOINT", "https://s3.example.org"),
        ("AWS_ENDPOINT_URL", "http://minio.internal:9000"),
        ("AWS_ENDPOINT_URL_S3", "http://minio.internal:9000"),
    ):
        assert Bucket(BUCKET, {name: endpoint}).name == BUCKET
    with pytest.raises(ConfigError, match="not encrypted"):
        Bucket(BUCKET, {"AWS_ENDPOINT": "http://minio.internal:9000"})
    for endpoint in ("minio.internal", "ftp://minio.internal", "https://id:secret@minio.internal"):
        with pytest.raises(ConfigError, match="no address") as error:
            Bucket(BUCKET, {"AWS_ENDPOINT_URL": endpoint})
        assert "minio" not in str(error.value)


def test_the_feed_needs_no_object_store() -> None:
    text = Path(objects.__file__).read_text(encoding="utf-8")
    assert "pipelines" not in text
