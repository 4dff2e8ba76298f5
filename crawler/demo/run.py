"""`make demo`: start the bundled site, crawl it with the real `scrapy crawl ezine`, stop it, show what came of it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from crawler.demo.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterator

# The site is reached as an HTTP proxy under this fixed name, so that pages keep their URLs from one run to the
# next although the port changes.
BASE_URL = "http://ezinearticles.invalid/"
_LOG = "demo.log"
# The demo is in a hurry where a crawl of somebody's site is polite.
FAST_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "AUTOTHROTTLE_MAX_DELAY": "0",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "DOWNLOAD_DELAY": "0",
    "FRONTIER_MAX_ATTEMPTS": "1",
    "HOST_PAUSE_SECONDS": "0",
    "LOG_FILE": _LOG,
    "LOG_FILE_APPEND": "False",
    "MAX_REFUSALS_IN_A_ROW": "1000",
    "PROGRESS": "on",
    "RETRY_TIMES": "0",
}


@contextmanager
def site() -> Iterator[str]:
    """Run the demo site in a process of its own and yield its address; it is stopped at the end."""
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


def crawl(address: str, database: Path, arguments: dict[str, str], settings: dict[str, str]) -> int:
    """Crawl the site at this address into the database and return the exit code of `scrapy crawl ezine`."""
    line = command(database, arguments, settings)
    return subprocess.run(line, env=environment(address), check=False).returncode  # noqa: S603 — our own command line


def command(database: Path, arguments: dict[str, str], settings: dict[str, str]) -> list[str]:
    """Return the command line of a crawl of the site."""
    line = [sys.executable, "-m", "scrapy", "crawl", "ezine"]
    for name, value in ({"base_url": BASE_URL} | arguments).items():
        line += ["-a", f"{name}={value}"]
    for name, value in (FAST_SETTINGS | {"DATABASE_URL": f"sqlite:///{database}"} | settings).items():
        line += ["-s", f"{name}={value}"]
    return line


def environment(address: str) -> dict[str, str]:
    """Return the environment in which a crawl reaches the site at this address."""
    ours = {"SCRAPY_SETTINGS_MODULE": "crawler.settings", "http_proxy": address, "no_proxy": "", "NO_PROXY": ""}
    return os.environ | ours


def main() -> int:
    """Run the demo and return the exit code of its crawl."""
    parser = argparse.ArgumentParser(prog="python -m crawler.demo.run", description=__doc__)
    parser.add_argument("--database", type=Path, default=Path("blocks.db"), help="SQLite file (default: blocks.db)")
    options = parser.parse_args()
    database = options.database.resolve()
    console = Console()
    with site() as address:
        console.print(f"The demo site runs at {address}; crawling it into {database}", soft_wrap=True, highlight=False)
        code = crawl(address, database, {"categories": "all"}, {})
    if code:
        console.print(f"The crawl ended with exit code {code}; its log is in {_LOG}.", soft_wrap=True)
        return code
    summarise(database, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
