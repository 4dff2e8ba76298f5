"""What texts cost that are made to fall into one bucket of the index of near-duplicates.

A site stores pages of 200 blocks whose fingerprints have a half or bands in common, through `Store.save`, in batches as
a crawl makes them. Then 20 other sites store ordinary pages: first alone, then while the site goes on in another
process. The first figures are the seconds for so many pages, with the share of fingerprints that were not compared with
all candidates.

With --lookups, the index and the joins of `scrapy dedup` and `scrapy batch` are measured alone. --stored fingerprints
of the bucket are stored, and as many random ones. Then a page of 200 blocks of the bucket is looked up, a page of
random ones, and a page of others, which have a full band of the bucket and else random bits. The joins get --stored
fingerprints of the bucket, or random ones. The best of five rounds counts.

    python tests/bench/full_buckets.py [--lookups] [--pages 10 50 100] [--stored 100000] [--buckets "upper half" ...]
                                       [--databases sqlite postgresql]

PostgreSQL is the server at BLOCKSIEVE_POSTGRES, on which a database is made and dropped. Texts are short and made up,
and the fingerprints are chosen: finding texts that have them takes an attacker time, not the store.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from datetime import UTC, datetime
from functools import partial
from itertools import count

import numpy as np
from contenders import Database
from room import new_url, say

from cleaning.blocks import Block, Decision, Kind, Metadata, Reason
from cleaning.fingerprint import digest_terms
from cleaning.page_fingerprint import FingerprintedBlock
from cleaning.structure.clean_page import CleanPage
from crawler.batch.duplicates import near
from crawler.storage import dedup, schema
from crawler.storage.database import open_engine, opened_engine, read_transaction
from crawler.storage.near_duplicates import FINGERPRINT_INDEXES, MAX_DISTANCE
from crawler.storage.store import Store
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

BLOCKS = 200
ORDINARY_BLOCKS = 50
BATCH_BLOCKS = 2_000  # as a crawl's batches
OTHER_SITES = 20
OTHER_PAGES = 20
ROUNDS = 5
BASE = 0x9234567890ABCDEF
LOWEST_BAND = 0xFFFF
HIGHEST_BAND = 0xFFFF << 48
# The bits that the texts of a bucket may differ in; of several ranges, each block takes one.
BUCKETS = {
    "upper half": [range(32)],
    "lower half": [range(32, 64)],
    "one band": [range(48)],
    "each band": [range(48), range(16, 64), [*range(16), *range(32, 64)], [*range(32), *range(48, 64)]],
}
DATABASES = ("sqlite", "postgresql")


def measure(url, bucket, options):
    """Yield the name and value of each figure for one bucket on one database."""
    store = opened(url)
    crawl = store.begin_crawl("bench", {})
    attack = attacking_pages(bucket, seed=1)
    saved = 0
    for pages in options.pages:
        seconds, results = timed_save(store, crawl, [next(attack) for _ in range(pages - saved)])
        saved = pages
        skipped = sum(result.not_compared for result in results) / (len(results) * BLOCKS)
        yield f"seconds for the pages up to {pages}", f"{seconds:.2f} ({skipped:.0%} not compared)"
    while saved * BLOCKS < options.stored:
        timed_save(store, crawl, [next(attack) for _ in range(BATCH_BLOCKS // BLOCKS)])
        saved += BATCH_BLOCKS // BLOCKS
    yield f"others, {saved * BLOCKS:,} stored", others_at_work(store, crawl, seed=2)
    attacker = multiprocessing.get_context("spawn").Process(target=keep_attacking, args=(url, bucket), daemon=True)
    attacker.start()
    time.sleep(5)  # until it has imported what it needs
    yield "others beside the site", others_at_work(store, crawl, seed=3)
    attacker.terminate()
    attacker.join()
    store.close()


def measure_lookups(url, bucket, options):
    """Yield the milliseconds of look-ups, and the share that was not compared, for one bucket on one database."""
    chance = random.Random(5)
    band = LOWEST_BAND if bucket == "lower half" else HIGHEST_BAND
    full = bucket_fingerprints(bucket, options.stored)
    database = Database(url, bulk_above=0)
    database.build(np.array([*full, *random_fingerprints(options.stored)], np.uint64))
    pages = {
        "of the bucket": bucket_fingerprints(bucket, BLOCKS, seed=6),
        "of others with a full band": [(chance.getrandbits(64) & ~band) | (BASE & band) for _ in range(BLOCKS)],
        "random": [chance.getrandbits(64) for _ in range(BLOCKS)],
    }
    database.close()
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        index = FINGERPRINT_INDEXES[connection.dialect.name](MAX_DISTANCE)
        for name, page in pages.items():
            seconds = fastest(partial(index.lookup, connection, page))
            skipped = len(index.lookup(connection, page).not_compared) / BLOCKS
            yield f"a page {name}", f"{seconds * 1000:.1f} ms ({skipped:.0%} not compared)"


def measure_joins(bucket, options):
    """Yield the seconds that the joins take of fingerprints of a bucket; of random ones if it is None."""
    numbers = bucket_fingerprints(bucket, options.stored) if bucket else random_fingerprints(options.stored)
    fingerprints = np.unique(np.array(numbers, np.uint64))
    joins = {
        "dedup": lambda: list(dedup.near_pairs(fingerprints, MAX_DISTANCE)),
        "batch": lambda: near.near_pairs(fingerprints, MAX_DISTANCE),
    }
    for name, join in joins.items():
        yield f"join of scrapy {name}, {len(fingerprints):,} different", f"{fastest(join):.2f} s"


def bucket_fingerprints(bucket, number, seed=1):
    chance = random.Random(seed)
    choices = BUCKETS[bucket]
    return [BASE ^ scattered(choices[block % len(choices)], chance) for block in range(number)]


def random_fingerprints(number):
    chance = random.Random(4)
    return [chance.getrandbits(64) for _ in range(number)]


def fastest(call):
    """Return the seconds of the fastest of several calls: what else the machine does is no part."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def opened(url):
    engine = open_engine(url)
    schema.prepare_schema(engine)
    return Store(engine)


def keep_attacking(url, bucket):
    store = opened(url)
    crawl = store.begin_crawl("bench", {})
    attack = attacking_pages(bucket, seed=4)
    while True:
        store.save(crawl, [next(attack) for _ in range(BATCH_BLOCKS // BLOCKS)])


def others_at_work(store, crawl, seed):
    """Return the rate of other sites' pages, which come in batches, and the longest batch."""
    pages = list(ordinary_pages(seed))
    size = BATCH_BLOCKS // ORDINARY_BLOCKS
    batches = [pages[start : start + size] for start in range(0, len(pages), size)]
    times = [timed_save(store, crawl, batch)[0] for batch in batches]
    return f"{len(pages) / sum(times):.0f} pages/s, longest batch {max(times):.2f} s"


def timed_save(store, crawl, visits):
    results = []
    began = time.perf_counter()
    size = BATCH_BLOCKS // len(visits[0].page.blocks)
    for start in range(0, len(visits), size):
        results += store.save(crawl, visits[start : start + size])
    return time.perf_counter() - began, results


def attacking_pages(bucket, seed):
    chance = random.Random(seed)
    choices = BUCKETS[bucket]
    for number in count():
        bits = [BASE ^ scattered(choices[block % len(choices)], chance) for block in range(BLOCKS)]
        yield make_visit(f"https://attack.example/{seed}/{number}", bits)


def ordinary_pages(seed):
    chance = random.Random(seed)
    for number in range(OTHER_PAGES):
        for site in range(OTHER_SITES):
            bits = [chance.getrandbits(64) for _ in range(ORDINARY_BLOCKS)]
            yield make_visit(f"https://site{site}.example/{seed}/{number}", bits)


def scattered(bits, chance):
    return sum(1 << bit for bit in bits if chance.random() < 0.5)


def make_visit(url, fingerprints):
    """Return a visit to a page of blocks with these fingerprints."""
    blocks = tuple(make_block(url, position, bits) for position, bits in enumerate(fingerprints))
    page = ProcessedPage(
        FetchedPage(url, url.encode(), None, Metadata()), CleanPage(url, "default", "utf-8", Metadata(), ()), blocks
    )
    return Visit(url, datetime.now(UTC), Outcome.PAGE, 200, page=page)


def make_block(url, position, fingerprint):
    text = f"text {position} of {url}, which has some more words than this"
    block = Block(position, "/p", Kind.PARAGRAPH, text, 12, 0, 1.0)
    return FingerprintedBlock(Decision(block, 1.0, Reason.KEPT), digest_terms(text.split()), 20, fingerprint)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, nargs="+", default=(10, 50, 100), help="numbers of pages, ascending")
    parser.add_argument("--lookups", action="store_true", help="measure the index and the joins alone")
    parser.add_argument("--stored", type=int, default=100_000, help="fingerprints stored before others crawl")
    parser.add_argument("--buckets", nargs="+", choices=BUCKETS, default=list(BUCKETS))
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    options = parser.parse_args()
    if min(options.pages) < 1 or list(options.pages) != sorted(set(options.pages)):
        parser.error(f"--pages is {options.pages}; it must be ascending numbers from 1")
    return options


def main():
    options = arguments()
    measure_database = measure_lookups if options.lookups else measure
    for database in options.databases:
        for bucket in options.buckets:
            with new_url(database) as url:
                for figure, value in measure_database(url, bucket, options):
                    say(f"{database}, {bucket}: {figure}: {value}")
    if options.lookups:
        for bucket in (None, *options.buckets):
            for figure, value in measure_joins(bucket, options):
                say(f"{bucket or 'random'}: {figure}: {value}")


if __name__ == "__main__":
    main()
