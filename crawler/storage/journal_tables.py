"""The tables that tell what has changed since an earlier export: journal, removed_block, lineage; see journal.py."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Table, Text

from crawler.storage.columns import Id, Key, metadata, required


def mark(name: str) -> Column[Any]:
    """Return a column for the mark of a transaction; what was stored before there were marks has 0."""
    return required(name, BigInteger, server_default="0")


# A page's row stays when the page is pruned, so it has no foreign key. It says nothing of the page but its id.
journal = Table(
    "journal",
    metadata,
    required("page_id", Id, primary_key=True, autoincrement=False),
    mark("added"),
    mark("described"),
    required("changed", BigInteger, index=True),
)

removed_block = Table(
    "removed_block",
    metadata,
    required("block_id", Id, primary_key=True, autoincrement=False),
    required("changed", BigInteger, index=True),
)

# One row. `number` is the last mark on SQLite; on PostgreSQL it is added to the transaction's id, which gives the mark.
lineage = Table(
    "lineage",
    metadata,
    required("name", Key, primary_key=True),
    required("server", Text),
    required("number", BigInteger),
)
