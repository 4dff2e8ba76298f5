"""The demo site over HTTP/1.1 on the loopback address."""

from __future__ import annotations

import json
import sys
from collections import Counter
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from crawler.demo.site import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "127.0.0.1"
# Returns the number of requests for each page, so that tests can check what a crawler fetched.
REQUESTS_PATH = "/demo/requests"


class DemoServer(ThreadingHTTPServer):
    """Answers from memory, with one thread for each connection. Port 0 takes a free port.

    `replies` are by request target; the one of "" answers all others.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, replies: Mapping[str, Reply]) -> None:
        super().__init__((HOST, port), _Handler)
        self._replies = replies
        self._requests: Counter[str] = Counter()
        self._lock = Lock()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def reply(self, target: str) -> Reply:
        """Return the response to a request target, a 404 page for an unknown one."""
        if target == REQUESTS_PATH:
            with self._lock:
                return Reply(200, "application/json", json.dumps(self._requests).encode())
        return self._replies.get(target) or self._replies.get(unquote(target)) or self._replies[""]

    def count(self, status: int, target: str) -> None:
        with self._lock:
            self._requests[f"{int(status)} {target}"] += 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect: tests kill crawlers."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    protocol_version = "HTTP/1.1"
    # Send head and body in one segment. With Nagle's algorithm or two sends, keep-alive clients wait 40 ms for the
    # delayed acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = 1 << 18
    # In seconds. A client that is silent for longer is considered gone.
    timeout = 300

    def do_GET(self) -> None:
        target = _path_and_query(self.path)
        reply = self.server.reply(target)
        status = HTTPStatus.NOT_MODIFIED if self._is_fresh(reply) else reply.status
        self.server.count(status, target)
        body = b"" if status == HTTPStatus.NOT_MODIFIED else reply.body
        self.send_response(status)
        for name, value in _headers(reply, status):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _is_fresh(self, reply: Reply) -> bool:
        """Return True if the client's copy is current. The tag takes precedence over the date (RFC 9110, 13.2.2)."""
        if not reply.etag:
            return False
        tags = self.headers.get("If-None-Match")
        if tags is not None:
            return tags.strip() == "*" or reply.etag in [tag.strip().removeprefix("W/") for tag in tags.split(",")]
        since = self.headers.get("If-Modified-Since")
        return since is not None and _is_not_older(since, reply.last_modified)

    def log_message(self, *_args: object) -> None:
        """Log nothing: the only line on standard output is the address."""


def _path_and_query(target: str) -> str:
    """Return a target without scheme and host. Clients that use the site as a proxy send both (RFC 9112, 3.2.2)."""
    if target.startswith("/"):
        return target
    return "/" + target.partition("://")[2].partition("/")[2]


def _headers(reply: Reply, status: int) -> list[tuple[str, str]]:
    optional = [("ETag", reply.etag), ("Last-Modified", reply.last_modified), ("Location", reply.location)]
    headers = [(name, value) for name, value in optional if value]
    if status != HTTPStatus.NOT_MODIFIED:
        headers += [("Content-Type", reply.content_type), ("Content-Length", str(len(reply.body)))]
    return headers


def _is_not_older(since: str, last_modified: str) -> bool:
    try:
        return parsedate_to_datetime(since) >= parsedate_to_datetime(last_modified)
    except (TypeError, ValueError):
        # An unreadable date, or one without a zone, is ignored.
        return False
