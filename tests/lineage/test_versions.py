"""Versions: what the ledger names is what the manifests must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import ConfigError, IntegrityError, NotFound
from lineage.keys.sealing import seal_bytes
from lineage.versions import (
    Version,
    find_version,
    latest_version,
    manifest_paths,
    parse_version_name,
    published_versions,
    read_content,
    read_storage,
    write_storage,
)
from lineage.workspace import Workspace
from tests.lineage.published import content_of, lease_of, publish, storage_of

names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)


@given(names, st.integers(1, 999_999_999))
def test_a_name_and_a_number_read_back(name: str, number: int) -> None:
    assert parse_version_name(f"{name}@v{number}") == (name, number)
    assert parse_version_name(name) == (name, None)


@pytest.mark.parametrize(
    "text",
    ["", "@v1", "corpus@", "corpus@v", "corpus@v0", "corpus@v01", "corpus@1", "corpus@v1@v2",
     "Corpus@v1", "corpus@v-1", "../corpus@v1", "corpus@v1 ", "corpus@v1\n", "a/b", "c" * 65,
     "corpus@v1234567890", "corpus@v١"],
)  # fmt: skip
def test_anything_else_names_no_version(text: str) -> None:
    with pytest.raises(ConfigError, match="names no version") as caught:
        parse_version_name(text)
    assert "NAME@vN" in caught.value.hint


def test_versions_are_found_by_number_and_the_newest_by_name(workspace: Workspace) -> None:
    publish(workspace)
    publish(workspace, "other")
    publish(workspace, number=2)
    entries = list(workspace.ledger.entries())
    assert [v.name for v in published_versions(entries)] == ["corpus@v1", "other@v1", "corpus@v2"]
    assert find_version(entries, "corpus@v1").number == 1
    assert find_version(entries, "corpus").name == "corpus@v2"
    latest = latest_version(entries, "corpus")
    assert latest is not None
    assert latest.name == "corpus@v2"
    assert latest_version(entries, "nothing") is None


def test_a_missing_version_says_which_there_are(workspace: Workspace) -> None:
    publish(workspace)
    entries = list(workspace.ledger.entries())
    with pytest.raises(NotFound, match="corpus has versions v1 to v1"):
        find_version(entries, "corpus@v2")
    with pytest.raises(NotFound, match="no version of other was published") as caught:
        find_version(entries, "other")
    assert caught.value.hint == "shardline build other"


def test_both_manifests_read_back_as_they_were_written(workspace: Workspace) -> None:
    version = publish(workspace)
    lease, manifests = lease_of(workspace), workspace.root / "manifests"
    assert read_content(manifests, version, lease).to_bytes() == content_of().to_bytes()
    stored = read_storage(manifests, version, lease)
    assert stored.objects == storage_of("segment-0001/shard-00000.parquet").objects


Read = Callable[[Path, Version, object], object]


@pytest.mark.parametrize(("which", "read"), [(0, read_content), (1, read_storage)])
def test_a_missing_manifest_can_be_restored(workspace: Workspace, which: int, read: Read) -> None:
    version, manifests = publish(workspace), workspace.root / "manifests"
    manifest_paths(manifests, "corpus", 1)[which].unlink()
    with pytest.raises(NotFound, match="the manifest is missing") as caught:
        read(manifests, version, lease_of(workspace))
    assert caught.value.hint == "restore it with Git"


@pytest.mark.parametrize(("which", "read"), [(0, read_content), (1, read_storage)])
def test_a_flipped_byte_anywhere_in_a_manifest_is_refused(
    workspace: Workspace, which: int, read: Read
) -> None:
    version, manifests = publish(workspace), workspace.root / "manifests"
    path, lease = manifest_paths(manifests, "corpus", 1)[which], lease_of(workspace)
    sound = path.read_bytes()
    for place in range(0, len(sound), max(1, len(sound) // 60)):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        with pytest.raises(IntegrityError):
            read(manifests, version, lease)


@pytest.mark.parametrize(("which", "read"), [(0, read_content), (1, read_storage)])
def test_the_manifest_of_another_version_is_refused(
    workspace: Workspace, which: int, read: Read
) -> None:
    first, second = publish(workspace), publish(workspace, number=2)
    manifests = workspace.root / "manifests"
    newer = manifest_paths(manifests, "corpus", 2)[which]
    newer.write_bytes(manifest_paths(manifests, "corpus", 1)[which].read_bytes())
    lease = lease_of(workspace)
    read(manifests, first, lease)
    with pytest.raises(IntegrityError):
        read(manifests, second, lease)


def test_a_manifest_sealed_rightly_but_not_the_one_of_the_ledger_is_refused(
    workspace: Workspace,
) -> None:
    version, manifests = publish(workspace), workspace.root / "manifests"
    lease = lease_of(workspace)
    content_path, storage_path = manifest_paths(manifests, "corpus", 1)
    other = content_of(number=9).to_bytes()
    seal = lease.seal(version.manifest_object)
    content_path.write_bytes(seal_bytes(other, seal, bytes(12)))
    with pytest.raises(IntegrityError, match="not the content manifest that the ledger names"):
        read_content(manifests, version, lease)
    write_storage(storage_path, storage_of("other"), lease.seal(version.storage_object))
    with pytest.raises(IntegrityError, match="not the storage manifest that the ledger names"):
        read_storage(manifests, version, lease)
