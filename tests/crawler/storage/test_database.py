"""Opening databases: addresses masked, transactions that see one state, leave nothing half, explain failures."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, inspect, text

from crawler.errors import StoreError
from crawler.storage.backend import redact_url
from crawler.storage.database import open_engine, read_transaction, write_transaction
from crawler.storage.tables import crawl

A_CRAWL = {
    "spider": "test",
    "arguments": {},
    "state": "open",
    "started": datetime(2024, 5, 1, tzinfo=UTC),
    "totals": {},
}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://me:secret@host/db?password=secret", "supported are sqlite:///FILE"),
        ("postgresql+psycopg2://me:secret@host/db", "the driver must be psycopg"),
        ("postgresql://me:secret@host", "names no database"),
        ("postgresql://me:secret@host:port/db", "takes a SQLAlchemy URL"),
        ("me:secret@host", "takes a SQLAlchemy URL"),
        ("sqlite://blocks.db", "must name a plain file"),
        ("sqlite://", "must name a plain file"),
        ("sqlite:///:memory:", "must name a plain file"),
        ("sqlite:///file:x?mode=memory&uri=true", "must name a plain file"),
        ("sqlite:////absent/folder/blocks.db", "folder /absent/folder does not exist"),
        ("sqlite:////proc", "is a folder"),
        ("", "takes a SQLAlchemy URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url, words):
    with pytest.raises(StoreError) as caught:
        open_engine(url)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "public_url"),
    [
        ("postgresql://me:se/cret@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?password=***&user=me"),
        ("me:secret@host", "***@host"),
        ("sqlite:///blocks.db", "sqlite:///blocks.db"),
    ],
)
def test_urls_are_shown_without_passwords(url, public_url):
    assert redact_url(url) == public_url


def test_readers_are_not_kept_waiting_by_a_writer(engine):
    with write_transaction(engine), read_transaction(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM page").scalar() == 0


def test_an_exception_rolls_everything_back(engine):
    def fail():
        with write_transaction(engine) as connection:
            connection.exec_driver_sql("CREATE TABLE half (words TEXT)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with read_transaction(engine) as connection:
        assert not inspect(connection).has_table("half")


def test_a_mistake_in_sql_is_no_store_error_and_shows_no_values(engine):
    with (
        pytest.raises(Exception, match=r"no such table|does not exist") as caught,
        write_transaction(engine) as connection,
    ):
        connection.execute(text("SELECT * FROM nowhere WHERE words = :words"), {"words": "a page's text"})
    assert not isinstance(caught.value, StoreError)
    assert "a page's text" not in str(caught.value)


def test_a_reader_sees_one_state(engine):
    counting = text("SELECT count(*) FROM crawl")
    with read_transaction(engine) as connection:
        before = connection.scalar(counting)
        with write_transaction(engine) as other:
            other.execute(insert(crawl), A_CRAWL)
        assert connection.scalar(counting) == before == 0
    with read_transaction(engine) as connection:
        assert connection.scalar(counting) == 1
