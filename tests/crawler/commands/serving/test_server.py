"""The server with clients that do not do their part, and with few file descriptors."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import pytest
from cleaned_pages import fill

from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store

HALF_HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-"
HALF_BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"


@pytest.fixture
def serve(tmp_path):
    """Start `scrapy serve` with a limit of file descriptors; give its process and port."""
    url = f"sqlite:///{tmp_path}/blocks.db"
    with opened_engine(url) as engine:
        prepare_schema(engine)
        fill(Store(engine), 2)
    environment = os.environ | {"DATABASE_URL": url, "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    processes = []

    def start(descriptors=1_024):
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"ulimit -n {descriptors}; exec {sys.executable} -m scrapy serve --port 0"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process, int(re.search(r":(\d+)/", process.stdout.readline())[1])

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def ask(port, path="/api/overview"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def connect(port, number, sent):
    """Open connections of which each sends something, and then nothing."""
    connections = [socket.create_connection(("127.0.0.1", port), timeout=300) for _ in range(number)]
    for connection in connections:
        with suppress(ConnectionError):  # it had to give way
            connection.sendall(sent)
    return connections


@pytest.mark.parametrize(("descriptors", "sent"), [(1_024, HALF_HEAD), (72, HALF_HEAD), (40, b""), (1_024, HALF_BODY)])
def test_readers_are_answered_beside_half_requests(serve, descriptors, sent):
    process, port = serve(descriptors)
    connections = connect(port, 300, sent)
    assert [ask(port) for _ in range(3)] == [200] * 3
    for connection in connections:
        connection.close()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert (process.returncode, "Traceback" in errors) == (0, False), errors


@pytest.mark.parametrize("drips", [False, True])
def test_a_head_has_a_time_limit(serve, drips):
    """Also one of which a byte arrives now and then."""
    _, port = serve()
    (connection,) = connect(port, 1, HALF_HEAD)
    connection.settimeout(0.5 if drips else 300)
    with connection, suppress(ConnectionError):
        while not ended(connection):
            connection.sendall(b"a")


def ended(connection):
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False


def test_an_answer_that_nobody_reads_has_a_time_limit(serve):
    _, port = serve()
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection, pytest.raises(ConnectionError):
        ask_for_ever(connection)


def ask_for_ever(connection):
    while True:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
