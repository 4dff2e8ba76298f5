"""SQLite: rules set, files named, failures explained."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from urllib.parse import quote

import pytest

from crawler.errors import StoreError
from crawler.storage.database import (
    RetryingWriter,
    location_of_url,
    open_engine,
    opened_engine,
    read_transaction,
    write_transaction,
)

pytestmark = pytest.mark.sqlite


def pragma(engine, name):
    with read_transaction(engine) as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@pytest.mark.parametrize(
    ("name", "value"),
    [("journal_mode", "wal"), ("synchronous", 1), ("foreign_keys", 1), ("busy_timeout", 50), ("secure_delete", 1)],
)
def test_every_connection_follows_the_rules(engine, name, value):
    assert pragma(engine, name) == value


def test_a_file_is_shown_with_its_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert location_of_url("sqlite:///blocks.db") == str(tmp_path / "blocks.db")


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
    with (
        pytest.raises(StoreError, match=r"/proc/blocks\.db cannot be opened; check that its folder"),
        read_transaction(engine),
    ):
        pass


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "diary.db").write_text("dear diary " * 100)
    engine = open_engine(f"sqlite:///{tmp_path / 'diary.db'}")
    with pytest.raises(StoreError, match=r"diary\.db is not an SQLite database"), read_transaction(engine):
        pass


def test_a_damaged_database_is_named(engine, tmp_path):
    with write_transaction(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE long (text)")
        connection.exec_driver_sql("INSERT INTO long VALUES (hex(randomblob(100000)))")
    engine.dispose()
    whole = (tmp_path / "blocks.db").read_bytes()
    (tmp_path / "blocks.db").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="is damaged; restore a copy"), read_transaction(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM long").fetchall()


def test_a_database_that_may_not_be_written_is_named(engine):
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with (
        pytest.raises(StoreError, match="cannot be written; give this user write access"),
        write_transaction(engine) as connection,
    ):
        connection.exec_driver_sql("CREATE TABLE more (text)")


def test_a_locked_database_is_waited_for_and_then_named(engine, tmp_path):
    with closing(sqlite3.connect(tmp_path / "blocks.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="stayed locked by another process"), write_transaction(engine):
            pass


def test_several_connections_may_make_a_database_at_once(tmp_path):
    """SQLite does not wait for others who make the same file: without a wait of ours one in twenty fails."""
    starts = Barrier(4)

    def make(number):
        with opened_engine(f"sqlite:///{tmp_path / f'{number}.db'}") as engine:
            starts.wait()
            return pragma(engine, "journal_mode")

    with ThreadPoolExecutor(starts.parties) as pool:
        for number in range(100):
            assert set(pool.map(make, [number] * starts.parties)) == {"wal"}


def test_a_writer_that_is_stopped_does_not_wait_for_the_end_of_a_lock(url, engine, tmp_path):
    with write_transaction(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE more (text)")
    writer = RetryingWriter()
    patient = open_engine(url, busy_seconds=1_000_000)
    other = sqlite3.connect(tmp_path / "blocks.db", isolation_level=None)
    with closing(other), ThreadPoolExecutor() as pool:
        other.execute("BEGIN IMMEDIATE")
        writing = pool.submit(writer.write, patient, lambda connection: connection.exec_driver_sql("DELETE FROM more"))
        writer.stop_waiting()
        with pytest.raises(StoreError, match="stayed locked by another process"):
            writing.result()
        assert other.in_transaction
        other.execute("COMMIT")
        with write_transaction(patient) as connection:
            connection.exec_driver_sql("DELETE FROM more")
    assert pragma(patient, "busy_timeout") == 1_000_000_000


def test_a_writer_that_reads_first_still_gets_its_turn(engine, tmp_path):
    """With a plain BEGIN the insert would fail at once: somebody wrote since the read."""
    with write_transaction(engine) as connection:
        connection.exec_driver_sql("SELECT count(*) FROM page").scalar()
        other = sqlite3.connect(tmp_path / "blocks.db", isolation_level=None, timeout=0)
        with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("CREATE TABLE other (text)")
        connection.exec_driver_sql("CREATE TABLE mine (text)")
