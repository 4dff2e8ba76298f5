"""Migrations: the tables they make, the way back, databases that are not ours."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from crawler.errors import StoreError
from crawler.storage import schema
from crawler.storage.database import open_engine, opened_engine, read_transaction
from crawler.storage.tables import TOKENS_INDEX, exists_on, metadata

VIEWS = {"informative_block", "page_text"}


@pytest.fixture
def empty(url):
    engine = open_engine(url)
    yield engine
    engine.dispose()


def contents(engine):
    with engine.connect() as connection:
        found = inspect(connection)
        tables = {name for name in found.get_table_names() if not name.startswith(TOKENS_INDEX)}
        return tables - {"alembic_version"}, set(found.get_view_names())


def ours(engine):
    return {table.name for table in metadata.sorted_tables if exists_on(table, engine.dialect.name)}


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_migrations_make_the_tables_of_the_models(engine):
    with engine.connect() as connection:
        options = {"compare_type": True, "include_object": lambda item, *_: exists_on(item, engine.dialect.name)}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def test_the_revisions_are_those_of_the_folder(engine):
    with engine.connect() as connection:
        scripts = ScriptDirectory.from_config(schema._alembic_config(connection)).walk_revisions()
    assert tuple(script.revision for script in scripts) == schema.REVISIONS[::-1]


def test_upgrade_downgrade_upgrade(empty):
    schema.upgrade_schema(empty)
    schema.downgrade_schema(empty, "base")
    assert contents(empty) == (set(), set())
    schema.upgrade_schema(empty)
    assert contents(empty) == (ours(empty), VIEWS)
    schema.check_schema(empty)


def test_texts_of_pages_already_there_are_counted_by_the_second_migration(engine, save, visit, rows):
    save(
        visit("https://a.example/1", "one", "several", "* * *"),
        visit("https://a.example/2", "several", "* * *"),
        visit("https://b.example/1", "several"),
    )
    save(visit("https://a.example/1", "several", day=1))
    tables = {"site": "site", "document_frequency": "site, digest", "page_text": "page_id, position"}
    before = [rows(f"SELECT * FROM {table} ORDER BY {order}") for table, order in tables.items()]
    assert [row["pages"] for row in before[1]] == [2, 1]
    schema.downgrade_schema(engine, "0001")
    schema.upgrade_schema(engine)
    assert [rows(f"SELECT * FROM {table} ORDER BY {order}") for table, order in tables.items()] == before


def test_pages_already_there_are_kept_by_the_third_migration(engine, save, visit, rows):
    save(visit("https://a.example/1", "one", title="First"), visit("https://a.example/2", "two"))
    before = [row | {"children": None} for row in rows("SELECT * FROM page ORDER BY id")]
    assert [(row["misses"], row["spider"], row["retired_at"]) for row in before] == [(0, None, None)] * 2
    schema.downgrade_schema(engine, "0002")
    assert not {"request", "host", "section", "sitemap_trust"} & contents(engine)[0]
    assert "misses" not in rows("SELECT * FROM page")[0]
    schema.upgrade_schema(engine)
    assert rows("SELECT * FROM page ORDER BY id") == before
    assert rows("SELECT seeded FROM crawl") == [{"seeded": None}]


def test_what_is_already_there_is_older_than_every_mark_of_the_fifth_migration(engine, save, visit, rows):
    save(visit("https://a.example/1", "one"), visit("https://a.example/2", "one", "two"))
    save(visit("https://a.example/1", "one", "three", day=1))
    names = "SELECT id, page_id, text, gone_at FROM block ORDER BY id"
    before = rows(names), rows("SELECT id, block_id FROM sighting")
    schema.downgrade_schema(engine, "0003")
    assert not {"change_log", "removed_block", "database_id"} & contents(engine)[0]
    schema.upgrade_schema(engine)
    assert (rows(names), rows("SELECT id, block_id FROM sighting")) == before
    assert rows("SELECT DISTINCT added, changed FROM block") == [{"added": 0, "changed": 0}]
    assert rows("SELECT page_id FROM change_log") == []
    save(visit("https://a.example/1", "one", "four", day=2))
    assert rows("SELECT page_id, added FROM change_log") == [{"page_id": 1, "added": 0}]
    assert [row["text"] for row in rows("SELECT text FROM block WHERE changed > 0 ORDER BY id")] == ["three", "four"]


def test_preparing_creates_once(empty):
    assert schema.prepare_schema(empty) is True
    assert schema.prepare_schema(empty) is False


@pytest.mark.sqlite
def test_fingerprints_take_no_row_id(engine):
    with engine.connect() as connection:
        made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'fingerprint'").scalar()
    assert "WITHOUT ROWID" in made


def test_eight_that_start_on_an_empty_database_make_its_tables_once(url):
    def prepare(_):
        with opened_engine(url) as engine:
            return schema.prepare_schema(engine)

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(prepare, range(8)))) == 8
    with opened_engine(url) as engine:
        assert contents(engine) == (ours(engine), VIEWS)


@pytest.mark.postgresql
def test_a_page_s_html_is_not_compressed_again(engine):
    with engine.connect() as connection:
        query = "SELECT attstorage FROM pg_attribute WHERE attrelid = 'page'::regclass AND attname = 'html'"
        assert connection.exec_driver_sql(query).scalar() == "e"


def test_an_empty_database_is_no_match(empty):
    with pytest.raises(StoreError, match=r"has schema none, .* needs 0006; `scrapy upgrade`"):
        schema.check_schema(empty)


def test_a_newer_schema_is_refused_with_both_revisions(engine):
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    for action in (schema.check_schema, schema.prepare_schema, schema.upgrade_schema):
        with pytest.raises(StoreError, match=r"schema 9999.*schema 0006.*install the newer version"):
            action(engine)


def test_a_database_of_something_else_is_left_alone(empty):
    with empty.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE recipes (name TEXT)")
    for action in (schema.prepare_schema, schema.upgrade_schema):
        with pytest.raises(StoreError, match="not Blocksieve's"):
            action(empty)
    assert contents(empty) == ({"recipes"}, set())


@pytest.mark.sqlite
def test_a_failed_upgrade_leaves_nothing(empty, tmp_path):
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as other:
        other.execute("PRAGMA journal_mode=WAL")
    with empty.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 5")
    with pytest.raises(StoreError, match="is full"):
        schema.upgrade_schema(empty)
    assert contents(empty) == (set(), set())


@pytest.mark.sqlite
def test_a_page_s_text_is_read_through_indexes(engine):
    with read_transaction(engine) as connection:
        query = "EXPLAIN QUERY PLAN SELECT text FROM page_text WHERE page_id = 1 ORDER BY position"
        steps = [row[3] for row in connection.exec_driver_sql(query)]
    assert any("ix_block_page_id" in step for step in steps)
    assert any("ix_sighting_page_id" in step for step in steps)
    assert not any(step.startswith(("SCAN block", "SCAN sighting")) for step in steps)
