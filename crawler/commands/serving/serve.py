"""`scrapy serve`: a web page over the database, which it only reads.

0    Ctrl-C or SIGTERM ended it
1    it cannot start: a sentence says why
2    wrong usage
"""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand, needs_extra
from crawler.errors import ConfigError
from crawler.storage import schema
from crawler.storage.database import location_of, opened_engine
from crawler.terminal import expect_no_arguments, print_line, run_command

if TYPE_CHECKING:
    import argparse

_PORTS = 65_535
_QUERY_SECONDS = 10.0
_MADE_TOKEN_BYTES = 24


class ServeCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--host HOST] [--port PORT] [--token [TOKEN]] [--edit] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Show the database as a web page"

    def long_desc(self) -> str:
        return (
            "Serve a web page that shows crawls, sites, pages, texts and failures, and the same as JSON, until Ctrl-C. "
            "The database is only read, and crawls go on meanwhile. Only this machine reaches the page, unless --host "
            "and --token say otherwise. With --edit, pages can be corrected in the browser, as with `scrapy correct`, "
            "and sections crawled and visited again. Needs the extra `web`."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8700, help="port, 0 for a free one (default: %(default)s)")
        parser.add_argument(
            "--token",
            nargs="?",
            const="",
            metavar="TOKEN",
            help="let in only those who have the token; without TOKEN, a new one is made and printed",
        )
        parser.add_argument(
            "--edit",
            action="store_true",
            help="let those who have the token correct pages and start crawls; without --token, a new one is made",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if not 0 <= opts.port <= _PORTS:
            raise UsageError(f"--port is {opts.port}; it takes a number from 0 to {_PORTS}", print_help=False)
        if opts.token == "" or (opts.edit and opts.token is None):
            opts.token = secrets.token_urlsafe(_MADE_TOKEN_BYTES)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_command(lambda: self._serve(opts))

    def _serve(self, opts: argparse.Namespace) -> None:
        with needs_extra("scrapy serve", "web"):
            from crawler.commands.serving.server import make_server  # noqa: PLC0415 — as below
            from crawler.editing.jobs import Jobs  # noqa: PLC0415 — as below
            from crawler.editing.routes import TEMPLATES, Editor  # noqa: PLC0415 — an extra
            from crawler.web.app import Editing, make_app  # noqa: PLC0415 — as above
            from crawler.web.guard import Access  # noqa: PLC0415 — as above
        assert self.settings is not None  # set by scrapy.cmdline
        access = Access.of(opts.host, opts.token, edits=opts.edit)
        url = self.config.database_url
        with ExitStack() as stack:
            engine = stack.enter_context(opened_engine(url, must_exist=True, query_seconds=_QUERY_SECONDS))
            schema.check_schema(engine)
            editing = None
            if opts.edit:
                written = stack.enter_context(opened_engine(url, must_exist=True))
                jobs = stack.enter_context(Jobs(opts.set))
                editing = Editing(
                    TEMPLATES, lambda answering, renderer: Editor(answering, renderer, written, jobs).routes()
                )
            app = make_app(engine, self.settings, access, editing)
            with listen(opts.host, opts.port) as listening:
                address = _address(opts.host, listening, opts.token)
                print_line(f"{location_of(engine)} is shown at {address} until Ctrl-C")
                with suppress(KeyboardInterrupt):  # which uvicorn raises again after it has ended
                    make_server(app).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises ConfigError if the address or port cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"--host {host!r} is not an address of this machine: {error.strerror}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(f"--host {host} --port {port} cannot be used: {error.strerror}; try --port 0") from error
    return listening


def _address(host: str, listening: socket.socket, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={token}"
    return f"http://{name}:{listening.getsockname()[1]}/{query}"
