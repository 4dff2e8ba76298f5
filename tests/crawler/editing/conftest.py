"""A server that lets pages be corrected, over eight pages of a made-up site with a mistake on each."""

import http.client
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest
import taught_site
from cleaned_pages import visit_at
from scrapy.settings import Settings

from crawler.commands.serving.serve import listen
from crawler.commands.serving.server import make_server
from crawler.editing.jobs import Jobs
from crawler.editing.routes import TEMPLATES, Editor
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store
from crawler.web.app import Editing, make_app
from crawler.web.guard import Access

TOKEN = "a token of many letters"
PAGES = 8


@dataclass
class Browser:
    """What a browser does: it keeps the cookie, and says where a form comes from."""

    port: int
    cookie: str = ""

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path, method="GET", body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            own = {"Cookie": self.cookie} if self.cookie else {}
            connection.request(method, path, body, own | (headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def enter(self):
        _, headers, _ = self.ask(f"/?{urlencode({'token': TOKEN})}")
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        return self

    def send(self, path, fields, **headers):
        """Send a form, as a page of this server does; a header None is left out."""
        usual = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        sent = {name.replace("_", "-"): value for name, value in (usual | headers).items() if value is not None}
        return self.ask(path, "POST", urlencode(fields, doseq=True), sent)

    def hidden(self, path):
        """The hidden fields of the first form of a page."""
        status, _, text = self.ask(path)
        assert status == 200, text
        form = text[text.index("<form method") :].partition("</form>")[0]
        return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


@contextmanager
def edited(url, write_url=None):
    """Serve a database to editors by a thread; give the port."""
    with (
        opened_engine(url, must_exist=True, query_seconds=120) as engine,
        opened_engine(write_url or url, must_exist=True) as written,
        listen("127.0.0.1", 0) as socket,
        Jobs([f"DATABASE_URL={url}", "ALLOW_ADDRESSES=127.0.0.0/8", "LOG_LEVEL=INFO"]) as jobs,
    ):
        editing = Editing(TEMPLATES, lambda answering, renderer: Editor(answering, renderer, written, jobs).routes())
        access = Access.of("127.0.0.1", TOKEN, edits=True)
        server = make_server(make_app(engine, Settings({"DATABASE_URL": url}), access, editing))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield socket.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def taught_url(fresh_url):
    """Return the URL of a database with the pages of the site; page 1 is the first of them."""

    def make(kind="sqlite"):
        url = fresh_url(kind)
        with opened_engine(url) as engine:
            schema.prepare_schema(engine)
            store = Store(engine)
            visits = [visit_at(taught_site.address(number), taught_site.page_html(number)) for number in range(PAGES)]
            store.save(store.begin_crawl("test", {}), visits)
        return url

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def edited_url(request, taught_url):
    return taught_url(request.param)


@pytest.fixture
def browser(edited_url):
    """A browser that has entered the server."""
    with edited(edited_url) as port:
        yield Browser(port).enter()


@pytest.fixture(scope="session")
def serve_edits():
    """Serve a database to editors; give the port."""
    return edited


@pytest.fixture(scope="session")
def browser_at():
    """A browser for a port."""
    return Browser
