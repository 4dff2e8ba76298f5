"""Visits made from plain texts, with the digests and fingerprints that the pipelines would give them."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from block_candidates import make_candidate
from sqlalchemy import text as sql

from cleaning.blocks import Metadata
from cleaning.structure.clean_page import CleanPage
from crawler.storage import schema
from crawler.storage.crawls import join_crawl
from crawler.storage.database import open_engine, opened_engine, write_transaction
from crawler.storage.requests import Ack, LeaseOptions, RequestState, acknowledge_requests, add_requests, lease_requests
from crawler.storage.store import Store
from crawler.storage.tables import metadata
from crawler.visit import FetchedPage, Outcome, ProcessedPage, RequestRecord, Visit

DIALECTS = ("sqlite", "postgresql")
START = datetime(2024, 5, 1, 12, tzinfo=UTC)


def make_visit(url, *blocks, day=0, body=None, stated=None, fingerprint=None, **metadata):
    """A visit whose page has these blocks: texts, or candidates already made."""
    candidates = tuple(
        make_candidate(position, block) if isinstance(block, str) else block for position, block in enumerate(blocks)
    )
    body = repr((blocks, stated, metadata)).encode() if body is None else body
    return Visit(
        url,
        START + timedelta(days=day),
        Outcome.PAGE,
        200,
        page=ProcessedPage(
            FetchedPage(url, body, None, stated or Metadata()),
            CleanPage(url, "default", "utf-8", Metadata(**metadata), ()),
            candidates,
            fingerprint,
        ),
    )


@pytest.fixture(scope="session")
def candidate():
    return make_candidate


@pytest.fixture(scope="session")
def visit():
    return make_visit


def pytest_generate_tests(metafunc):
    """Run a test that has to do with a database on both kinds, or on the one that it is marked with."""
    if "dialect" in metafunc.fixturenames:
        marked = [name for name in DIALECTS if metafunc.definition.get_closest_marker(name)]
        metafunc.parametrize("dialect", marked or DIALECTS, scope="session")


@pytest.fixture
def url(dialect, tmp_path, request):
    """A database of that kind: an empty one, or one with empty tables where the test has an `engine`."""
    if dialect == "sqlite":
        return f"sqlite:///{tmp_path / 'blocks.db'}"
    return request.getfixturevalue("emptied" if "engine" in request.fixturenames else "new_database")()


@pytest.fixture(scope="session")
def emptied(new_database):
    """Empty the one PostgreSQL database that most tests share, and return its URL: making another takes longer."""
    url = new_database()
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)

        def empty():
            with engine.begin() as connection:
                # Looking for what refers to each row took a minute after a test of ten thousand blocks; all rows go.
                connection.execute(sql("SET LOCAL session_replication_role = replica"))
                for table in (table for table in reversed(metadata.sorted_tables) if table.name != "database_id"):
                    connection.execute(table.delete())
                    if "id" in table.c:
                        connection.execute(sql(f"ALTER SEQUENCE {table.name}_id_seq RESTART"))
                connection.execute(
                    sql("UPDATE alembic_version SET version_num = :head"), {"head": schema.MIGRATIONS.head}
                )
            return url

        yield empty


@pytest.fixture
def engine(url):
    engine = open_engine(url, busy_seconds=0.05)
    schema.prepare_schema(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine):
    return Store(engine)


@pytest.fixture
def save(store):
    """Save visits in one batch of one crawl."""
    crawl_id = store.begin_crawl("test", {})
    return lambda *visits: store.save(crawl_id, visits)


@pytest.fixture
def rows(engine):
    """Rows of a query as dictionaries, values as the database holds them."""

    def read(query, **parameters):
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(sql(query), parameters).mappings()]

    return read


@pytest.fixture
def page_texts(rows):
    """The live texts of a page in reading order."""

    def read(url):
        text_rows = rows(
            "SELECT text FROM page_text WHERE page_id = (SELECT id FROM page WHERE url = :url) ORDER BY position",
            url=url,
        )
        return [row["text"] for row in text_rows]

    return read


@pytest.fixture
def closing_store(url):
    """Open a further store on the same database."""

    def open_store(**options):
        engine = open_engine(url, busy_seconds=300)
        return closing(Store(engine, **options))

    return open_store


def make_record(key, *, host="a.example", **values):
    """A request for a page of a host."""
    return RequestRecord(key, f"https://{host}/{key}", host, **values)


def make_terms(lease_id="one", *, now=START, seconds=60, horizon=0, **values):
    """What a worker asks for."""
    return LeaseOptions(lease_id, now, now + timedelta(seconds=seconds), horizon, **values)


@pytest.fixture(scope="session")
def record():
    return make_record


@pytest.fixture(scope="session", name="terms")
def terms_of_a_lease():
    return make_terms


@pytest.fixture(scope="session")
def now():
    return START


@pytest.fixture
def new_crawl(engine):
    """Begin a crawl and return its id."""

    def begin():
        with write_transaction(engine) as connection:
            return join_crawl(connection, "test", {}, fresh=True).crawl_id

    return begin


@pytest.fixture
def crawl_id(new_crawl):
    return new_crawl()


@pytest.fixture
def other_crawl_id(engine, crawl_id):
    with write_transaction(engine) as connection:
        return join_crawl(connection, "other", {}, fresh=False).crawl_id


@pytest.fixture
def store_requests(engine, crawl_id):
    """Store requests of one crawl and return how many are new."""

    def store(*records):
        with write_transaction(engine) as connection:
            return add_requests(connection, crawl_id, records, START)

    return store


@pytest.fixture
def take(engine, crawl_id):
    """Lease requests of that crawl."""

    def lease_some(lease_id="one", **values):
        with write_transaction(engine) as connection:
            return lease_requests(connection, crawl_id, make_terms(lease_id, **values))

    return lease_some


@pytest.fixture
def end(engine):
    """Acknowledge leased requests with one state."""

    def acknowledge_all(leased, state=RequestState.DONE, outcome="page", **values):
        with write_transaction(engine) as connection:
            endings = [Ack(lease.lease_token, state, outcome, **values) for lease in leased]
            return acknowledge_requests(connection, endings, START)

    return acknowledge_all
