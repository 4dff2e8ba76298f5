"""Databases of the blocks that a method keeps of pages, filled as a crawl fills them."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice

from stand_ins import decide, read

from cleaning.blocks import Metadata
from cleaning.page_fingerprint import Fingerprinter
from cleaning.structure.clean_page import CleanPage
from crawler.storage import schema
from crawler.storage.boilerplate import BoilerplateBounds
from crawler.storage.database import opened_engine
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.store import Store
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

_NOW = datetime(2024, 5, 1, tzinfo=UTC)
_BATCH = 10


@contextmanager
def stored(path, method, samples):
    """Give an engine for a new SQLite database of the blocks that a method keeps.

    Each page's blocks are all stored, as the papers do: no duplicates between pages, no template, no HTML.
    """
    with opened_engine(f"sqlite:///{path}") as engine:
        schema.prepare_schema(engine)
        store = Store(engine, rules=DuplicateRules("off"), boilerplate=BoilerplateBounds(0), keep_html=False)
        crawl = store.begin_crawl("experiments", {"method": method})
        visits = (visit(method, number, sample) for number, sample in enumerate(samples))
        while batch := list(islice(visits, _BATCH)):
            store.save(crawl, batch)
        yield engine


def visit(method, number, sample):
    """Return the visit of a page, with the blocks that a method keeps; the number makes its address unique."""
    decisions = decide(read(sample), method)
    fingerprints = Fingerprinter(max_distance=None).fingerprint(decisions)
    url = f"https://{sample.host}/{number}"
    return Visit(
        url,
        _NOW,
        Outcome.PAGE,
        200,
        page=ProcessedPage(
            FetchedPage(url, sample.body, None, Metadata()),
            CleanPage(url, method, "utf-8", Metadata(), tuple(decisions)),
            fingerprints.blocks,
            fingerprints.fingerprint,
        ),
    )
