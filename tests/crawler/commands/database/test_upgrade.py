"""`scrapy upgrade`."""

import json
import sqlite3
from contextlib import closing

import psycopg

from crawler.storage.schema import MIGRATIONS


def test_a_current_database_is_not_changed(scrapy, database):
    assert scrapy("upgrade").stdout == f"{database}: the schema is {MIGRATIONS.head} already; nothing was changed\n"
    assert json.loads(scrapy("upgrade", "--json").stdout) == {
        "database": str(database),
        "from": MIGRATIONS.head,
        "to": MIGRATIONS.head,
        "new_id": False,
    }


def test_an_empty_database_gets_its_tables(scrapy, tmp_path):
    (tmp_path / "blocks.db").touch()
    assert scrapy("upgrade").stdout.endswith(f"schema none to {MIGRATIONS.head}\n")
    assert scrapy("status").returncode == 0


def test_a_missing_database_is_not_created(scrapy, tmp_path):
    failed = scrapy("upgrade")
    assert failed.returncode == 1
    assert "`scrapy initdb` creates it" in failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_newer_database_on_a_server_is_an_error(scrapy, on_server):
    with psycopg.connect(on_server) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    failed = scrapy("upgrade", DATABASE_URL=on_server)
    assert failed.returncode == 1
    assert "schema 9999" in failed.stderr


def test_a_newer_database_is_an_error_for_every_command(scrapy, database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for command in (["upgrade"], ["status"], ["initdb"], ["prune", "--site", "a.example"]):
        failed = scrapy(*command)
        assert failed.returncode == 1
        assert "schema 9999" in failed.stderr
        assert f"schema {MIGRATIONS.head}" in failed.stderr
