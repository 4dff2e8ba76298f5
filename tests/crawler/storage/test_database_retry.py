"""Transactions that outlive an outage, and are done once."""

from threading import Thread
from time import monotonic

import psycopg
import pytest
from sqlalchemy import event

from crawler.errors import StoreError
from crawler.storage.database import RetryingWriter, backend_of, opened_engine, read_transaction
from crawler.storage.store import Store

NOBODY = "postgresql://nobody@127.0.0.1:1/nothing"
A = "https://a.example/1"


def once(engine, handler):
    """Do something to the first commit."""
    event.listen(engine, "commit", handler, once=True)


@pytest.mark.postgresql
@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_whose_answer_is_lost_is_done_once(url, engine, visit, rows, committed):
    store = Store(engine, writer=RetryingWriter(30))
    number = store.begin_crawl("test", {})

    def lose(connection):
        driver = connection.connection.driver_connection
        if committed:
            driver.commit()
        driver.close()

    once(engine, lose)
    (saved,) = store.save(number, [visit(A, "one text", "another text")])
    assert (saved.state, saved.stored) == ("new", 2)
    assert rows("SELECT visits FROM page") == [{"visits": 1}]
    assert rows("SELECT count(*) AS n FROM block") == [{"n": 2}]


@pytest.mark.postgresql
def test_a_connection_lost_amid_a_batch_is_made_anew(engine, server, visit, rows):
    store = Store(engine, writer=RetryingWriter(30))
    number = store.begin_crawl("test", {})

    def shut(connection):
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        server.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

    once(engine, shut)
    assert [saved.state for saved in store.save(number, [visit(A, "one text")])] == ["new"]
    assert rows("SELECT visits FROM page") == [{"visits": 1}]


@pytest.mark.postgresql
def test_the_fate_of_a_transaction_is_known(engine):
    asked = backend_of(engine)
    fates = []
    for end in ("commit", "rollback"):
        with engine.connect() as other:
            begun = other.begin()
            was_committed = asked.commit_check(other)
            for _ in range(2):
                with read_transaction(engine) as connection:
                    fates.append(was_committed(connection))
                if begun.is_active:
                    getattr(begun, end)()
    assert fates == [None, True, None, False]


@pytest.mark.postgresql
def test_another_writer_s_lock_is_waited_for(url, engine, rows):
    """Longer than one statement waits for it."""
    store = Store(engine, writer=RetryingWriter(30))
    other = psycopg.connect(url)
    other.execute("LOCK TABLE crawl")
    begun = Thread(target=store.begin_crawl, args=("test", {}))
    begun.start()
    waiting = (
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while rows(waiting) == [{"n": 0}]:
        pass
    while rows(waiting) == [{"n": 1}]:
        pass  # until its statement gave up
    other.close()
    begun.join()
    assert rows("SELECT spider FROM crawl") == [{"spider": "test"}]


def test_the_wait_has_an_end_and_is_not_begun_again():
    writer = RetryingWriter(2)
    with opened_engine(NOBODY) as engine:
        began = monotonic()
        with pytest.raises(StoreError, match=r"cannot be reached.*DATABASE_WAIT_SECONDS=2"):
            writer.write(engine, lambda _: None)
        assert 2 <= monotonic() - began < 20
        began = monotonic()
        with pytest.raises(StoreError, match="cannot be reached"):
            writer.write(engine, lambda _: None)
        assert monotonic() - began < 2


def test_whoever_waits_can_be_told_to_stop():
    writer, failures = RetryingWriter(3600), []

    def write():
        with opened_engine(NOBODY) as engine:
            try:
                writer.write(engine, lambda _: None)
            except StoreError as error:
                failures.append(str(error))

    thread = Thread(target=write)
    thread.start()
    writer.stop_waiting()
    thread.join(30)
    assert len(failures) == 1


def test_a_failure_that_does_not_pass_is_not_tried_again(engine):
    tries = []

    def work(connection):
        tries.append(connection)
        connection.exec_driver_sql("SELECT * FROM nowhere")

    with pytest.raises(Exception, match="nowhere"):
        RetryingWriter(30).write(engine, work)
    assert len(tries) == 1
