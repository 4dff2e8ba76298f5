"""Databases filled with made-up pages, and the same pages as visits of a crawl."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice

from made_up import BLOCKS_OF_PAGE, pages
from sqlalchemy import insert, text

from cleaning.blocks import Block, Decision, Kind, Metadata, Reason
from cleaning.fingerprint import fingerprint_terms, text_digest
from cleaning.page_fingerprint import FingerprintedBlock
from cleaning.structure.clean_page import CleanPage
from cleaning.terms import terms
from crawler.storage.database import write_transaction
from crawler.storage.tables import block, crawl, page
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

NOW = datetime(2024, 5, 1, tzinfo=UTC)
_SEEN = {"first_seen": NOW, "last_seen": NOW}
_PAGES_AT_ONCE = 200
_PAGES_OF_BATCH = 10
_SITES = 200
_HTML_BYTES = 12_000  # what a page takes, compressed
_FEWEST_TERMS = 20
_TIDY = {"sqlite": "PRAGMA wal_checkpoint(TRUNCATE)", "postgresql": "VACUUM ANALYZE"}


def fill(engine, blocks):
    """Fill a database of the schema before search with so many blocks."""
    with write_transaction(engine) as connection:
        values = {"id": 1, "spider": "bench", "arguments": {}, "state": "finished", "started": NOW, "totals": {}}
        connection.execute(insert(crawl), values)
    numbered = enumerate(pages(blocks // BLOCKS_OF_PAGE))
    while part := list(islice(numbered, _PAGES_AT_ONCE)):
        with write_transaction(engine) as connection:
            connection.execute(insert(page), [_page(number) for number, _ in part])
            rows = [
                _block(number, position, *texts) for number, of_page in part for position, texts in enumerate(of_page)
            ]
            connection.execute(insert(block), rows)


def tidy(engine):
    """Bring a database into the state in which it is after a while."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(_TIDY[engine.dialect.name]))


def batches(count):
    """Return so many pages as batches of visits."""
    visits = [_visit(number, blocks) for number, blocks in enumerate(pages(count))]
    return [visits[start : start + _PAGES_OF_BATCH] for start in range(0, count, _PAGES_OF_BATCH)]


def _site(number):
    return f"site{number % _SITES}.example"


def _page(number):
    address = f"https://{_site(number)}/{number}"
    texts = {"url": address, "url_key": address, "site": _site(number), "title": f"Page {number}"}
    counts = {"id": number + 1, "visits": 1, "changes": 0, "crawl_id": 1, "body_hash": number, "children": 0}
    contents = {"method": "default", "scheme": "bench", "html": os.urandom(_HTML_BYTES), "last_changed": NOW}
    return texts | counts | contents | _SEEN


def _block(number, position, content, words, priority, score):
    block_id = number * BLOCKS_OF_PAGE + position + 1
    texts = {
        "site": _site(number),
        "text": content,
        "kind": "paragraph",
        "path": f"/html/body/div[2]/p[{position + 1}]",
    }
    counts = {"id": block_id, "page_id": number + 1, "position": position, "words": words, "digest": block_id}
    return texts | counts | {"score": score, "priority": priority, "fingerprint": None} | _SEEN


def _visit(number, blocks):
    address = f"https://site{number}.example/"
    return Visit(
        address,
        NOW,
        Outcome.PAGE,
        200,
        page=ProcessedPage(
            FetchedPage(address, b"<p>", None, Metadata()),
            CleanPage(address, "default", "utf-8", Metadata(), ()),
            tuple(_candidate(position, *block_values) for position, block_values in enumerate(blocks)),
        ),
    )


def _candidate(position, content, words, priority, score):
    sequence = terms(content)
    unique = len(set(sequence))
    block = Block(position, "/p", Kind.PARAGRAPH, content, words, 0, priority)
    bits = fingerprint_terms(sequence) if unique >= _FEWEST_TERMS else None
    return FingerprintedBlock(Decision(block, score, Reason.KEPT), text_digest(content, sequence), unique, bits)
