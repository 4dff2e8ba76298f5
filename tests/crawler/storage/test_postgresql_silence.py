"""A PostgreSQL server that accepts connections and does not answer: frozen, or behind a pooler that is paused."""

import socket
import threading
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

import pytest
from sqlalchemy import text

from crawler.errors import StoreError
from crawler.storage import postgresql
from crawler.storage.database import RetryingWriter, open_engine, opened_engine, write_transaction

pytestmark = pytest.mark.postgresql


@pytest.fixture
def running_server(private_server):
    if not private_server.is_running():
        private_server.start()
    return private_server


@pytest.fixture
def url(running_server):
    return f"{running_server.url}?connect_timeout=2"


@pytest.fixture
def impatient(monkeypatch):
    """Let a silent server be noticed within two seconds instead of half a minute."""
    monkeypatch.setattr(postgresql, "_SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(postgresql, "_SILENCE_SECONDS_MAX", 0.6)
    monkeypatch.setattr(postgresql, "_PROBE_SECONDS", 1)


def count(connection):
    return connection.scalar(text("SELECT 7"))


@pytest.fixture
def engine(url):
    engine = open_engine(url)
    with write_transaction(engine) as connection:
        assert count(connection) == 7  # its connection is open, and waits in the pool
    yield engine
    engine.dispose()


@pytest.mark.usefixtures("impatient")
def test_a_frozen_server_ends_the_wait_with_a_sentence(running_server, engine, caplog):
    with running_server.frozen(), pytest.raises(StoreError, match=r"cannot be reached; .* of DATABASE_WAIT_SECONDS=1"):
        RetryingWriter(1).write(engine, count)
    assert "does not answer" in caplog.text
    assert "broke the connection (no answer for " in caplog.text
    assert "trying again for up to 1 s" in caplog.text


@pytest.mark.usefixtures("impatient")
def test_work_goes_on_when_the_server_answers_again(running_server, engine, caplog):
    results = []
    with running_server.frozen():
        worker = Thread(target=lambda: results.append(RetryingWriter(600).write(engine, count)))
        worker.start()
        while "trying again" not in caplog.text:
            worker.join(0.1)
    worker.join()
    assert results == [7]
    assert "The database is back after" in caplog.text


@pytest.mark.usefixtures("impatient")
def test_nobody_waits_for_a_frozen_server_after_being_told_to_stop(running_server, engine):
    writer = RetryingWriter(86_400)
    writer.stop_waiting()
    with running_server.frozen(), pytest.raises(StoreError, match="DATABASE_WAIT_SECONDS=86400"):
        writer.write(engine, count)


@pytest.mark.usefixtures("impatient")
def test_a_long_statement_of_a_server_that_answers_is_waited_for(engine, caplog):
    began = monotonic()
    with write_transaction(engine) as connection:
        connection.execute(text("SELECT pg_sleep(2)"))
    assert monotonic() - began >= 2
    assert "does not answer" not in caplog.text


@contextmanager
def pooler(port, answered):
    """A server that passes on what it gets while `answered` is set, and otherwise accepts and says nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    held = []

    def pump(source, target):
        while data := source.recv(65_536):
            answered.wait()
            target.sendall(data)

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", port))
            held.extend((client, server))
            for pair in ((client, server), (server, client)):
                threading.Thread(target=quietly, args=(pump, *pair), daemon=True).start()

    Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
        answered.set()
        for connection in held:
            connection.close()


def quietly(work, *arguments):
    try:
        work(*arguments)
    except OSError:
        return


@pytest.mark.usefixtures("impatient")
def test_a_paused_pooler_ends_the_wait_with_a_sentence(running_server, engine):
    answered = Event()
    answered.set()
    with pooler(engine.url.port, answered) as port:
        url = engine.url.set(port=port).render_as_string(hide_password=False)
        with opened_engine(url) as through:
            with write_transaction(through) as connection:
                assert count(connection) == 7
            answered.clear()
            with pytest.raises(StoreError, match="DATABASE_WAIT_SECONDS=1"):
                RetryingWriter(1).write(through, count)
        with opened_engine(url) as later, pytest.raises(StoreError, match="cannot be reached"):
            RetryingWriter(0).write(later, count)
