"""Opening databases: rules set, addresses masked, failures explained."""

import sqlite3
from contextlib import closing
from urllib.parse import quote

import pytest

from crawler.errors import StoreError
from crawler.storage.engine import location, masked, open_engine, reading, writing


def pragma(engine, name):
    with reading(engine) as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@pytest.mark.parametrize(
    ("name", "value"),
    [("journal_mode", "wal"), ("synchronous", 1), ("foreign_keys", 1), ("busy_timeout", 50), ("secure_delete", 1)],
)
def test_every_connection_follows_the_rules(engine, name, value):
    assert pragma(engine, name) == value


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+psycopg://me:secret@host/db", "supported is sqlite:///FILE"),
        ("mysql://me:secret@host/db?password=secret", "supported is sqlite:///FILE"),
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
    ("url", "shown"),
    [
        ("postgresql://me:se/cret@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?password=***&user=me"),
        ("me:secret@host", "***@host"),
        ("sqlite:///blocks.db", "sqlite:///blocks.db"),
    ],
)
def test_urls_are_shown_without_passwords(url, shown):
    assert masked(url) == shown


def test_a_file_is_shown_with_its_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert location("sqlite:///blocks.db") == str(tmp_path / "blocks.db")


def test_opening_creates_nothing(url, tmp_path):
    open_engine(url)
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_must_exist_is_missed(url):
    with pytest.raises(StoreError, match=r"there is no database at /.*`scrapy initdb` creates it"):
        open_engine(url, must_exist=True)


def test_odd_characters_in_the_path_are_part_of_it(tmp_path):
    folder = tmp_path / "a b#%20é"
    folder.mkdir()
    engine = open_engine(f"sqlite:///{quote(str(folder))}/blocks.db")
    pragma(engine, "user_version")
    engine.dispose()
    assert (folder / "blocks.db").exists()


def test_a_place_that_cannot_be_written_is_named():
    engine = open_engine("sqlite:////proc/blocks.db")
    with pytest.raises(StoreError, match=r"/proc/blocks\.db cannot be opened; check that its folder"), reading(engine):
        pass


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "diary.db").write_text("dear diary " * 100)
    engine = open_engine(f"sqlite:///{tmp_path / 'diary.db'}")
    with pytest.raises(StoreError, match=r"diary\.db is not an SQLite database"), reading(engine):
        pass


def test_a_damaged_database_is_named(engine, tmp_path):
    with writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE long (text)")
        connection.exec_driver_sql("INSERT INTO long VALUES (hex(randomblob(100000)))")
    engine.dispose()
    whole = (tmp_path / "blocks.db").read_bytes()
    (tmp_path / "blocks.db").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="is damaged; restore a copy"), reading(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM long").fetchall()


def test_a_database_that_may_not_be_written_is_named(engine):
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with (
        pytest.raises(StoreError, match="cannot be written; give this user write access"),
        writing(engine) as connection,
    ):
        connection.exec_driver_sql("CREATE TABLE more (text)")


def test_a_locked_database_is_waited_for_and_then_named(engine, tmp_path):
    with closing(sqlite3.connect(tmp_path / "blocks.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="stayed locked by another process"), writing(engine):
            pass


def test_readers_are_not_kept_waiting_by_a_writer(engine):
    with writing(engine), reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM page").scalar() == 0


def test_a_writer_that_reads_first_still_gets_its_turn(engine, tmp_path):
    """With a plain BEGIN the insert would fail at once: somebody wrote since the read."""
    with writing(engine) as connection:
        connection.exec_driver_sql("SELECT count(*) FROM page").scalar()
        other = sqlite3.connect(tmp_path / "blocks.db", isolation_level=None, timeout=0)
        with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("CREATE TABLE other (text)")
        connection.exec_driver_sql("CREATE TABLE mine (text)")


def test_an_exception_rolls_everything_back(engine):
    def fail():
        with writing(engine) as connection:
            connection.exec_driver_sql("CREATE TABLE half (text)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name = 'half'").all() == []


def test_a_mistake_in_sql_is_no_store_error_and_shows_no_values(engine):
    with pytest.raises(Exception, match="no such table") as caught, writing(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM nowhere WHERE text = ?", ("a page's text",))
    assert not isinstance(caught.value, StoreError)
    assert "a page's text" not in str(caught.value)
