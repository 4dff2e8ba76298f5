"""What a search costs among a million blocks: both ranks on both databases, beside scans without an index.

    python research/bench/search.py [--blocks 1000000] [--databases sqlite postgresql] [--json]

The blocks are made up, of words as frequent as those of a language (made_up.py), 50 a page. A database is filled, then
its words are indexed: a table has the time that this takes and the size before and after. Then queries of each kind are
searched, as `scrapy search` does, each in a transaction of its own; the best of three rounds counts, all is in the
system's cache.

Scans stand for what Kabir et al. (2015, Table 4.5.1) compare; the paper does not say how it searches. They read all
blocks (`raw`) and those that ENIW keeps, ranked by density, and those that PAB keeps, ranked by priority times density.
How many blocks ENIW and PAB keep is set to the paper's shares (Table 4.1.1), not measured.

At last, pages of 50 blocks are stored, and the words that search needs of them written once more: its part in that.

PostgreSQL is the server at BLOCKSIEVE_POSTGRES, on which a database is made and dropped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager

import numpy as np
from growth import versions
from made_up import BLOCKS_OF_PAGE, queries
from rich.console import Console
from rich.table import Table
from room import new_database
from sqlalchemy import delete, select, text
from stock import batches, fill, tidy

from crawler.reading.query_language import parse_query
from crawler.reading.search import Rank, best_blocks, search
from crawler.reading.search_filters import PageCriteria, SearchFilters
from crawler.storage import schema
from crawler.storage.database import database_size_bytes, opened_engine, read_transaction, write_transaction
from crawler.storage.search_index import SearchableBlock, add_tokens
from crawler.storage.store import Store
from crawler.storage.tables import block, block_tokens

DATABASES = ("sqlite", "postgresql")
QUERIES = 50
SCANNED = 5
ROUNDS = 3
STORED = 100
LIMIT = 10
INDEXED_AT_ONCE = 5_000
COUNTED = 9  # queries of a kind, for the number of blocks that match
STOP_WORD = "a stop word"
# What Kabir et al. dropped of 120,237 blocks.
SCANS = {"raw": 0.0, "ENIW": 6_613 / 120_237, "PAB": 8_319 / 120_237}
HEADS = {
    "searches": ("database", "query", "rank", "p50 ms", "p95 ms", "blocks (median)"),
    "scans": ("database", "blocks", "rank", "p50 ms"),
    "sizes": ("database", "blocks", "MB before", "MB after", "indexing s", "ms to store a page", "of it for search"),
}


def measure(options):
    result = {"versions": versions()} | {name: [] for name in HEADS}
    for database in options.databases:
        with new_engine(database, options.folder) as (engine, url):
            size = grow(engine, url, options.blocks)
            result["searches"] += time_searches(engine, options.queries)
            result["scans"] += time_scans(engine, options.scanned)
        result["sizes"].append({"database": database, **size, **time_stores(database, options)})
    return result


@contextmanager
def new_engine(database, folder):
    """Give an empty database and its URL."""
    with ExitStack() as stack:
        inner = stack.enter_context(tempfile.TemporaryDirectory(prefix="blocksieve-bench-", dir=folder))
        url = stack.enter_context(new_database()) if database == "postgresql" else f"sqlite:///{inner}/blocks.db"
        yield stack.enter_context(opened_engine(url)), url


def grow(engine, url, blocks):
    """Fill a database, index its blocks, and return how long that took and how much the database grew."""
    say(f"{engine.dialect.name}: filling")
    schema.prepare_schema(engine)
    fill(engine, blocks)
    tidy(engine)
    before = database_size_bytes(url) / 1e6
    say(f"{engine.dialect.name}: indexing")
    seconds = timed(lambda: index_blocks(engine))
    tidy(engine)
    return {"blocks": blocks, "before": before, "after": database_size_bytes(url) / 1e6, "seconds": seconds}


def index_blocks(engine):
    columns = select(block.c.id, block.c.text, block.c.priority).order_by(block.c.id)
    last = 0
    with write_transaction(engine) as connection:
        while rows := connection.execute(columns.where(block.c.id > last).limit(INDEXED_AT_ONCE)).all():
            add_tokens(connection, [SearchableBlock(*row) for row in rows])
            last = rows[-1].id


def time_searches(engine, count):
    rows, every = [], {rank: [] for rank in Rank}
    for kind, texts in queries(count).items():
        for rank in Rank:
            say(f"{engine.dialect.name}: {kind}, {rank}")
            seconds = [best_of(engine, query, rank) for query in texts]
            if kind != STOP_WORD:
                every[rank] += seconds
            rows.append(figures(engine, kind, rank, seconds) | {"blocks": median_blocks(engine, texts)})
            say(f"{rows[-1]}")
    return rows + [figures(engine, "all but stop words", rank, every[rank]) | {"blocks": ""} for rank in Rank]


def figures(engine, kind, rank, seconds):
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    return {"database": engine.dialect.name, "query": kind, "rank": rank.value, "p50": p50, "p95": p95}


def best_of(engine, query, rank):
    return min(timed(lambda: run(engine, query, rank)) for _ in range(ROUNDS))


def run(engine, query, rank):
    with read_transaction(engine) as connection:
        return search(connection, query, rank=rank, limit=LIMIT)


def median_blocks(engine, texts):
    """Return how many blocks match, in the median of some of the queries."""
    with read_transaction(engine) as connection:
        matching = [
            best_blocks(connection, parse_query(words), Rank.PRIORITY, PageCriteria.of(SearchFilters(), None), 1 << 40)
            for words in texts[:COUNTED]
        ]
    return int(np.median([len(blocks) for blocks in matching]))


def time_scans(engine, count):
    """Return the times of searches without an index, of words of running text."""
    words = queries(QUERIES)["a word of running text"][:count]
    return [time_scan(engine, kind, dropped, words) for kind, dropped in SCANS.items()]


def time_scan(engine, kind, dropped, words):
    say(f"{engine.dialect.name}: scan of {kind}")
    rank = "priority" if kind == "PAB" else "density"
    hits = "(length(text) - length(replace(lower(text), :word, '')))"
    statement = text(
        f"SELECT id FROM block WHERE lower(text) LIKE '%' || :word || '%' AND score >= :dropped ORDER BY "
        f"{'priority *' * (rank == 'priority')} {hits} / CAST(length(:word) * words AS double precision) DESC LIMIT 10"
    )
    with read_transaction(engine) as connection:
        values = [{"word": word, "dropped": dropped} for word in words]
        seconds = [timed(lambda value=value: connection.execute(statement, value).all()) for value in values]
    return {"database": engine.dialect.name, "blocks": kind, "rank": rank, "p50": float(np.median(seconds)) * 1000}


def time_stores(database, options):
    """Return the milliseconds that a page of 50 blocks and its words take, in the best batch of ten pages."""
    say(f"{database}: storing")
    visits = batches(options.stored)
    with new_engine(database, options.folder) as (engine, _):
        schema.prepare_schema(engine)
        store = Store(engine, keep_html=False)
        crawl = store.begin_crawl("bench", {})
        stored = min(timed(lambda batch=batch: store.save(crawl, batch)) / len(batch) for batch in visits)
        return {"store": stored * 1000, "words": min(time_words(engine, len(batch)) for batch in visits) * 1000}


def time_words(engine, pages):
    """Return the seconds that a page's words take to write, of as many pages as a batch has."""
    with write_transaction(engine) as connection:
        connection.execute(delete(block_tokens))
        query = select(block.c.id, block.c.text, block.c.priority).limit(pages * BLOCKS_OF_PAGE)
        blocks = [SearchableBlock(*row) for row in connection.execute(query)]
        return timed(lambda: add_tokens(connection, blocks)) / pages


def timed(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def say(words):
    print(words, file=sys.stderr)


def cells(row):
    return [f"{value:,.1f}" if isinstance(value, float) else str(value) for value in row.values()]


def show(result):
    for name, head in HEADS.items():
        table = Table(*head)
        for row in result[name]:
            table.add_row(*cells(row))
        Console().print(table)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each kind")
    parser.add_argument("--scanned", type=int, default=SCANNED, help="words that are looked for without an index")
    parser.add_argument("--stored", type=int, default=STORED, help="pages that are stored, for what search costs of it")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files lie for a while")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if options.blocks < BLOCKS_OF_PAGE:
        parser.error(f"--blocks is {options.blocks}; a page has {BLOCKS_OF_PAGE}")
    if min(options.queries, options.scanned, options.stored) < 1:
        parser.error("--queries, --scanned and --stored are 1 at least")
    return options


def main():
    options = arguments()
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
