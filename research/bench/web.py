"""What the pages of `scrapy serve` cost at a million blocks, on both databases, while a crawl writes.

    python research/bench/web.py [--blocks 1000000] [--databases sqlite postgresql] [--asked 40] [--json]

The database is filled and indexed as in search.py. A process of its own stores batches of pages all the time, and
`scrapy serve` is another. Each view is asked for at addresses drawn from a fixed seed, one after the other over one
connection; a table has p50 and p95 by view, and the memory of the server before and after. The first answer of each
view is not counted: it fills the caches.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from select import select as wait_for_input

import numpy as np
import psutil
from growth import versions
from made_up import BLOCKS_OF_PAGE, queries
from rich.console import Console
from rich.table import Table
from search import grow, new_engine, say
from sqlalchemy import JSON, BigInteger, Text, case, cast, func, insert, literal, literal_column, select, text, update
from stock import batches, tidy

from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.pages import compress
from crawler.storage.store import Store
from crawler.storage.tables import (
    block,
    document_frequency,
    fingerprint,
    near_duplicate_page,
    page,
    page_event,
    request,
    sighting,
    site,
)

DATABASES = ("sqlite", "postgresql")
HEADS = {
    "pages": ("database", "page", "p50 ms", "p95 ms"),
    "servers": ("database", "blocks", "MB at the start", "MB at the end", "batches stored meanwhile"),
}
SETTINGS = {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
_FEWEST_WORDS = 20  # of a block with a fingerprint
_HTML_PAGES = 200  # that have the HTML of a real page's like
_GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "news-article" / "page.html"
# The made-up rows have brought their own ids.
_SEQUENCES = [
    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
    for table in ("crawl", "page", "block", "request")
]
_RANDOM_BITS = {"sqlite": "random()", "postgresql": "('x' || substr(md5(id::text), 1, 16))::bit(64)::bigint"}
_DAYS_FROM_NOW = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f000', 'now', (id % 14 - 2) || ' days')",
    "postgresql": "now() + (id % 14 - 2) * interval '1 day'",
}


def prepare(engine, url, blocks):
    """Fill a database: pages and blocks, a tenth as many repetitions, and requests that wait or failed."""
    grow(engine, url, blocks)
    dialect = engine.dialect.name
    say(f"{dialect}: repetitions, schedule and requests")
    html = compress(_GOLDEN.read_bytes())
    with write_transaction(engine) as connection:
        due = literal_column(_DAYS_FROM_NOW[dialect])
        connection.execute(update(page).values(spider="bench", next_visit=due))
        connection.execute(update(page).where(page.c.id <= _HTML_PAGES).values(html=html, encoding="utf-8"))
        bits = literal_column(_RANDOM_BITS[dialect], BigInteger)
        connection.execute(update(block).where(block.c.words >= _FEWEST_WORDS).values(fingerprint=bits))
        for table, rows in _more_rows(dialect).items():
            connection.execute(insert(table).from_select(list(rows.selected_columns.keys()), rows))
        for statement in _SEQUENCES if dialect == "postgresql" else ():
            connection.execute(text(statement))
    tidy(engine)


def _more_rows(dialect):
    """Return the rows of further tables, which are made of the pages and blocks."""
    tenth, empty = block.c.id / 10, literal({}, JSON)
    low = [block.c.fingerprint.op("&")(2**32 - 1).label("low")] if dialect == "sqlite" else []
    texts = ("kind", "path", "words", "score", "priority", "digest", "fingerprint", "first_seen", "last_seen")
    one_more = case((block.c.id % 20 == 5, block.c.text + " And more.")).label("text")
    state = case((block.c.id % 40 == 0, "failed"), (block.c.id % 40 == 20, "queued"), else_="done")
    counts = [literal(0).label(name) for name in ("priority", "attempts")]
    return {
        site: select(page.c.site, func.count().label("pages")).group_by(page.c.site),
        fingerprint: select(block.c.fingerprint, block.c.id.label("block_id"), *low).where(
            block.c.fingerprint.is_not(None)
        ),
        # The first blocks are repeated most.
        sighting: select(
            (tenth % (tenth % 1_000 + 1) + 1).label("block_id"),
            (block.c.id % 4).label("distance"),
            one_more,
            block.c.page_id,
            (block.c.position + BLOCKS_OF_PAGE).label("position"),
            *(block.c[name] for name in texts),
        ).where(block.c.id % 10 == 5),
        page_event: _events(),
        near_duplicate_page: select(
            page.c.id.label("page_id"),
            (page.c.id / 10 % 50 + 1).label("original_id"),
            literal(2).label("distance"),
            page.c.first_seen,
        ).where(page.c.id % 10 == 0, page.c.id > 50),
        document_frequency: select(
            block.c.site,
            block.c.digest,
            (block.c.id % 30 + 1).label("pages"),
            case((block.c.id % 1_000 == 0, block.c.first_seen)).label("boilerplate_since"),
        ).where(block.c.id % 5 == 0),
        request: select(
            block.c.id,
            literal(1).label("crawl_id"),
            cast(block.c.id, Text).label("key"),
            (block.c.site + "/" + cast(block.c.id, Text)).label("url"),
            block.c.site.label("host"),
            literal("GET").label("method"),
            *(empty.label(name) for name in ("headers", "cb_kwargs", "meta")),
            *counts,
            state.label("state"),
            case((state == "failed", "download_failed")).label("outcome"),
            block.c.first_seen.label("added"),
        ).where(block.c.id % 10 == 0),
    }


def _events():
    """Return an event of each page; half of the pages have all their texts compared."""
    return select(
        page.c.first_seen.label("visited"),
        page.c.id.label("page_id"),
        page.c.site,
        case((page.c.id % 2 == 0, "changed"), else_="new").label("kind"),
        (page.c.id % 4 == 0).label("headline"),
    )


def measure(options):
    result = {"versions": versions(), "pages": [], "servers": []}
    for database in options.databases:
        with new_engine(database, options.folder) as (engine, url):
            prepare(engine, url, options.blocks)
            measure_database(database, url, options, result)
    return result


def measure_database(database, url, options, result):
    """Add the figures of the web page over a filled database while a process stores pages."""
    with crawling(url) as stored, serving(url) as (port, server):
        before = server.memory_info().rss / 1e6
        for name, paths in addresses(options).items():
            say(f"{database}: {name}")
            result["pages"].append({"database": database, "page": name, **figures(port, paths)})
        after = server.memory_info().rss / 1e6
    row = {"database": database, "blocks": options.blocks, "before": before, "after": after}
    result["servers"].append(row | {"batches": stored()})


def addresses(options):
    """Return the paths that are asked for, by view."""
    drawn, pages = random.Random(3), options.blocks // BLOCKS_OF_PAGE
    words = queries(options.asked)["a word of running text"]

    def draw(make):
        return [make() for _ in range(options.asked)]

    return {
        "overview": draw(lambda: "/"),
        "sites": draw(lambda: f"/sites?begins=site{drawn.randrange(10)}"),
        "site": draw(lambda: f"/sites/site{drawn.randrange(min(200, pages))}.example"),
        "page": draw(lambda: f"/pages/{drawn.randrange(pages) + 1}"),
        "page with copies": draw(lambda: f"/pages/{drawn.randrange(min(20, pages)) + 1}"),
        "block": draw(lambda: f"/blocks/{drawn.randrange(options.blocks) + 1}"),
        "block with copies": draw(lambda: f"/blocks/{drawn.randrange(min(1_000, options.blocks)) + 1}"),
        "search": [f"/search?q={word}" for word in words],
        "search by BM25": [f"/search?q={word}&rank=bm25" for word in words],
        "search in a site": [f"/search?q={word}&site=site1.example" for word in words],
        "changes": draw(lambda: "/changes"),
        "changes of a site": draw(lambda: f"/changes?site=site{drawn.randrange(min(200, pages))}.example&kind=changed"),
        "changes as a feed": draw(lambda: "/changes.atom?kind=headline"),
        "copies": draw(lambda: "/copies"),
        "copies of a site": draw(lambda: f"/copies/site0.example/site{drawn.randrange(min(200, pages))}.example"),
        "two pages": draw(lambda: f"/pages/{drawn.randrange(pages) + 1}/beside/1"),
        "changes of a page": draw(lambda: f"/pages/{drawn.randrange(pages) + 1}/changes"),
        "duplicates of a page": draw(lambda: f"/pages/{drawn.randrange(min(20, pages)) + 1}/duplicates"),
        "metadata": draw(lambda: f"/pages/{drawn.randrange(min(_HTML_PAGES, pages)) + 1}/metadata"),
        "a missing text": draw(
            lambda: f"/pages/{drawn.randrange(min(_HTML_PAGES, pages)) + 1}/original?find=the+river"
        ),
        "families": draw(lambda: "/families"),
        "schedule": draw(lambda: "/schedule"),
        "failures": draw(lambda: "/failures"),
        "crawls": draw(lambda: "/crawls"),
        "settings": draw(lambda: "/settings"),
        "page as JSON": draw(lambda: f"/api/pages/{drawn.randrange(pages) + 1}"),
        "two methods": draw(lambda: f"/pages/{drawn.randrange(pages) + 1}/methods"),
        "original": draw(lambda: f"/pages/{drawn.randrange(min(_HTML_PAGES, pages)) + 1}/frame"),
        "original by pab": draw(lambda: f"/pages/{drawn.randrange(min(_HTML_PAGES, pages)) + 1}/frame?method=pab"),
    }


def figures(port, paths):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    seconds = []
    for path in paths:
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        seconds.append(time.perf_counter() - began)
        if answer.status != http.HTTPStatus.OK:
            raise SystemExit(f"{path} was answered with status {answer.status}")
    connection.close()
    p50, p95 = np.percentile(seconds[1:] or seconds, [50, 95]) * 1000
    return {"p50": p50, "p95": p95}


@contextmanager
def serving(url, *options):
    """Serve a database by a process; give its port, and the process."""
    command = [sys.executable, "-m", "scrapy", "serve", "--port", "0", "-s", f"DATABASE_URL={url}", *options]
    with subprocess.Popen(command, env=os.environ | SETTINGS, stdout=subprocess.PIPE, text=True) as process:
        try:
            match = re.search(r":(\d+)/\S* until", process.stdout.readline())
            if match is None:
                raise SystemExit("scrapy serve did not start")
            yield int(match[1]), psutil.Process(process.pid)
        finally:
            process.terminate()


@contextmanager
def crawling(url):
    """Let a process store pages all the time; give a function that ends it and returns how many batches it stored."""
    command = [sys.executable, __file__, "--store-into", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        counted = []

        def end():
            return int(counted[0])

        try:
            yield end
        finally:
            counted.append(process.communicate("")[0])
    if process.returncode:
        raise SystemExit("the process that stores pages has failed: its pages were not stored meanwhile")


def store_always(url):
    """Store batches until standard input ends, and print how many."""
    visits = batches(500)
    with opened_engine(url) as engine:
        store = Store(engine, keep_html=False)
        crawl = store.begin_crawl("bench", {})
        store.save(crawl, visits[0])
        print("ready", flush=True)
        for number in count(1):
            if wait_for_input([sys.stdin], [], [], 0)[0]:  # it has ended
                store.close()
                return number
            store.save(crawl, visits[number % len(visits)])
    return 0


def show(result):
    for name, head in HEADS.items():
        table = Table(*head)
        for row in result[name]:
            table.add_row(*cells(row))
        Console().print(table)


def cells(row):
    return [_cell(value) for value in row.values()]


def _cell(value):
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--asked", type=int, default=40, help="addresses of each view")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files lie for a while")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--store-into", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.blocks < BLOCKS_OF_PAGE:
        parser.error(f"--blocks is {options.blocks}; a page has {BLOCKS_OF_PAGE}")
    if options.asked < 1:
        parser.error(f"--asked is {options.asked}; it must be 1 or more")
    return options


def main():
    options = arguments()
    if options.store_into:
        print(store_always(options.store_into))
        return
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
