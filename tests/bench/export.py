"""Time and memory of exports: python tests/bench/export.py [--blocks N] [--database URL].

Fills an empty database with synthetic pages of 25 blocks, exports them in each format, each in a process of its own,
and compares the Parquet file with the view row by row. --database names an empty one on a server; it is left filled.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

from pyarrow import parquet
from sqlalchemy import insert, text

from crawler.storage import schema
from crawler.storage.change_log import ChangeLog
from crawler.storage.database import opened_engine, read_transaction, write_transaction
from crawler.storage.store import Store
from crawler.storage.tables import block, document_frequency, informative_block, page, sighting

BLOCKS, SIGHTINGS = 25, 3  # of a page
PAGES_AT_ONCE = 400
SITES = 20
AT = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = [
    f"{first}{last}" for first in ("har", "mel", "tor", "quin", "sal", "ber") for last in ("bour", "ow", "ent", "a")
]
NAMES = [column for column in informative_block.c if column.name != "last_seen"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--database", help="SQLAlchemy URL; by default an SQLite file that is deleted at the end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{folder}/blocks.db"
        began = time.perf_counter()
        fill(url, options.blocks // BLOCKS)
        print(f"{options.blocks:,} blocks stored in {time.perf_counter() - began:.0f} s")
        print(f"{'format':<22}{'rows':>12}{'seconds':>10}{'rows/s':>10}{'peak MB':>10}{'file MB':>10}")
        for name in ("blocks.parquet", "blocks.jsonl", "blocks.jsonl.gz", "blocks.csv", "pages.parquet"):
            measure(url, Path(folder) / name)
        began = time.perf_counter()
        rows = compare(url, Path(folder) / "blocks.parquet")
        print(f"{rows:,} rows of Parquet equal those of the view, in {time.perf_counter() - began:.0f} s")


def fill(url, pages):
    """Store pages in parts, as crawls would have left them."""
    chance = random.Random(7)
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
        crawl = Store(engine).begin_crawl("bench", {})
        for start in range(1, pages + 1, PAGES_AT_ONCE):
            numbers = range(start, min(start + PAGES_AT_ONCE, pages + 1))
            with write_transaction(engine) as connection:
                changes = ChangeLog(connection)
                added = {"added": changes.sequence}
                connection.execute(insert(page), [a_page(number, crawl) for number in numbers])
                blocks = [a_block(number, position, chance) | added for number in numbers for position in range(BLOCKS)]
                connection.execute(insert(block), [row | {"changed": changes.sequence} for row in blocks])
                seen = [
                    a_sighting(number, position, chance)
                    for number in numbers
                    for position in range(SIGHTINGS)
                    if number > 1
                ]
                connection.execute(insert(sighting), [row | {"changed": changes.sequence} for row in seen])
                for number in numbers:
                    changes.add_page(number)
                changes.write()
        with write_transaction(engine) as connection:
            row = {"pages": 9, "boilerplate_since": AT}
            connection.execute(
                insert(document_frequency),
                [row | {"site": site(number), "digest": number} for number in range(1, SITES * 10)],
            )


def site(number):
    return f"site{number % SITES}.example"


def a_page(number, crawl):
    url = f"https://{site(number)}/{number}"
    texts = {"url": url, "url_key": url, "site": site(number), "title": f"Page {number}", "language": "en"}
    seen = dict.fromkeys(("first_seen", "last_seen", "last_changed"), AT)
    return texts | seen | {"id": number, "visits": 1, "changes": 0, "crawl_id": crawl, "body_hash": 1} | METHOD


METHOD = {"method": "default", "scheme": "x"}


def a_block(number, position, chance):
    """A block; one in a hundred is gone."""
    identity = (number - 1) * BLOCKS + position + 1
    own = {"id": identity, "site": site(number), "text": f"{identity} {' '.join(chance.choices(WORDS, k=40))}"}
    return own | content(number, position, identity) | {"gone_at": AT if identity % 100 == 0 else None}


def a_sighting(number, position, chance):
    """A sighting of a block of an earlier page."""
    of_block = chance.randrange((number - 1) * BLOCKS) + 1
    return content(number, BLOCKS + position, of_block) | {"block_id": of_block, "distance": 0, "text": None}


def content(number, position, digest):
    numbers = {"position": position, "words": 41, "score": 0.5, "priority": 1.0, "digest": digest, "fingerprint": None}
    return {"page_id": number, "kind": "paragraph", "path": "/p", "first_seen": AT, "last_seen": AT} | numbers


def measure(url, path):
    """Export in a process of its own, which tells its time and memory."""
    program = [sys.executable, "-m", "scrapy", "export", str(path), f"--{path.name.split('.')[0]}", "--json"]
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings", "DATABASE_URL": url}
    began = time.perf_counter()
    with subprocess.Popen(program, env=environment, stdout=subprocess.PIPE) as export:
        rows = json.load(export.stdout)["rows"]
        _, status, used = os.wait4(export.pid, 0)
        export.returncode = os.waitstatus_to_exitcode(status)
    assert export.returncode == 0
    seconds, peak = time.perf_counter() - began, used.ru_maxrss / 1e3
    size = path.stat().st_size / 1e6
    print(f"{path.name:<22}{rows:>12,}{seconds:>10.1f}{rows / seconds:>10,.0f}{peak:>10.0f}{size:>10.0f}", flush=True)


def compare(url, path):
    """Return how many rows the file has, all of them equal to the view's in order."""
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        names = ", ".join(column.name for column in NAMES)
        stored = connection.execution_options(yield_per=10_000).execute(
            text(f"SELECT {names} FROM informative_block ORDER BY id").columns(*NAMES)
        )
        count = 0
        for row, expected in zip_longest(rows_of(path), stored):
            assert row == tuple(expected), (row, expected)
            count += 1
        return count


def rows_of(path):
    names = [column.name for column in NAMES]
    for batch in parquet.ParquetFile(path).iter_batches(10_000, columns=names):
        for row in batch.to_pylist():
            yield tuple(row[name] for name in names)


if __name__ == "__main__":
    main()
