"""A damaged SQLite file: every command prints one sentence and exits with a code, or does not need what is damaged."""

import random
import sqlite3
from contextlib import closing

import pytest

URL = "https://a.example/1"
COMMANDS = (
    ("status",),
    ("status", "--json"),
    ("search", "text"),
    ("export", "out.jsonl"),
    ("history", URL),
    ("duplicates",),
    ("dedup", "--dry-run"),
    ("prune", "--url", URL, "--yes"),
    ("retry", "--failed"),
    ("upgrade",),
    ("initdb",),
)
PAGE = 4096


def flip(data, places):
    changed = bytearray(data)
    for place in places:
        changed[place] ^= 0xFF
    return bytes(changed)


def in_table(name, *places):
    return lambda data, roots: flip(data, [(roots[name] - 1) * PAGE + place for place in places])


def in_values(name):
    def damage(data, roots):
        offsets = random.Random(name).sample(range(64, PAGE), 600)
        return in_table(name, *offsets)(data, roots)

    return damage


DAMAGES = {
    "magic": lambda data, _: flip(data, [3]),
    "page size": lambda data, _: flip(data, [16]),
    "file format": lambda data, _: flip(data, range(44, 48)),
    "freelist": lambda data, _: flip(data, range(32, 36)),
    "schema": lambda data, _: flip(data, range(100, 108)),
    "sql": lambda data, _: flip(data, range(2000, 4096, 97)),
    "page": in_table("page", *range(8)),
    "block": in_table("block", *range(8)),
    "crawl": in_table("crawl", *range(8)),
    "version": in_table("alembic_version", *range(8)),
    "times": lambda data, _: data.replace(b"2024-05-01 12:00:00", b"2024-05-01 \xff\xff:00:00"),
    "no times": lambda data, _: data.replace(b"2024-05-01 12:00:00", b"2024-05-01 at:00:00"),
    "month 13": lambda data, _: data.replace(b"2024-05-01 12:00:00", b"2024-13-01 12:00:00"),
    "json": lambda data, _: data.replace(b'"visit/page": 2', b'"visit/page", 2'),
    "values of page": in_values("page"),
    "values of block": in_values("block"),
    "values of crawl": in_values("crawl"),
    "half": lambda data, _: data[: len(data) // 2],
    "a part of the header": lambda data, _: data[:50],
    "zeros": lambda data, _: data[: 2 * PAGE] + bytes(len(data) - 2 * PAGE),
}


@pytest.fixture
def whole(database):
    """The bytes of a database, and the root pages of its tables."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master"))
    return database.read_bytes(), roots


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_command_says_that_a_file_is_damaged(scrapy, database, whole, damage):
    damaged, refused = DAMAGES[damage](*whole), 0
    assert damaged != whole[0]
    for command in COMMANDS:
        for file in database.parent.glob("blocks.db-*"):
            file.unlink()
        database.write_bytes(damaged)
        ended = scrapy(*command)
        assert ended.returncode in {0, 1}, (command, ended.stderr)
        assert "Traceback" not in ended.stderr
        if ended.returncode:
            refused += 1
            assert ended.stderr.count("\n") == 1, (command, ended.stderr)
            assert ended.stderr.startswith("the database "), (command, ended.stderr)
    assert refused
