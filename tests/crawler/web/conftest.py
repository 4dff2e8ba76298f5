"""The server that shows a database, on both kinds."""

import http.client
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import shown_pages
from scrapy.settings import Settings
from web_answers import VIEWS

from crawler.commands.serving.serve import listen
from crawler.commands.serving.server import make_server
from crawler.storage.database import opened_engine
from crawler.web.app import make_app
from crawler.web.guard import Access


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def url(request, fresh_url):
    """The URL of the database, which is only read."""
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        shown_pages.fill(engine)
    return url


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


SETTINGS = {"CLEANING_SECONDS": 600, "DATABASE_URL": "postgresql://me:secret-1234@db.example/blocks"}


@contextmanager
def served(url, token=None):
    """Serve a database by a thread; give the port."""
    with opened_engine(url, must_exist=True, query_seconds=120) as engine, listen("127.0.0.1", 0) as socket:
        app = make_app(engine, Settings(SETTINGS), Access.of("127.0.0.1", token))
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield socket.getsockname()[1]
        server.should_exit = True
        thread.join()


def ask_at(port, path, headers=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


@pytest.fixture(scope="package")
def port(url):
    with served(url) as port:
        yield port


@pytest.fixture(scope="session")
def serving():
    """Serve a database by a thread; give the port."""
    return served


@pytest.fixture(scope="session")
def ask_port():
    """Ask the server at a port for a path."""
    return ask_at


@pytest.fixture
def ask(port):
    """Ask the server for a path."""
    return lambda path, headers=None, method="GET": ask_at(port, path, headers, method)


@pytest.fixture(scope="session")
def newspapers_port(newspapers_url):
    with served(newspapers_url) as port:
        yield port


@pytest.fixture
def ask_newspapers(newspapers_port):
    """Ask the server that shows the newspapers for a path."""
    return lambda path: ask_at(newspapers_port, path)


@pytest.fixture
def ask_with_token(url):
    """Ask a server that wants a token, the text `a token of many letters`."""
    with served(url, "a token of many letters") as port:
        yield lambda path, headers=None: ask_at(port, path, headers)


@pytest.fixture(params=VIEWS, ids=lambda view: view.name)
def view(request):
    """Each view of the table in turn."""
    return request.param
