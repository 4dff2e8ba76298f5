"""Pages that are cleaned and stored as a crawl does it, without one; and all that a database says of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import text as sql

from cleaning import Metadata, Reason, clean, parse
from cleaning.page_fingerprint import Fingerprinter
from crawler.visit import FetchedPage, Outcome, PageStructure, ProcessedPage, Visit

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
MENU = '<div class="nav"><a href="/a">Home</a> <a href="/b">News of the lake</a> <a href="/c">Weather</a></div>'
SENTENCE = "The ferryman of the northern lake told visitor {n} how many storms he had crossed in the year {n}. "
SHARED = "The harbour office asks all guests to be at the pier ten minutes before the ferry leaves, in winter as well. "


def address(number):
    return f"https://lake.example.org/{number}"


def html(number):
    paragraphs = "".join(f"<p>{SENTENCE.format(n=number * 10 + line) * 2}</p>" for line in range(3))
    article = f"<article><p>{SHARED * 2}</p><h1>Ferry {number} is late</h1>{paragraphs}</article>"
    foot = '<div class="footer">Copyright by the town at the lake</div>'
    return f"<!doctype html><html><head><title>Ferry {number}</title></head><body>{MENU}{article}{foot}</body></html>"


STRUCTURED = f"""<!doctype html><html><head><title>Ferries</title></head><body>{MENU}<article>
<h1>The ferries of the lake</h1>
<p>{SENTENCE.format(n=1)} See <a href="/harbour">the harbour office</a> for more.</p>
<h2>Fares</h2><p>{SENTENCE.format(n=2)}</p>
<table><caption>Fares of the northern ferry in euros for each passenger</caption>
<tr><th>Passenger</th><th>Summer fare</th><th>Winter fare</th></tr>
<tr><td>Adults who travel in both directions</td><td>12.50</td><td>9.00</td></tr>
<tr><td>Children who travel in both directions</td><td>6.25</td><td>4.50</td></tr></table>
<h3>Reductions</h3><p>{SENTENCE.format(n=3)}</p>
<ol><li>Guests of the town pay half of the fare in winter
<ul><li>but only if they have stayed for three nights</li></ul></li>
<li>Schools of the district pay nothing at all in winter</li></ol>
<h2>Timetable</h2><p>{SENTENCE.format(n=4)}</p>
<pre><code class="language-python">def next_ferry(hour):
    # The ferries leave at every third hour of the day, in summer and in winter.
    return hour + 3 - hour % 3
</code></pre>
<p>{SENTENCE.format(n=5)}</p></article></body></html>"""


def visit(number, body=None, day=0, **values):
    """The visit of a page, cleaned and fingerprinted; `values` are those of `visit_at`."""
    return visit_at(address(number), html(number) if body is None else body, day, **values)


def visit_at(url, body, day=0, *, method="default", structure=False, dropped=()):
    """The visit of a page at any address; the texts in `dropped` are not kept."""
    body = body.encode()
    page = parse(body, url)
    cleaned = clean(page, method=method)
    if dropped:
        cleaned = without(cleaned, dropped)
    fingerprints = Fingerprinter().fingerprint(cleaned.decisions)
    fetched = FetchedPage(url, body, page, Metadata())
    page_structure = PageStructure.of(cleaned) if structure else None
    processed = ProcessedPage(fetched, cleaned, fingerprints.blocks, fingerprints.fingerprint, page_structure)
    return Visit(url, START + timedelta(days=day), Outcome.PAGE, 200, page=processed)


def without(cleaned, texts):
    """A cleaned page whose blocks with these texts are dropped."""
    decisions = (
        replace(decision, reason=Reason.SHORT) if decision.block.text in texts else decision
        for decision in cleaned.decisions
    )
    return replace(cleaned, decisions=tuple(decisions))


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
