"""Store the tables of a batch job in a database (`scrapy import`), by the rules of a crawl.

Each page is a visit at the time of its record, after the earlier captures of its address. Its blocks are compared with
everything that is stored, in the transaction that inserts them. A page that the database has seen at that time or later
is left alone, so an import that was interrupted is simply repeated.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from heapq import merge
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from lxml import html
from sqlalchemy import select

from cleaning import CleanPage
from cleaning.blocks import Block, Decision, Kind, Metadata, Page, Reason
from crawler.batch.columns import read_chosen, read_rows
from crawler.batch.finish import part_name
from crawler.batch.output import OutputFolder
from crawler.config import CLEANING_SETTINGS, hash_options
from crawler.errors import BatchError
from crawler.storage.addresses import is_stored_page
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import read_transaction
from crawler.storage.page_columns import PAGE_COLUMN_NAMES
from crawler.storage.pages import ImportedPage
from crawler.storage.store import Store
from crawler.storage.tables import batched, unsigned
from crawler.storage.tables import page as page_table
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cleaning.page_fingerprint import Fingerprinter
    from crawler.config import Config
    from crawler.storage.visits import SavedVisit

_SPIDER = "import"
_SUMMARY_FILE = "summary.json"
_ROWS = 500
_FINISHED = "finished"
_PART = re.compile(r"part-(\d+)\.parquet")
_COUNTS = ("stored", "refreshed", "exact", "near", "boilerplate", "near_duplicate_pages")

Row = dict[str, Any]
"""A row of a table by the names of its columns."""


def import_tables(
    folder: str,
    config: Config,
    report: Callable[[int], None] = lambda _pages: None,
    warn: Callable[[str], None] = lambda _sentence: None,
) -> dict[str, int]:
    """Store the pages of a finished batch job in the database DATABASE_URL, and return the counts.

    `report` hears the number of pages so far, `warn` what changes for later commands. Raises BatchError if the folder
    holds no finished job, or one whose settings differ, and StoreError if the database cannot be written.
    """
    output = OutputFolder(folder)
    _check(output, config)
    store = Store.open(replace(config, keep_html=False))
    counts: Counter[str] = Counter()
    try:
        if (change := store.keep_settings(config)) is not None:
            warn(change)
        crawl_id = store.begin_crawl(_SPIDER, {"folder": folder}, _policy(output))
        last = (read_pages(output, number, config.fingerprinter) for number in _parts(output, "pages"))
        pages = chain(read_captures(output, config.fingerprinter), chain.from_iterable(last))
        for batch in _batched(pages, config.store_batch_pages):
            _store(store, crawl_id, batch, counts)
            report(counts["pages"] + counts["known"])
        store.end_crawl(crawl_id, _FINISHED, dict(counts))
    finally:
        store.close()
    return dict(counts)


def _policy(output: OutputFolder) -> CrawlPolicy:
    """Return how the job has cleaned its pages."""
    settings = output.read_json("batch.json")["settings"]
    known = {name: settings[name] for name in CLEANING_SETTINGS if name in settings}
    return CrawlPolicy(options_hash=hash_options(known["CLEANING_OPTIONS"]), settings=known)


def read_pages(output: OutputFolder, number: int, fingerprinter: Fingerprinter) -> Iterator[ImportedPage]:
    """Yield the pages of an input file's part of the tables, in their order, with all their kept blocks."""
    parts = (read_rows(output, part_name(table, number), _ROWS) for table in ("blocks", "sightings"))
    kept = groupby(merge(*parts, key=lambda row: row["id"]), key=lambda row: row["page_id"])
    page_id, blocks = next(kept, (None, iter(())))
    for page in read_rows(output, part_name("pages", number), _ROWS):
        own: list[Row] = []
        if page_id == page["id"]:
            own = list(blocks)
            page_id, blocks = next(kept, (None, iter(())))
        yield _imported(page, own, fingerprinter)


def read_captures(output: OutputFolder, fingerprinter: Fingerprinter) -> Iterator[ImportedPage]:
    """Yield the captures of pages that were captured later too, from all parts, in the order of their dates."""
    order = sorted(
        (row["first_seen"], number, row["id"])
        for number in _parts(output, "captures/pages")
        for row in read_rows(output, part_name("captures/pages", number), _ROWS, ["first_seen", "id"])
    )
    for chosen in batched(order, _ROWS):
        pages = {}
        for number in sorted({number for _, number, _ in chosen}):
            ids = [page_id for _, part, page_id in chosen if part == number]
            blocks = defaultdict(list)
            for block in read_chosen(output, part_name("captures/blocks", number), "page_id", ids):
                blocks[block["page_id"]].append(block)
            for page in read_chosen(output, part_name("captures/pages", number), "id", ids):
                pages[page["id"]] = _imported(page, blocks[page["id"]], fingerprinter)
        yield from (pages[page_id] for _, _, page_id in chosen)


def _parts(output: OutputFolder, folder: str) -> list[int]:
    """Return the numbers of the input files that have a part of a table; other files are of other programs."""
    return [int(part[1]) for name in output.names(folder) if (part := _PART.fullmatch(name)) is not None]


def _check(output: OutputFolder, config: Config) -> None:
    if not output.exists(_SUMMARY_FILE):
        raise BatchError(
            f"{output.path!r} holds no finished batch job; run `scrapy batch` with --out {output.path} first"
        )
    job_settings = output.read_json("batch.json")["settings"]
    for name in ("FINGERPRINT_WEIGHTING", "FINGERPRINT_MIN_TERMS"):
        job_value = job_settings[name]
        value = getattr(config, name.lower())
        if job_value != value:
            raise BatchError(
                f"{output.path!r} was made with {name}={job_value}, but {name} is {value}; add -s {name}={job_value}"
            )


def _imported(row: Row, blocks: Sequence[Row], fingerprinter: Fingerprinter) -> ImportedPage:
    decisions = tuple(_decision(block) for block in blocks)
    metadata = Metadata(
        headline=row.get("headline"),  # older versions wrote neither
        stated_title=row.get("stated_title"),
    )
    cleaned = CleanPage(row["url"], row["method"], row["encoding"], metadata, decisions)
    keys = fingerprinter.fingerprint(decisions)
    # The tables hold no HTML, so none is stored.
    source = Page(html.fromstring("<html></html>"), row["url"])
    fetched = FetchedPage(
        row["url"], b"", source, Metadata(), row["etag"], row["last_modified"], row["method"], noarchive=True
    )
    visit = Visit(
        row["url"],
        row["first_seen"],
        Outcome.PAGE,
        etag=row["etag"],
        last_modified=row["last_modified"],
        page=ProcessedPage(fetched, cleaned, keys.blocks, keys.fingerprint),
    )
    doubted = row.get("doubted_canonical")  # older versions did not write it
    described = {name: row[name] for name in PAGE_COLUMN_NAMES if name in row}
    return ImportedPage(visit, row["url_key"], unsigned(row["body_hash"]), described, doubted)


def _decision(row: Row) -> Decision:
    block = Block(row["position"], row["path"], Kind(row["kind"]), row["text"], row["words"], 0, row["priority"])
    return Decision(block, row["score"], Reason.KEPT)


def _store(store: Store, crawl_id: int, pages: Sequence[ImportedPage], counts: Counter[str]) -> None:
    known = _known(store, pages)
    fresh = [page for page in pages if page.key not in known]
    counts["known"] += len(pages) - len(fresh)
    saved: Sequence[SavedVisit] = store.save_imported(crawl_id, fresh) if fresh else ()
    counts["pages"] += len(saved)
    for visit in saved:
        counts[f"pages_{visit.state}"] += 1
        for name in _COUNTS:
            counts[name] += getattr(visit, name)


def _known(store: Store, pages: Sequence[ImportedPage]) -> set[str]:
    """Return the keys of the pages that the database has seen at the time of their record or later.

    Another page may be stored under the address that a page states, or the page under its own one.
    """
    keys = {key for page in pages for key in (page.key, page.own_key)}
    statement = select(page_table.c.url_key, page_table.c.last_seen).where(page_table.c.url_key.in_(sorted(keys)))
    with read_transaction(store.engine) as connection:
        last_seen = {row.url_key: row.last_seen for row in connection.execute(statement)}
        return {
            page.key
            for page in pages
            for key in {page.key, page.own_key}
            if key in last_seen and last_seen[key] >= page.visit.at and is_stored_page(connection, page, key)
        }


def _batched(pages: Iterator[ImportedPage], size: int) -> Iterator[list[ImportedPage]]:
    """Yield the pages in lists; a key occurs once in a list."""
    batch: list[ImportedPage] = []
    for page in pages:
        if len(batch) >= size or any(page.key == batched.key for batched in batch):
            yield batch
            batch = []
        batch.append(page)
    if batch:
        yield batch
