"""A site on the loopback address, served by a process of its own, and the real pages that it may serve."""

from __future__ import annotations

import gzip
import json
import multiprocessing
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MISSING = frozenset({"/robots.txt", "/.well-known/tdmrep.json"})


class Handler(BaseHTTPRequestHandler):
    """Answers with what the site has under a path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        body = self.server.page(self.path)
        self.send_response(404 if self.path in _MISSING else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


class Site(ThreadingHTTPServer):
    """`page` is a function that returns the body at a path."""

    def __init__(self, page):
        super().__init__(("127.0.0.1", 0), Handler)
        self.page = page


@contextmanager
def run_site(make, *arguments):
    """Serve the site whose `page` function is `make(*arguments)`, called in its own process; yield its address."""
    addresses = multiprocessing.Queue()
    site = multiprocessing.Process(target=_serve, args=(make, arguments, addresses), daemon=True)
    site.start()
    try:
        yield addresses.get(timeout=120)
    finally:
        site.terminate()
        site.join()


def _serve(make, arguments, addresses):
    with Site(make(*arguments)) as site:
        addresses.put(f"http://127.0.0.1:{site.server_port}/")
        site.serve_forever()


def real_pages(data, sets=("wcxb-dev",)):
    """Yield the bodies of the saved pages of these sets."""
    for name in sets:
        folder = data / "extraction" / name
        for line in (folder / "truth.jsonl").read_text("utf-8").rstrip("\n").split("\n"):
            yield gzip.decompress((folder / json.loads(line)["html_path"]).read_bytes())


def listing(paths, following=None):
    """Return the body of a listing: links to these paths, and to the next page of the listing."""
    links = "".join(f'<a href="{path}">{path}</a> ' for path in paths)
    return f"<html><body>{links}{f'<a rel=next href={following}>Next</a>' if following else ''}</body></html>".encode()
