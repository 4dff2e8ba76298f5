"""Engines for readers: the database refuses every write, and ends a query that takes too long."""

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError

from crawler.errors import StoreError
from crawler.storage import schema
from crawler.storage.database import location_of, open_engine, opened_engine, read_transaction, write_transaction
from crawler.storage.store import Store
from crawler.storage.tables import host

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("new_database")()
    return f"sqlite:///{tmp_path / 'some blocks?.db'}"


@pytest.fixture
def reader(url):
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
    with opened_engine(url, must_exist=True, query_seconds=60) as engine:
        yield engine


def test_a_reader_cannot_write_whatever_it_asks_for(reader):
    schema.check_schema(reader)
    with pytest.raises((StoreError, DBAPIError)), write_transaction(reader) as connection:
        connection.execute(insert(host), {"host": "a.example"})
    with pytest.raises((StoreError, DBAPIError)), read_transaction(reader) as connection:
        connection.execute(text("DELETE FROM host"))


def test_sqlite_refuses_by_two_means(tmp_path):
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
    with opened_engine(url, query_seconds=60) as engine, engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=OFF")
        with pytest.raises(DBAPIError, match="readonly"):
            connection.exec_driver_sql("DELETE FROM host")


def test_a_reader_sees_what_a_writer_commits_meanwhile(url, reader):
    with opened_engine(url) as engine, read_transaction(reader) as before:
        assert before.execute(select(host)).all() == []
        with write_transaction(engine) as connection:
            connection.execute(insert(host), {"host": "a.example"})
        assert before.execute(select(host)).all() == []
        with read_transaction(reader) as after:
            assert len(after.execute(select(host)).all()) == 1


def test_a_connection_of_the_pool_reads_on_when_its_file_is_deleted(tmp_path):
    path = tmp_path / "blocks.db"
    with opened_engine(f"sqlite:///{path}") as engine:
        schema.prepare_schema(engine)
        path.unlink()
        with read_transaction(engine) as connection:
            assert connection.execute(select(host)).all() == []


def test_a_query_without_an_end_is_ended_and_the_connection_goes_on(url, reader):
    with opened_engine(url, query_seconds=0.05) as engine:
        with pytest.raises(StoreError, match="did not answer in time"), read_transaction(engine) as connection:
            connection.execute(text(ENDLESS)).all()
        with read_transaction(engine) as connection:
            assert connection.scalar(text("SELECT 1")) == 1


def test_the_file_of_a_reader_is_the_one_that_the_url_names(reader, url):
    with opened_engine(url) as engine:
        assert location_of(reader) == location_of(engine)


def test_a_reader_of_a_missing_file_makes_none(tmp_path):
    path = tmp_path / "blocks.db"
    engine = open_engine(f"sqlite:///{path}", query_seconds=1)
    with pytest.raises(StoreError, match="cannot be opened"), read_transaction(engine):
        pass
    assert not path.exists()


def test_a_reader_does_not_wait_for_a_crawl_that_writes(url, reader):
    with opened_engine(url) as engine:
        store = Store(engine)
        with write_transaction(engine) as connection:
            connection.execute(insert(host), {"host": "a.example"})
            with read_transaction(reader) as other:
                assert other.execute(select(host)).all() == []
        store.close()
