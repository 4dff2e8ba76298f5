"""A site that changes between crawls, speaks ETag and Last-Modified, and tells what it was asked for."""

import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

from xxhash import xxh64_hexdigest

HOST_FILES = frozenset({"/robots.txt", "/.well-known/tdmrep.json"})
WORDS = (
    "harbour lantern meadow quarry thistle orchard granite willow copper saddle kettle ribbon barley fiddle anchor "
    "pepper velvet mortar cinder hollow timber canvas marble feather gravel sorrel pewter linnet tallow bramble"
).split()


def prose(seed, sentences=3):
    """Paragraph text of its own for each seed."""
    turned = [
        WORDS[(seed * 7 + step * (seed % 11 + 1)) % len(WORDS)] + f"{seed}x{step}" for step in range(14 * sentences)
    ]
    parts = [" ".join(turned[start : start + 14]) for start in range(0, len(turned), 14)]
    return ". ".join(part.capitalize() for part in parts) + "."


def article(title, *paragraphs, advertisement="", canonical=""):
    link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    aside = f'<aside class="advertisement"><a href="/buy">{advertisement}</a></aside>' if advertisement else ""
    return (
        f"<!DOCTYPE html><html lang=en><head><title>{title}</title>{link}</head>"
        f"<body><article><h1>{title}</h1>{body}</article>{aside}</body></html>"
    )


def listing(*paths):
    return "<!DOCTYPE html><html><body><ul>" + "".join(f'<li><a href="{path}">{path}</a>' for path in paths) + "</ul>"


@dataclass
class Page:
    body: str = ""
    status: int = 200
    location: str = ""
    validators: str = "both"  # etag, date, both or none
    lies: str = ""  # an ETag that a 304 has in place of the right one
    headers: dict = field(default_factory=dict)  # of every answer, also of a 304
    refusals: int = 0  # so many requests are answered with 429 first


@dataclass
class Asked:
    """A request: its path, whether it was conditional, and the status of the answer."""

    path: str
    conditional: bool
    status: int


class Site:
    """`pages` by path, to be changed at will; `asked` lists all requests. Each address is a host of its own."""

    def __init__(self, address="127.0.0.1"):
        self.pages = {}
        self.asked = []
        self._changed = {}
        self._open = threading.Event()
        self._open.set()
        self._clock = count(1_700_000_000, 60)
        self._server = _Server((address, 0), _Handler)
        self._server.site = self
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://{address}:{self._server.server_port}"

    def put(self, path, body, **values):
        self.pages[path] = Page(body, **values)
        self._changed[path] = next(self._clock)

    def date(self, path):
        return formatdate(self._changed[path], usegmt=True)

    def paths(self, status=None):
        """The paths of pages asked for, in order; those answered with a status."""
        return [
            request.path
            for request in self.asked
            if request.path not in HOST_FILES and status in {None, request.status}
        ]

    def hold(self):
        """Answer no further request, other than for the files of the host, until `let_go`."""
        self._open.clear()

    def let_go(self):
        self._open.set()

    def wait_until_open(self):
        assert self._open.wait(300)

    def wait_for(self, number):
        """Wait until so many pages were asked for, answered or not."""
        deadline = time.monotonic() + 300
        while len(self.paths()) < number:
            assert time.monotonic() < deadline, self.paths()
            time.sleep(0.02)

    def close(self):
        self.let_go()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, _request, _client_address):
        """Keep quiet about clients that go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        site = self.server.site
        page = site.pages.get(self.path, Page("not here", 404))
        body = page.body.encode()
        etag = f'"{xxh64_hexdigest(body)}"'
        date = site.date(self.path) if self.path in site.pages else ""
        headers = {"Content-Type": "text/html; charset=utf-8"} | page.headers
        if page.validators in {"etag", "both"}:
            headers["ETag"] = etag
        if page.validators in {"date", "both"} and date:
            headers["Last-Modified"] = date
        tag = self.headers.get("If-None-Match")
        since = self.headers.get("If-Modified-Since")
        fresh = tag == etag if tag is not None and "ETag" in headers else since is not None and since == date
        status = page.status
        if page.refusals:
            page.refusals -= 1
            status, body = 429, b"too many requests"
            headers["Retry-After"] = "1"
        if status == 200 and (fresh or (page.lies and tag)):
            status, body = 304, b""
            headers |= {"ETag": page.lies} if page.lies else {}
        site.asked.append(Asked(self.path, bool(tag or since), status))
        if self.path not in HOST_FILES:
            site.wait_until_open()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if page.location:
            self.send_header("Location", page.location)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 304:
            self.wfile.write(body)

    def log_message(self, *_arguments):
        pass
