"""What a re-crawl takes before its first request, and after it, however many pages are due.

One page of a farm (soak.py) is crawled. Its row is copied until so many pages of --hosts hosts are due, each with an
argument of --kilobytes, as a spider with the addresses of many sections has one. Then `scrapy recrawl --due` runs until
it has got --responses: the farm answers 304.

    python tests/bench/due_pages.py [--pages 1000 100000 1000000] [--kilobytes 10] [--databases sqlite postgresql]

PostgreSQL is the server at BLOCKSIEVE_POSTGRES, on which a database is made and dropped.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

from room import new_url, say
from soak import PROCESSES, SECONDS_BETWEEN_LOOKS, running_farm, started, taken_by
from sqlalchemy import BigInteger, String, cast, insert, literal, select, text, true, update

from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.tables import page

COPIED = [column.name for column in page.columns if column.name not in {"id", "url", "url_key", "etag", "next_visit"}]


@dataclass(frozen=True)
class Figures:
    """What a re-crawl took until its first response, and until its end."""

    seconds: float = 0.0
    first_bytes: int = 0
    peak_bytes: int = 0


def measure(database, pages, options):
    """Let so many pages be due, and print what the start of a re-crawl takes."""
    with new_url(database) as url, running_farm(1) as (port, count):
        padding = "x" * int(1000 * options.kilobytes)
        arguments = ["-a", "hosts=1", "-a", f"port={port}", "-a", f"padding={padding}"]
        if started(["crawl", "soak", *arguments], url).wait():
            raise SystemExit("the crawl of the first page failed")
        copy_page(url, pages, port, options)
        limit = ["-s", f"CLOSESPIDER_PAGECOUNT={options.responses}"]
        figures = watched(started(["recrawl", "--due", *limit], url), count)
        with opened_engine(url) as engine, engine.connect() as connection:
            queued = connection.scalar(text("SELECT count(*) FROM request WHERE crawl_id > 1"))
        say(
            f"{database}, {pages:,} pages due: first response after {figures.seconds:.1f} s with "
            f"{figures.first_bytes / 1e6:.0f} MB, at most {figures.peak_bytes / 1e6:.0f} MB, {queued:,} requests queued"
        )


def copy_page(database_url, pages, port, options):
    """Make pages of the one that is stored, and let them be due."""
    with opened_engine(database_url) as engine, write_transaction(engine) as connection:
        numbers = select(literal(1, BigInteger).label("n")).cte("numbers", recursive=True)
        numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < pages - 1))
        host = numbers.c.n % options.hosts
        path = "/news/" + cast(numbers.c.n, String)
        name = "127.0." + cast(1 + host // 200, String) + "." + cast(1 + host % 200, String)
        url, etag = "http://" + name + f":{port}" + path, '"' + path + '"'
        copies = select(*(page.c[name] for name in COPIED), url, url, etag, page.c.first_seen)
        copies = copies.select_from(page.join(numbers, true()))
        connection.execute(insert(page).from_select([*COPIED, "url", "url_key", "etag", "next_visit"], copies))
        connection.execute(update(page).values(next_visit=page.c.first_seen))


def watched(process, count):
    """Return what a process takes until the farm answers, and until its end."""
    began = time.monotonic()
    before = count.value
    figures = Figures()
    while process.poll() is None:
        figures = replace(figures, peak_bytes=max(figures.peak_bytes, taken_by(process).resident_bytes))
        if count.value == before:
            figures = replace(figures, seconds=time.monotonic() - began, first_bytes=figures.peak_bytes)
        time.sleep(SECONDS_BETWEEN_LOOKS)
    if process.returncode:
        raise SystemExit(f"scrapy recrawl: exit code {process.returncode}")
    return figures


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, nargs="+", default=[1_000, 100_000, 1_000_000], help="that are due")
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--kilobytes", type=float, default=10, help="of an argument that each page has")
    parser.add_argument("--responses", type=int, default=500, help="after which the re-crawl is stopped")
    parser.add_argument("--databases", nargs="+", choices=PROCESSES, default=list(PROCESSES))
    return parser.parse_args()


def main():
    options = arguments()
    for database in options.databases:
        for pages in options.pages:
            measure(database, pages, options)


if __name__ == "__main__":
    main()
