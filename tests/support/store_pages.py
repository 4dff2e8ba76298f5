"""One of several crawls that store the same pages at the same time, one batch for each line of its input.

Run as: store_pages.py URL WORKER SCOPE locked|unlocked
"""

import random
import sys
from datetime import UTC, datetime

from cleaning.blocks import Block, Decision, Kind, Metadata, Reason
from cleaning.fingerprint import text_digest
from cleaning.page_fingerprint import FingerprintedBlock
from cleaning.structure.clean_page import CleanPage
from cleaning.terms import terms
from crawler.storage.database import open_engine
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.store import Store
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

PAGES, BLOCKS = 10, 24
HEADING = "Frequently asked questions"


class Unlocked(Store):
    """Checks and inserts in one transaction, but without locks."""

    def _lock_keys(self, _pairs):
        return iter(())


def address(worker, scope, batch, number):
    """Every other page is the same for all workers; the rest are the worker's own."""
    if number % 2:
        return f"https://shared.example/{batch}/{number}"
    host = f"site{worker}.example" if scope == "all" else f"w{worker}.one-site.example"
    return f"https://{host}/{batch}/{number}"


def candidates(worker, batch, number):
    """The page's blocks. On the worker's own pages, two thirds of them have one bit flipped and one word changed."""
    bases = random.Random(f"{batch}/{number}")
    edits = random.Random(f"{worker}/{batch}/{number}")
    yield candidate(0, Kind.HEADING, HEADING, None)
    for position in range(1, BLOCKS):
        fingerprint = bases.getrandbits(64)
        text = f"paragraph {position} of page {number} in batch {batch}"
        if number % 2 == 0 and edits.random() < 2 / 3:
            fingerprint ^= 1 << edits.randrange(64)
            text += f" as worker {worker} tells it"
        yield candidate(position, Kind.PARAGRAPH, text, fingerprint)


def candidate(position, kind, text, fingerprint):
    sequence = terms(text)
    block = Block(position, "/p", kind, text, len(text.split()), 0, 1.0)
    return FingerprintedBlock(
        Decision(block, 1.0, Reason.KEPT), text_digest(text, sequence), len(set(sequence)), fingerprint
    )


def visit(worker, scope, batch, number):
    url = address(worker, scope, batch, number)
    return Visit(
        url,
        datetime.now(UTC),
        Outcome.PAGE,
        page=ProcessedPage(
            FetchedPage(url, b"<p>", None, Metadata()),
            CleanPage(url, "default", None, Metadata(), ()),
            tuple(candidates(worker, batch, number)),
            whole(worker, batch, number),
        ),
    )


def whole(worker, batch, number):
    """The page's fingerprint: within two bits of the other workers' pages with this number."""
    fingerprint = random.Random(f"page {batch}/{number}").getrandbits(64)
    return fingerprint if number % 2 else fingerprint ^ 1 << int(worker)


def main():
    url, worker, scope, locking = sys.argv[1:]
    store = (Store if locking == "locked" else Unlocked)(open_engine(url), rules=DuplicateRules(scope))
    crawl = store.begin_crawl("test", {})
    numbers = range(PAGES) if locking == "locked" else range(0, PAGES, 2)
    print("ready", flush=True)
    for batch, _ in enumerate(sys.stdin):
        visits = [visit(worker, scope, batch, number) for number in numbers]
        print("made", flush=True)
        sys.stdin.readline()
        store.save(crawl, visits)
        print("saved", flush=True)
    store.close()


if __name__ == "__main__":
    main()
