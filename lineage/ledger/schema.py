"""The tables of a ledger in SQL, and the fixed statements that every append needs."""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()
ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("entry_id", sa.Text, nullable=False, unique=True),
    sa.Column("leaf", sa.LargeBinary, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
NODES = sa.Table(
    "nodes",
    METADATA,
    sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
TREE_HEADS = sa.Table(
    "tree_heads",
    METADATA,
    sa.Column("size", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("note", sa.Text, nullable=False),
    sqlite_strict=True,
)
SEQUENCES = sa.Table(
    "sequences",
    METADATA,
    sa.Column("principal", sa.Text, primary_key=True),
    sa.Column("sequence", sa.Integer, nullable=False),
    sqlite_strict=True,
)

SIZE = sa.select(sa.func.max(ENTRIES.c.position))
TREE_HEAD = sa.select(TREE_HEADS.c.note).order_by(TREE_HEADS.c.size.desc()).limit(1)
SEQUENCE = sa.select(SEQUENCES.c.sequence).where(SEQUENCES.c.principal == sa.bindparam("name"))
FORGET = sa.delete(SEQUENCES).where(SEQUENCES.c.principal == sa.bindparam("name"))
PLACE = sa.tuple_(NODES.c.level, NODES.c.idx)
NODES_AT = sa.select(NODES).where(PLACE.in_(sa.bindparam("places", expanding=True)))
