"""`make demo`: start the demo site, crawl it with `scrapy crawl ezine`, stop it, and print a summary."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text
from sqlalchemy import text

from crawler.storage import queries
from crawler.storage.database import database_size_bytes, open_engine, read_transaction

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


def main() -> int:
    """Run the demo and return the exit code of its crawl."""
    parser = argparse.ArgumentParser(prog="python -m crawler.demo.run", description=__doc__)
    parser.add_argument("--database", type=Path, default=Path("blocks.db"), help="SQLite file (default: blocks.db)")
    parser.add_argument("--serve", action="store_true", help="then show the database as a web page, until Ctrl-C")
    options = parser.parse_args()
    database = options.database.resolve()
    console = Console()
    with run_site() as address:
        console.print(f"The demo site runs at {address}; crawling it into {database}", soft_wrap=True, highlight=False)
        code = crawl_site(address, database, {"categories": "all"}, {})
    if code:
        console.print(f"The crawl ended with exit code {code}; its log is in {_LOG_FILE}.", soft_wrap=True)
        return code
    _print_summary(database, console)
    return show_database(database) if options.serve else 0


def show_database(database: Path) -> int:
    """Show the database as a web page until Ctrl-C, and return the exit code of `scrapy serve`."""
    line = [sys.executable, "-m", "scrapy", "serve", "--port", "0", "-s", f"DATABASE_URL=sqlite:///{database}"]
    with suppress(KeyboardInterrupt):  # the server has got it too
        return subprocess.run(line, env=os.environ | _SETTINGS, check=False).returncode  # noqa: S603 — our own command line
    return 0


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
    """Print the totals of the database, the counts of its last crawl and the three best blocks."""
    url = f"sqlite:///{database}"
    engine = open_engine(url, must_exist=True)
    with read_transaction(engine) as connection:
        totals = queries.database_totals(connection)
        (crawl,) = queries.last_crawls(connection, limit=1)
        best = _best_blocks(connection)
    engine.dispose()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("pages stored", f"{totals.pages} in the database, {crawl.pages} fetched by this crawl")
    table.add_row("blocks kept", f"{totals.blocks} in the database, {crawl.kept} on this crawl's pages")
    table.add_row("blocks dropped", _format_counts(crawl.dropped))
    table.add_row(
        "duplicates",
        f"{totals.sightings} sightings in the database; new in this crawl: {_format_counts(crawl.duplicates)}",
    )
    table.add_row("visits refused", _format_counts(crawl.refused))
    table.add_row("visits without a page", _format_counts(crawl.failed))
    table.add_row("database", f"{database} ({database_size_bytes(url) / 1e6:.1f} MB)")
    console.print(table)
    console.print("\nThe three best blocks:")
    for score, page_title, block_text in best:
        console.print(Text.assemble((f"\n{score:.2f}  {page_title}\n", "bold"), block_text[:_SHOWN_CHARS]))
    console.print("\nNext: scrapy status, or sqlite3 blocks.db 'select * from informative_block limit 5'")
    console.print("scrapy serve shows the database as a web page; make demo SERVE=1 opens it", soft_wrap=True)


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
    named = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{sum(counts.values())} ({named})" if counts else "0"


if __name__ == "__main__":
    sys.exit(main())
