"""`make demo`: start the demo site, crawl it with `scrapy crawl ezine`, stop it, and print a summary."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import webbrowser
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sqlalchemy import text

from crawler.storage import queries
from crawler.storage.database import database_size_bytes, open_engine, read_transaction
from crawler.terminal import cut_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy.engine import Connection

# The crawl uses the site as an HTTP proxy for this host name, so that pages keep their URLs when the port changes.
BASE_URL = "http://ezinearticles.invalid/"

_LOG_FILE = "demo.log"

_SETTINGS = {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}

# The demo site needs no politeness.
FAST_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "AUTOTHROTTLE_MAX_DELAY": "0",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "DOWNLOAD_DELAY": "0",
    "FRONTIER_MAX_ATTEMPTS": "1",
    "HOST_PAUSE_SECONDS": "0",
    "LOG_FILE": _LOG_FILE,
    "LOG_FILE_APPEND": "False",
    "MAX_REFUSALS_IN_A_ROW": "1000",
    "PROGRESS": "on",
    "RETRY_TIMES": "0",
}

_BEST_BLOCKS = 3

_SHOWN_CHARS = 300

_NEXT = (
    ("scrapy status", "what the database has, and what the crawls did"),
    ("scrapy search 'steam*'", "find pages by their words"),
    ("scrapy serve", "the database as a web page; make demo SERVE=1 opens it"),
)


def main() -> int:
    """Run the demo and return the exit code of its crawl."""
    parser = argparse.ArgumentParser(prog="python -m crawler.demo.run", description=__doc__)
    parser.add_argument("--database", type=Path, default=Path("blocks.db"), help="SQLite file (default: blocks.db)")
    parser.add_argument("--serve", action="store_true", help="then show the database as a web page, until Ctrl-C")
    options = parser.parse_args()
    database = options.database.resolve()
    console = Console(highlight=False)
    with run_site() as address:
        console.print(f"The demo site runs at {address}; crawling it into {database}", soft_wrap=True)
        code = crawl_site(address, database, {"categories": "all"}, {})
    if code:
        sentence = f"The crawl ended with exit code {code}; its log is in {_LOG_FILE}."
        console.print(Text(sentence, "red"), soft_wrap=True)
        return code
    _print_summary(database, console)
    return show_database(database) if options.serve else 0


def show_database(database: Path) -> int:
    """Show the database as a web page, in the browser if there is one, until Ctrl-C; return the server's exit code."""
    line = [sys.executable, "-m", "scrapy", "serve", "--port", "0", "-s", f"DATABASE_URL=sqlite:///{database}"]
    with subprocess.Popen(line, env=os.environ | _SETTINGS, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 — our own command line
        assert server.stdout is not None
        # Ctrl-C reaches the server too: it ends by itself.
        with suppress(KeyboardInterrupt):
            for sentence in server.stdout:
                sys.stdout.write(sentence)
                sys.stdout.flush()
                address = re.search(r"http://\S+", sentence)
                if address and _has_browser():
                    webbrowser.open(address[0])
        return _wait(server)


def _wait(server: subprocess.Popen[str]) -> int:
    while True:
        with suppress(KeyboardInterrupt):
            return server.wait()


def _has_browser() -> bool:
    """Return True if a browser can open a window; one in the terminal would take the place of the output."""
    names = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in {"darwin", "win32"} or any(os.environ.get(name) for name in names)


@contextmanager
def run_site() -> Iterator[str]:
    """Run the demo site in a process of its own, yield its address, and stop it at the end."""
    command = [sys.executable, "-m", "crawler.demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 — our own module
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise SystemExit(f"the demo site did not start (exit code {process.wait()})")
            yield address
        finally:
            process.terminate()


def crawl_site(address: str, database: Path, arguments: dict[str, str], settings: dict[str, str]) -> int:
    """Crawl the site at an address into the database, and return the exit code of `scrapy crawl ezine`."""
    line = crawl_command(database, arguments, settings)
    return subprocess.run(line, env=crawl_environment(address), check=False).returncode  # noqa: S603 — our own command line


def crawl_command(database: Path, arguments: dict[str, str], settings: dict[str, str]) -> list[str]:
    """Return the command line of a crawl of the site."""
    line = [sys.executable, "-m", "scrapy", "crawl", "ezine"]
    for name, value in ({"base_url": BASE_URL} | arguments).items():
        line += ["-a", f"{name}={value}"]
    for name, value in (FAST_SETTINGS | {"DATABASE_URL": f"sqlite:///{database}"} | settings).items():
        line += ["-s", f"{name}={value}"]
    return line


def crawl_environment(address: str) -> dict[str, str]:
    """Return the environment in which a crawl reaches the site at an address."""
    return os.environ | _SETTINGS | {"http_proxy": address, "no_proxy": "", "NO_PROXY": ""}


def _print_summary(database: Path, console: Console) -> None:
    """Print what the last crawl did, the totals of the database and the three best blocks."""
    url = f"sqlite:///{database}"
    engine = open_engine(url, must_exist=True)
    with read_transaction(engine) as connection:
        totals = queries.database_totals(connection)
        (crawl,) = queries.last_crawls(connection, limit=1)
        best = _best_blocks(connection)
    engine.dispose()
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, fact, style in [*_crawl_facts(crawl), _database_fact(totals, database, database_size_bytes(url))]:
        table.add_row(Text(name, "bold"), Text(fact, style))
    console.print(table)
    console.print(Text("\nThe three best blocks", "bold"))
    for score, page_title, block_text in best:
        console.print(Text.assemble("\n", (f"{score:.2f}", "green"), "  ", (page_title, "bold")))
        console.print(Padding(Text(cut_text(block_text, _SHOWN_CHARS)), (0, 0, 0, 6)))
    table = Table.grid(padding=(0, 2, 0, 0))
    for command, purpose in _NEXT:
        table.add_row(Text(command, "cyan"), purpose)
    console.print(Text("\nNext", "bold"))
    console.print(table)


def _crawl_facts(crawl: queries.CrawlReport) -> list[tuple[str, str, str]]:
    """Return what the crawl did, as names, sentences and colours; what did not happen is left out."""
    states = crawl.page_states
    pages = ", ".join(f"{count:,} {state}" for state, count in states.items()) or "none"
    if set(states) == {"unchanged"}:
        pages += " since the last crawl: nothing had to be cleaned or stored"
    facts = [
        ("pages", pages, "green"),
        ("blocks kept", f"{crawl.kept:,}" if crawl.kept else "", "green"),
        ("blocks dropped", _format_counts(crawl.dropped), "default"),
        ("repeated blocks", _format_counts(crawl.duplicates), "default"),
        ("visits refused", _format_counts(crawl.refused), "yellow"),
        ("visits without a page", _format_counts(crawl.pageless), "yellow"),
    ]
    return [fact for fact in facts if fact[1]]


def _database_fact(totals: queries.DatabaseTotals, database: Path, size_bytes: int) -> tuple[str, str, str]:
    counts = f"{totals.pages:,} pages, {totals.blocks:,} blocks, {totals.sightings:,} sightings of them elsewhere"
    return "the database has", f"{counts}: {database.name}, {size_bytes / 1e6:.1f} MB", "default"


def _best_blocks(connection: Connection) -> list[tuple[float, str, str]]:
    """Return score, title and text of the longest blocks with the highest score, one of each page."""
    rows = connection.execute(text("select score, title, text from informative_block order by score desc, words desc"))
    best: dict[str, tuple[float, str, str]] = {}
    for score, title, block_text in rows:
        best.setdefault(title or "", (score, title or "", block_text))
        if len(best) == _BEST_BLOCKS:
            break
    return list(best.values())


def _format_counts(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    return f"{sum(counts.values()):,}: {parts}" if len(counts) > 1 else parts


if __name__ == "__main__":
    sys.exit(main())
