"""The workspace's settings, `shardline.toml`: one frozen record."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lineage.errors import ConfigError
from lineage.fields import Fields, read_fields

FILE_NAME = "shardline.toml"
_KNOWN = {
    "workspace": ("id", "log_id"),
    "trust": ("root", "log"),
    "principals": ("root", "owner", "builder", "gate"),
    "tiers": ("hot", "cold"),
    "builds": ("workers",),
    "runs": ("environment",),
}
_TEMPLATE = """\
# A Shardline workspace. This file is public: keys never stand in it.

[workspace]
id = "{workspace_id}"      # binds every sealed object to this workspace
log_id = "{log_id}"  # names the ledger

[trust]                    # public keys (Ed25519, hex); whoever audits compares them
root = "{root_key}"
log = "{log_key}"

[principals]               # random ids; their names stand in an erasable directory
root = "{root}"
owner = "{owner}"
builder = "{builder}"
gate = "{gate}"

[tiers]                    # folders, relative to the workspace or absolute
hot = {hot}
cold = {cold}

[builds]
workers = 0                # processes; 0 = one a core

[runs]                     # environment variables that a run may record
environment = ["CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "WORLD_SIZE", "SLURM_JOB_ID"]
"""


@dataclass(frozen=True, slots=True)
class Config:
    """What `shardline.toml` says.

    Attributes:
        workspace_id: 32 hex digits.
        log_id: 32 hex digits.
        root_key, log_key: Ed25519 public keys, 64 hex digits.
        principals: role ("root", "owner", "builder", "gate") to principal id.
        hot, cold: folders of the two tiers, as written.
        num_workers: processes of a build; 0 means one a core.
        run_environment: names of the environment variables that a run may record.
    """

    workspace_id: str
    log_id: str
    root_key: str
    log_key: str
    principals: dict[str, str]
    hot: str
    cold: str
    num_workers: int
    run_environment: tuple[str, ...]


def read_config(path: Path) -> Config:
    """Reads `shardline.toml`.

    Raises:
        NotFound: there is no such file.
        ConfigError: an unknown key, a wrong type, an id that is none.
    """
    top = read_fields(path, tuple(_KNOWN))
    tables = {name: top.table(name, known) for name, known in _KNOWN.items()}
    trust, principals = tables["trust"], tables["principals"]
    config = Config(
        workspace_id=_hex(tables["workspace"], "id", 32),
        log_id=_hex(tables["workspace"], "log_id", 32),
        root_key=_hex(trust, "root", 64),
        log_key=_hex(trust, "log", 64),
        principals={role: _hex(principals, role, 32) for role in _KNOWN["principals"]},
        hot=tables["tiers"].text("hot", ".shardline/hot"),
        cold=tables["tiers"].text("cold", ".shardline/cold"),
        num_workers=tables["builds"].integer("workers", 0, 4096, 0),
        run_environment=tables["runs"].texts("environment"),
    )
    if config.hot == config.cold:
        raise ConfigError(f"{path}: hot and cold are the same folder", "give two folders")
    return config


def new_config_text(
    *,
    workspace_id: str,
    log_id: str,
    root_key: str,
    log_key: str,
    principals: dict[str, str],
    hot: str,
    cold: str,
) -> str:
    """The text of a new workspace's `shardline.toml`."""
    return _TEMPLATE.format(
        workspace_id=workspace_id,
        log_id=log_id,
        root_key=root_key,
        log_key=log_key,
        hot=json.dumps(hot),
        cold=json.dumps(cold),
        **principals,
    )


def _hex(table: Fields, key: str, digits: int) -> str:
    value = table.text(key)
    if len(value) != digits or value.strip("0123456789abcdef"):
        table.refuse(key, f"expected {digits} lower-case hex digits")
    return value
