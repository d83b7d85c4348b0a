"""Plain Git and plain DVC bring the sealed bytes anywhere; without a granted key they stay shut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardline
from lineage.digest import digest_of, digest_of_file
from lineage.errors import AccessDenied, IntegrityError, NotFound
from lineage.keys.sealing import Seal, open_parquet
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from tests.system.world import DATASET, World, add_lines, sample_lines

pytestmark = pytest.mark.system


@pytest.fixture
def published(fresh: World) -> World:
    """Built where it lies: its commits name its cold tier as they do for a user."""
    fresh.build()
    return fresh


@pytest.fixture
def clone(published: World, tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    git = ("git", "clone", "--quiet", str(published.root), str(folder))
    subprocess.run(git, check=True, capture_output=True)
    return folder


def dvc(*arguments: str, at: Path) -> str:
    own = {"DVC_SITE_CACHE_DIR": str(at.parent / "site"), "DVC_NO_ANALYTICS": "1"}
    command = [sys.executable, "-m", "dvc", *arguments]
    done = subprocess.run(
        command, cwd=at, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dvc_pull_in_a_clone_brings_the_sealed_shards(published: World, clone: Path) -> None:
    folder = clone / "datasets" / DATASET
    assert {path.suffix for path in folder.iterdir()} == {"", ".dvc"}
    dvc("pull", at=clone)
    assert "in sync" in dvc("status", "--cloud", at=clone)
    with published.read() as book:
        for stored in book.objects:
            place = stored.name.replace("records/", "records-v0001/")
            assert digest_of_file(folder / place) == stored.sha256
        shard = folder / book.shard_names()[0]
        stored = book.object(book.shard_names()[0])
        seal = book.reading.lease(DATASET).seal(stored.object_id)
    assert shard.read_bytes()[:4] == b"PARE"
    with pytest.raises((OSError, pa.ArrowInvalid)):
        pq.ParquetFile(shard)
    stranger = Seal(seal.workspace_id, seal.object_id, os.urandom(32))
    with pytest.raises(IntegrityError, match=stored.object_id.hex()):
        open_parquet(shard, stranger)
    with open_parquet(shard, seal) as file:
        assert file.read().num_rows == file.metadata.num_rows > 0


def test_a_clone_has_no_key_and_no_ledger_and_makes_none(published: World, clone: Path) -> None:
    assert not (clone / ".shardline").exists()
    with pytest.raises(NotFound, match="no ledger"):
        shardline.training_run(DATASET, model="thief", seed=1, workspace=clone)
    assert not (clone / ".shardline" / "keys").exists()
    names = {path.name for path in clone.rglob("*") if ".git" not in path.parts}
    assert not {name for name in names if name.endswith((".key", ".db", ".sealed"))}


def test_nothing_that_is_committed_shows_text_or_paths_of_sources(
    published: World, clone: Path
) -> None:
    committed = b"".join(
        path.read_bytes()
        for path in clone.rglob("*")
        if path.is_file() and ".git" not in path.parts and "specs" not in path.parts
    )
    with published.open() as workspace:
        assert workspace.config.workspace_id.encode() in committed
    assert b"a.jsonl" not in committed
    assert b"libreoffice" not in committed.lower()


def test_dvc_diff_tells_what_a_second_version_added(published: World) -> None:
    add_lines(published.help_files[0], sample_lines("linux-doc", 1))
    published.build()
    said = dvc("diff", "HEAD~2", "HEAD", at=published.root)
    assert f"datasets/{DATASET}/segment-0002" in said


def test_a_revoked_grant_opens_nothing_and_the_refusal_is_recorded(built: World) -> None:
    with built.open() as workspace:
        owner = workspace.config.principals["owner"]
        (grant,) = (
            entry
            for entry in workspace.ledger.entries(predicates={"grant"})
            if entry.body["grantee"] == owner
        )
        subject = Subject(owner, digest_of(b"owner"))
        body = {"grant": grant.entry_id}
        workspace.ledger.append([Draft("revoke", (subject,), body, (workspace.signer("owner"),))])
    with pytest.raises(AccessDenied, match="no grant"):
        built.samples()
    with pytest.raises(AccessDenied), built.read() as book:
        book.kept_ids()
    with built.open() as workspace:
        refusals = list(workspace.ledger.entries(predicates={"refusal"}))
        assert [entry.body["reason"] for entry in refusals] == ["no-grant", "no-grant"]
        assert [entry.body["purpose"] for entry in refusals] == ["train", "audit"]
        assert not list(workspace.ledger.entries(predicates={"run"}))
