"""Transactions that outlive an outage, and are done once."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Thread
from time import monotonic

import processes
import psycopg
import pytest
from scrapy.utils.test import get_crawler
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from crawler.config import Config
from crawler.context import context_of
from crawler.errors import StoreError
from crawler.processing import SiteTemplates, StoreThread
from crawler.reclean import RecleanPlan, RecleanResult, RecleanRun, StoredBodies, learn_template
from crawler.storage.boilerplate import SiteTemplate, write_template
from crawler.storage.database import RetryingWriter, backend_of, open_engine, opened_engine, read_transaction
from crawler.storage.postgresql import PostgreSQLBackend
from crawler.storage.reclean import RecleanJob
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


@pytest.fixture
def shut_at_next_read(engine, server):
    """Make the server end the connection that runs the next statement."""

    def shut_next():
        def shut(connection, *_):
            pid = connection.connection.driver_connection.info.backend_pid
            server.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

        event.listen(engine, "before_cursor_execute", shut, once=True)

    return shut_next


@pytest.mark.postgresql
def test_a_connection_lost_amid_a_read_is_made_anew(engine, shut_at_next_read, visit, caplog):
    store = Store(engine, writer=RetryingWriter(30))
    store.save(store.begin_crawl("test", {}), [visit(A, "one text")])
    shut_at_next_read()
    assert [outcome.url for outcome in store.page_outcomes(["a.example"])] == [A]
    assert "trying again for up to 30 s" in caplog.text
    assert "The database is back" in caplog.text


@pytest.mark.postgresql
def test_a_crawl_waits_for_the_template_of_a_site(engine, shut_at_next_read, now):
    store = Store(engine, writer=RetryingWriter(30))
    crawler = get_crawler()
    store.write(lambda connection: write_template(connection, SiteTemplate("a.example", frozenset({7}), 2, now)))
    thread = context_of(crawler).store_thread = StoreThread(crawler, store)
    templates = SiteTemplates(crawler)

    async def ask():
        return await asyncio.gather(*(templates.of(site, "ce") for site in ("a.example", "a.example", "b.example")))

    shut_at_next_read()
    assert asyncio.run(ask()) == [{7}, {7}, frozenset()]
    assert templates.used == {("a.example", "ce"): now, ("b.example", "ce"): None}
    thread.close()


@pytest.mark.postgresql
def test_cleaning_again_waits_for_what_it_reads(engine, shut_at_next_read, caplog):
    store = Store(engine, writer=RetryingWriter(30))
    config = Config()
    result = RecleanResult()
    plan = RecleanPlan(RecleanJob("test"), config.fingerprinter, limit=None, processes=1, seconds=1)
    shut_at_next_read()
    assert learn_template(store, StoredBodies(), "a.example") is None
    shut_at_next_read()
    # Without pages no worker is needed.
    asyncio.run(RecleanRun(store, StoredBodies(), plan, None, result).run(0, lambda *_: None))
    assert result.complete
    assert caplog.text.count("The database is back") == 2


@pytest.mark.postgresql
def test_the_fate_of_a_transaction_is_known(engine):
    backend = backend_of(engine)
    fates = []
    for end in ("commit", "rollback"):
        with engine.connect() as other:
            begun = other.begin()
            was_committed = backend.commit_check(other)
            for _ in range(2):
                with read_transaction(engine) as connection:
                    fates.append(was_committed(connection))
                if begun.is_active:
                    getattr(begun, end)()
    assert fates == [None, True, None, False]


@pytest.mark.postgresql
def test_a_transaction_that_the_server_has_not_reached_was_not_committed(engine):
    """As on a replica that was promoted before it had received the transaction."""
    with engine.connect() as connection:
        check = backend_of(engine).commit_check(connection)
    unreached = partial(check.func, transaction_id=str(int(check.keywords["transaction_id"]) + 1_000_000))
    with read_transaction(engine) as connection:
        assert unreached(connection) is False


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
    writer = RetryingWriter(5)
    with opened_engine(NOBODY) as engine:
        began = monotonic()
        with pytest.raises(StoreError, match=r"cannot be reached.*DATABASE_WAIT_SECONDS=5"):
            writer.write(engine, lambda _: None)
        assert 5 <= monotonic() - began < 120
        began = monotonic()
        with pytest.raises(StoreError, match="cannot be reached"):
            writer.write(engine, lambda _: None)
        assert monotonic() - began < 5


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
    thread.join(300)
    assert len(failures) == 1


PROGRAM = """
from concurrent.futures import ThreadPoolExecutor
from crawler.storage.database import RetryingWriter, open_engine
ThreadPoolExecutor().submit(RetryingWriter(3600).read, open_engine({url!r}), lambda connection: None)
"""


def test_nobody_waits_once_the_program_has_ended():
    program = [sys.executable, "-c", PROGRAM.format(url=NOBODY)]
    ended = processes.run(program, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert "trying again for up to 3600 s" in ended.stderr


def test_a_failure_that_does_not_pass_is_not_tried_again(engine):
    tries = []

    def work(connection):
        tries.append(connection)
        connection.exec_driver_sql("SELECT * FROM nowhere")

    with pytest.raises(Exception, match="nowhere"):
        RetryingWriter(30).write(engine, work)
    assert len(tries) == 1


def test_threads_that_wait_for_a_database_log_it_once_and_without_contradiction(caplog):
    engine = open_engine(NOBODY)
    writer = RetryingWriter(2)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(writer.read, engine, lambda _: None) for _ in range(4)]
        errors = [str(future.exception()) for future in waiting]
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "cannot be reached (" in warnings[0]
    assert warnings[0].endswith("; trying again for up to 2 s")
    assert "start again" not in warnings[0]
    assert "check that" not in warnings[0]
    assert all("cannot be reached; check that the server runs" in error for error in errors)


@pytest.mark.parametrize("state", ["08006", "57P01", "53300", "55P03", "40001"])
def test_no_advice_to_start_again_stands_beside_a_retry(state):
    advice = PostgreSQLBackend().diagnose(_failure(state)).advice
    assert "again" not in advice.partition(";")[0]


def _failure(state):
    error = psycopg.errors.lookup(state)("lost")
    return DBAPIError.instance(None, None, error, psycopg.Error)
