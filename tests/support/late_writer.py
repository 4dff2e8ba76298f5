"""A crawl that commits its batches late, and so out of order with other crawls.

Run as: late_writer.py URL WORKER BATCHES FILE

It goes on after so many batches until the file exists.
"""

import random
import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from sqlalchemy import text

from cleaning.blocks import Block, Decision, Kind, Metadata, Reason
from cleaning.fingerprint import text_digest
from cleaning.page_fingerprint import FingerprintedBlock
from cleaning.structure.clean_page import CleanPage
from cleaning.terms import terms
from crawler.storage.boilerplate import BoilerplateBounds
from crawler.storage.database import open_engine
from crawler.storage.store import Store
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

PAGES = 8


class Late(Store):
    """Waits between the last statement and the commit."""

    def write(self, work):
        def late(connection):
            result = work(connection)
            connection.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": random.uniform(0, 0.03)})
            return result

        return super().write(late)


def visit(worker, batch):
    """One of the worker's pages again, with other blocks; other workers have some of them too."""
    url = f"https://site{worker}.example/{batch % PAGES}"
    texts = [f"number {batch} of {worker}", f"number {batch % 5} of all", "what stands on many pages"]
    candidates = tuple(candidate(position, words) for position, words in enumerate(texts[: 2 + batch % 2]))
    page = CleanPage(url, "default", "utf-8", Metadata(title=f"{batch // 3}"), ())
    fetched = FetchedPage(url, repr(texts).encode(), None, Metadata())
    return Visit(url, datetime.now(UTC), Outcome.PAGE, 200, page=ProcessedPage(fetched, page, candidates))


def candidate(position, words):
    sequence = terms(words)
    block = Block(position, "/p", Kind.PARAGRAPH, words, len(words.split()), 0, 1.0)
    return FingerprintedBlock(Decision(block, 1.0, Reason.KEPT), text_digest(words, sequence), len(set(sequence)), None)


def main(url, worker, batches, file):
    engine = open_engine(url)
    store = Late(engine, boilerplate=BoilerplateBounds(4, 0.1))
    crawl = store.begin_crawl("late", {"worker": worker})
    for batch in count():
        if batch >= int(batches) and Path(file).exists():
            break
        store.save(crawl, [visit(worker, batch)])
    engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
