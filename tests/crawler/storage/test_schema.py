"""The schema: created, brought to a later revision, refused where it is not ours."""

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from cleaning.fingerprint import digest_terms
from crawler.config import Config
from crawler.errors import StoreError
from crawler.reading.search import search
from crawler.storage import schema
from crawler.storage.database import open_engine, opened_engine, read_transaction
from crawler.storage.page_columns import LATER_COLUMNS
from crawler.storage.schema import MIGRATIONS, Migrations
from crawler.storage.search_index import SearchableBlock, tokens_row
from crawler.storage.store import Store
from crawler.storage.tables import TOKENS_INDEX, exists_on, metadata, signed

MIGRATIONS_FOLDER = Path(schema.__file__).parent / "migrations"
VIEWS = {"informative_block", "page_text", "page_change", "placed_block"}

# SQLite copies the table `block` for its new column, which drops the triggers of the old one.
REVISION = """
from alembic import op
from sqlalchemy import Column, Text

revision = "9000"
down_revision = "HEAD"


def upgrade():
    op.add_column("page", Column("note", Text))
    recreate = "always" if op.get_context().dialect.name == "sqlite" else "never"
    with op.batch_alter_table("block", recreate=recreate) as batch:
        batch.add_column(Column("note", Text, nullable=False, server_default="none"))
""".replace("HEAD", schema.MIGRATIONS.head)
BROKEN = REVISION + "    1 / 0\n"


@pytest.fixture
def empty(url):
    engine = open_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def save_first(empty, visit):
    """Save visits in a database of its own, which the test may migrate."""
    schema.prepare_schema(empty)
    store = Store(empty)
    return lambda *visits: store.save(store.begin_crawl("test", {}), visits)


def read(engine, query):
    with read_transaction(engine) as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


@pytest.fixture
def later(tmp_path):
    """Our migrations with one more revision."""
    folder = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS_FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "9000_note.py").write_text(REVISION)
    return Migrations(str(folder))


def search_texts(engine, query):
    with read_transaction(engine) as connection:
        return [hit.text for page in search(connection, query) for hit in page.hits]


def contents(engine):
    with engine.connect() as connection:
        inspector = inspect(connection)
        tables = {name for name in inspector.get_table_names() if not name.startswith(TOKENS_INDEX)}
        return tables - {"alembic_version"}, set(inspector.get_view_names())


def ours(engine):
    return {table.name for table in metadata.sorted_tables if exists_on(table, engine.dialect.name)}


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_migrations_make_the_tables_of_the_models(engine):
    with engine.connect() as connection:
        options = {"compare_type": True, "include_object": lambda item, *_: exists_on(item, engine.dialect.name)}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def test_the_revisions_are_those_of_the_folder():
    scripts = ScriptDirectory(str(MIGRATIONS_FOLDER)).walk_revisions()
    assert tuple(script.revision for script in scripts) == MIGRATIONS.revisions[::-1]


def test_upgrading_creates_all_tables_and_views_of_an_empty_database(empty):
    schema.upgrade_schema(empty)
    assert contents(empty) == (ours(empty), VIEWS)
    schema.check_schema(empty)


def test_upgrading_again_changes_nothing(engine, save, visit, rows):
    save(visit("https://a.example/1", "one bridge"))
    before = contents(engine), rows("SELECT * FROM page ORDER BY id"), rows("SELECT * FROM database_id")
    schema.upgrade_schema(engine)
    assert (contents(engine), rows("SELECT * FROM page ORDER BY id"), rows("SELECT * FROM database_id")) == before


def test_a_later_revision_changes_the_tables_and_keeps_the_rows(empty, later, save_first, visit):
    save_first(visit("https://a.example/1", "one bridge"), visit("https://a.example/2", "two"))
    tables = ("page", "block", "document_frequency", "change_log", "block_tokens")
    before = {table: read(empty, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}
    with pytest.raises(StoreError, match=rf"has schema {schema.MIGRATIONS.head}, .* needs 9000; `scrapy upgrade`"):
        schema.check_schema(empty, later)
    schema.upgrade_schema(empty, later)
    schema.check_schema(empty, later)
    changed = {"page": {"note": None}, "block": {"note": "none"}}
    for table in tables:
        assert read(empty, f"SELECT * FROM {table} ORDER BY 1, 2") == [
            row | changed.get(table, {}) for row in before[table]
        ]
    with pytest.raises(StoreError, match=rf"schema 9000.*schema {schema.MIGRATIONS.head}.*install the newer version"):
        schema.check_schema(empty)


# What takes a database back to the revision before each one; the newest is the last.
REVERSALS = {
    "0002": ["ALTER TABLE crawl DROP COLUMN active_until"],
    "0003": ["DROP INDEX ix_page_doubted_canonical", "ALTER TABLE page DROP COLUMN doubted_canonical"],
    "0004": ["DROP TABLE database_setting"],
    "0005": [
        f"UPDATE block SET digest = {signed(digest_terms([]))} WHERE text = '* * *'",
        *(f"DROP INDEX IF EXISTS ix_{table}_low_half" for table in ("fingerprint", "page_fingerprint")),
    ],
    "0006": ["DROP TABLE headline", "DROP TABLE former_metadata"],
    "0007": ["DROP TABLE address"],
    "0008": ["DROP TABLE site_crawl", "DROP TABLE alert"],
    "0009": ["DROP TABLE empty_address"],
    "0010": ["DROP TABLE sitemap"],
    "0011": [f"ALTER TABLE page DROP COLUMN {name}" for name in ("description", "keywords", "license")],
    "0012": ["DROP TABLE page_event"],
    "0013": [
        "DROP TABLE correction",
        "DROP TABLE site_model",
        *(f"ALTER TABLE site_crawl DROP COLUMN {name}" for name in ("taught", "unlike")),
    ],
    "0014": ["DROP TABLE page_label"],
    "0015": ["DROP TABLE block_label"],
    "0016": ["ALTER TABLE page DROP COLUMN record_id"],
    "0017": ["ALTER TABLE page DROP COLUMN access"],
}


def take_back(engine, revision):
    """Take a database back to an earlier revision, without its views: those of then had other columns."""
    with engine.begin() as connection:
        for view in VIEWS:
            connection.exec_driver_sql(f"DROP VIEW {view}")
        for later_revision in reversed(schema.MIGRATIONS.revisions):
            for statement in REVERSALS[later_revision] if later_revision > revision else ():
                connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")


def columns(engine):
    """Return the names of the columns and indexes of all tables."""
    with engine.connect() as connection:
        inspector = inspect(connection)
        read_names = (inspector.get_columns, inspector.get_indexes)
        return {table: {row["name"] for names in read_names for row in names(table)} for table in ours(engine)}


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
def test_a_database_of_the_first_schema_is_upgraded_with_its_rows(empty, save_first, visit):
    save_first(visit("https://a.example/1", "one bridge", "* * *"))
    statements = (
        "SELECT id, spider, arguments, state, started FROM crawl",
        "SELECT * FROM page ORDER BY id",
        "SELECT * FROM block",
    )
    unknown = dict.fromkeys(column.name for column in LATER_COLUMNS)  # until the next visit
    with empty.begin() as connection:
        connection.execute(metadata.tables["page"].update().values(unknown))
    before = columns(empty), contents(empty), [read(empty, statement) for statement in statements]
    take_back(empty, "0001")
    with pytest.raises(StoreError, match="has schema 0001"):
        schema.check_schema(empty)
    schema.upgrade_schema(empty)
    schema.check_schema(empty)
    assert (columns(empty), contents(empty), [read(empty, statement) for statement in statements]) == before


def test_triggers_survive_a_later_revision(empty, later, save_first, visit):
    save_first(visit("https://a.example/1", "one bridge"))
    schema.upgrade_schema(empty, later)
    assert search_texts(empty, "bridge") == ["one bridge"]
    save_first(visit("https://a.example/1", "a mill", day=1))
    assert (search_texts(empty, "bridge"), search_texts(empty, "mill")) == ([], ["a mill"])
    with empty.begin() as connection:
        connection.execute(text("DELETE FROM block"))
    assert read(empty, "SELECT block_id FROM block_tokens") == []


def test_a_revision_that_fails_leaves_the_database_as_it_was(empty, later, save_first, visit):
    save_first(visit("https://a.example/1", "one bridge"))
    Path(later.location, "versions", "9000_note.py").write_text(BROKEN)
    with pytest.raises(ZeroDivisionError):
        schema.upgrade_schema(empty, later)
    schema.check_schema(empty)
    assert "note" not in read(empty, "SELECT * FROM page ORDER BY id")[0]
    assert search_texts(empty, "bridge") == ["one bridge"]


def test_an_empty_database_gets_the_newest_revision_at_once(empty, later):
    schema.upgrade_schema(empty, later)
    with empty.connect() as connection:
        assert schema.current_revision(connection) == "9000"


def test_preparing_creates_once(empty):
    assert schema.prepare_schema(empty) is True
    assert schema.prepare_schema(empty) is False


@pytest.mark.sqlite
def test_fingerprints_take_no_row_id(engine):
    with engine.connect() as connection:
        statement = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'fingerprint'").scalar()
    assert "WITHOUT ROWID" in statement


def test_eight_that_start_on_an_empty_database_make_its_tables_once(url):
    def prepare(_):
        with opened_engine(url) as engine:
            return schema.prepare_schema(engine)

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(prepare, range(8)))) == 8
    with opened_engine(url) as engine:
        assert contents(engine) == (ours(engine), VIEWS)


@pytest.mark.postgresql
def test_a_view_of_a_user_on_ours_survives_an_upgrade(empty, later, save_first, visit):
    save_first(visit("https://a.example/1", "one bridge"))
    with empty.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW mine AS SELECT url, text FROM informative_block")
    schema.upgrade_schema(empty, later)
    assert read(empty, "SELECT text FROM mine") == [{"text": "one bridge"}]


@pytest.mark.postgresql
def test_a_page_s_html_is_not_compressed_again(engine):
    with engine.connect() as connection:
        query = "SELECT attstorage FROM pg_attribute WHERE attrelid = 'page'::regclass AND attname = 'html'"
        assert connection.exec_driver_sql(query).scalar() == "e"


def test_an_empty_database_is_no_match(empty):
    with pytest.raises(StoreError, match="is empty; `scrapy initdb` creates its tables"):
        schema.check_schema(empty)


def test_a_newer_schema_is_refused_with_both_revisions(engine):
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    for action in (schema.check_schema, schema.prepare_schema, schema.upgrade_schema):
        with pytest.raises(
            StoreError, match=rf"schema 9999.*schema {schema.MIGRATIONS.head}.*install the newer version"
        ):
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


KEPT = Config(dedup_scope="site", boilerplate_min_pages=4)


def test_a_database_keeps_the_settings_that_its_pages_share(engine):
    url = engine.url.render_as_string(hide_password=False)
    assert schema.read_settings(url) == {}
    store = Store(engine)
    assert store.keep_settings(KEPT) is None
    assert schema.read_settings(url) == KEPT.database_settings
    assert KEPT.database_settings == {
        "DEDUP_SCOPE": "site",
        "DEDUP_DISTANCE": 3,
        "FINGERPRINT_WEIGHTING": "modified",
        "FINGERPRINT_MIN_TERMS": KEPT.fingerprint_min_terms,
        "BOILERPLATE_MIN_PAGES": 4,
    }
    assert store.keep_settings(KEPT) is None
    change = store.keep_settings(replace(KEPT, dedup_scope="all", boilerplate_min_pages=5))
    assert change.endswith(
        "had DEDUP_SCOPE=site BOILERPLATE_MIN_PAGES=4; this command changes it to DEDUP_SCOPE=all "
        "BOILERPLATE_MIN_PAGES=5, which later commands use too unless they name another value"
    )
    assert schema.read_settings(url)["DEDUP_SCOPE"] == "all"


def test_a_database_that_cannot_be_read_yet_keeps_no_settings(empty, tmp_path):
    assert schema.read_settings(f"sqlite:///{tmp_path / 'missing.db'}") == {}
    assert not (tmp_path / "missing.db").exists()
    assert schema.read_settings(empty.url.render_as_string(hide_password=False)) == {}


BEFORE = "0005"  # the revision before headlines


@pytest.fixture
def schema_before_headlines(empty, save_first, visit):
    """A database of the revision before headlines, with pages whose words were cut as they were then."""
    pages = [
        visit(f"https://a.example/{number}", f"Café Zoë {number}", title=f"Müller {number}") for number in range(3)
    ]
    save_first(*pages, visit("https://a.example/untitled", "新新新新"))
    take_back(empty, BEFORE)
    with empty.begin() as connection:
        for statement in (
            "DELETE FROM block_tokens WHERE block_id < 0",
            "UPDATE block_tokens SET tokens = replace(replace(tokens, 'cafe', 'café'), 'zoe', 'zoë')",
            "UPDATE block_tokens SET words = 2 WHERE block_id = 4",
        ):
            connection.exec_driver_sql(statement)
    return empty


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_a_revision_adds_headlines_and_cuts_all_words_anew(schema_before_headlines, visit, save_first):
    with pytest.raises(StoreError, match=rf"has schema {BEFORE}, .*; `scrapy upgrade` brings it there"):
        schema.check_schema(schema_before_headlines)
    lines = []
    schema.upgrade_schema(schema_before_headlines, report=lines.append)
    schema.check_schema(schema_before_headlines)
    assert lines == ["search index: 4 of 8 texts and titles", "search index: 8 of 8 texts and titles"]
    assert read(
        schema_before_headlines, "SELECT block_id, words, priority, length, tokens FROM block_tokens ORDER BY 1"
    ) == [
        dict(zip(("block_id", "words", "priority", "length", "tokens"), tokens_row(searchable_block), strict=True))
        for searchable_block in (
            *(SearchableBlock(-number, f"Müller {number - 1}", 1.0) for number in (3, 2, 1)),
            *(SearchableBlock(number, f"Café Zoë {number - 1}", 1.0) for number in (1, 2, 3)),
            SearchableBlock(4, "新新新新", 1.0),
        )
    ]
    assert search_texts(schema_before_headlines, '"cafe zoe 1"') == ["Café Zoë 1"]
    assert search_texts(schema_before_headlines, "muller 2") == ["Müller 2"]
    with schema_before_headlines.connect() as connection:
        options = {"compare_type": True, "include_object": lambda item, *_: exists_on(item, connection.dialect.name)}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
    # What a page was called before is unknown: its next visit brings no change.
    (saved,) = save_first(visit("https://a.example/1", "Café Zoë 1", day=1, title="Meier", headline="Meier"))
    assert saved.state == "unchanged"
    assert search_texts(schema_before_headlines, "title:meier") == ["Meier"]
