"""Pages that are cleaned and stored as a crawl does it, without one; and all that a database says of them."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import text as sql

from cleaning import Metadata, clean, parse
from cleaning.page_fingerprint import Fingerprinter
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
MENU = '<div class="nav"><a href="/a">Home</a> <a href="/b">News of the lake</a> <a href="/c">Weather</a></div>'
SENTENCE = "The ferryman of the northern lake told visitor {n} how many storms he had crossed in the year {n}. "
SHARED = "The harbour office asks all guests to be at the pier ten minutes before the ferry leaves, in winter as well. "


def address(number):
    return f"https://lake.example.org/{number}"


def html(number):
    paragraphs = "".join(f"<p>{SENTENCE.format(n=number * 10 + each) * 2}</p>" for each in range(3))
    article = f"<article><h1>Ferry {number} is late</h1>{paragraphs}<p>{SHARED * 2}</p></article>"
    foot = '<div class="footer">Copyright by the town at the lake</div>'
    return f"<!doctype html><html><head><title>Ferry {number}</title></head><body>{MENU}{article}{foot}</body></html>"


def visit(number, body=None, day=0, method="default"):
    """The visit of a page, cleaned and fingerprinted."""
    body = (html(number) if body is None else body).encode()
    page = parse(body, address(number))
    cleaned = clean(page, method=method)
    found = Fingerprinter().fingerprint(cleaned.decisions)
    fetched = FetchedPage(address(number), body, page, Metadata())
    processed = ProcessedPage(fetched, cleaned, found.blocks, found.fingerprint)
    return Visit(address(number), START + timedelta(days=day), Outcome.PAGE, 200, page=processed)


def fill(store, count, **values):
    """Store this number of pages, ten at a time."""
    crawl = store.begin_crawl("test", {})
    for first in range(0, count, 10):
        store.save(crawl, [visit(number, **values) for number in range(first, min(count, first + 10))])
    return crawl


_STATE = {
    "pages": "SELECT url, first_seen, last_seen, last_changed, visits, changes, next_visit, body_hash, method, scheme, "
    "page_fingerprint FROM page ORDER BY id",
    "blocks": "SELECT page_id, position, kind, path, text, words, score, priority, digest, fingerprint, first_seen, "
    "last_seen FROM block WHERE gone_at IS NULL ORDER BY page_id, position",
    "sightings": "SELECT s.page_id, s.position, s.text, s.distance, b.text FROM sighting AS s JOIN block AS b "
    "ON b.id = s.block_id WHERE s.gone_at IS NULL ORDER BY s.page_id, s.position",
    "views": "SELECT url, position, text FROM informative_block ORDER BY url, position",
    "near_duplicate_pages": "SELECT page_id, original_id, distance FROM near_duplicate_page ORDER BY page_id",
    "document_frequency": "SELECT site, digest, pages FROM document_frequency ORDER BY site, digest",
}


def state(engine):
    """What is stored of the pages now, without gone blocks."""
    with engine.connect() as connection:
        return {name: [tuple(row) for row in connection.execute(sql(query))] for name, query in _STATE.items()}


def marks(engine):
    """The change sequences that tell exports what has changed."""
    tables = (
        "SELECT id, changed FROM block",
        "SELECT id, changed FROM sighting",
        "SELECT page_id, changed FROM change_log",
    )
    with engine.connect() as connection:
        return [sorted(tuple(row) for row in connection.execute(sql(query))) for query in tables]
