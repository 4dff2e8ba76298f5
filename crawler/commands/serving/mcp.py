"""`scrapy mcp`: let an assistant search and read the database, by the Model Context Protocol.

0    the client ended the connection, or Ctrl-C
1    the database cannot be read, or the port cannot be had
2    an option is wrong
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand, needs_extra
from crawler.commands.serving.serve import listen
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.headlines import own_version
from crawler.terminal import expect_no_arguments, print_error, run_command

if TYPE_CHECKING:
    import argparse

_HOST = "127.0.0.1"
_PORTS = 65_535
_QUERY_SECONDS = 60.0


class McpCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--http PORT]"

    def short_desc(self) -> str:
        return "Let an assistant search and read the database (Model Context Protocol)"

    def long_desc(self) -> str:
        return (
            "Serve the database to an assistant by the Model Context Protocol: search, read a page, changes, copies, "
            "and why a sentence is missing. Nothing can be changed. By default an assistant starts the command and "
            "talks to it by its standard input and output; with --http it listens on this machine. See docs/serve.md."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--http", type=int, metavar="PORT", help=f"listen at http://{_HOST}:PORT/mcp in place of standard input"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if opts.http is not None and not 1 <= opts.http <= _PORTS:
            raise UsageError(f"--http is {opts.http}; it takes a port from 1 to {_PORTS}", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_command(lambda: self._serve(opts.http))

    def _serve(self, port: int | None) -> None:
        with needs_extra("scrapy mcp", "mcp"):
            from crawler.commands.serving.server import make_server as make_http_server  # noqa: PLC0415 — as below
            from crawler.mcp.server import make_server  # noqa: PLC0415 — an extra
        assert self.settings is not None  # set by scrapy.cmdline
        url = self.config.database_url
        with opened_engine(url, must_exist=True, query_seconds=_QUERY_SECONDS) as engine, suppress(KeyboardInterrupt):
            schema.check_schema(engine)
            server = make_server(engine, self.settings, own_version())
            if port is None:
                server.run("stdio")
                return
            with listen(_HOST, port) as listening:
                print_error(f"listening at http://{_HOST}:{port}/mcp until Ctrl-C")
                make_http_server(server.streamable_http_app(host=_HOST), lifespan="on").run(sockets=[listening])
