"""The results of fingerprints.py as a table."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version

import psycopg
from rich.table import Table
from room import connect

HEAD = ("stored", "index", "built/s", "bytes", "p50 ms", "p99 ms", "added/s", "wrong")


def versions():
    """Return the version of each thing measured, None for what is not there."""
    return {
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "PostgreSQL": _server_version(),
        "faiss-cpu": _installed("faiss-cpu"),
        "datasketch": _installed("datasketch"),
    }


def cells(row):
    """Return a row as texts in the order of HEAD; its note in place of the figures."""
    start = [f"{row['size']:,}", row["index"]]
    if "note" in row:
        return [*start, row["note"], *[""] * (len(HEAD) - 3)]
    return [
        *start,
        f"{row['built_per_second']:,}" + (" (sorted)" if row["sorted"] else ""),
        f"{row['bytes_each']:.0f}",
        f"{row['p50_ms']:.2f}",
        f"{row['p99_ms']:.2f}",
        f"{row['added_per_second']:,}",
        f"{row['wrong']}/{row['checked']}",
    ]


def terminal_table(result):
    table = Table(*HEAD, caption=_described(result))
    for row in result["rows"]:
        table.add_row(*cells(row))
    return table


def _described(result):
    return ", ".join(f"{name} {number or 'not there'}" for name, number in result["versions"].items())


def _installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _server_version():
    try:
        with connect() as server:
            return server.execute("SHOW server_version").fetchone()[0].split()[0]
    except psycopg.OperationalError:
        return None
