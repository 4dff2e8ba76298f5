"""Databases to be exported: a page of hostile texts, a gone block, and one of another site and language."""

from datetime import UTC, datetime

from cleaning.blocks import Block, Decision, Kind, Metadata, Reason
from cleaning.fingerprint import text_digest
from cleaning.page_fingerprint import FingerprintedBlock
from cleaning.structure.clean_page import CleanPage
from cleaning.terms import terms
from crawler.storage.store import Store
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

HOSTILE = (
    "=1+1",
    "+49 30 1234567",
    "-5 degrees",
    "@home",
    "'tis quoted",
    'a "quotation", with commas; and more',
    "def code():\n\treturn '\\n'",
    "a line\u2028separated, and one\u2029more",
    "\u202eright to left, \U0001f600, e\u0301",
    "<script>alert(1)</script>",
)
URL, OTHER = "https://a.example/=1", "https://b.example/2"
GERMAN = 'ein "Zitat", mit Kommas'


def fill(engine):
    """Store the two pages, and the first one again without its last block."""
    store = Store(engine)
    crawl = store.begin_crawl("test", {})
    hostile = Metadata(title="=HYPERLINK(1)", language="en", published="2024-05-03")
    store.save(crawl, [make(URL, (*HOSTILE, "soon gone"), hostile)])
    store.save(crawl, [make(URL, HOSTILE, hostile), make(OTHER, ("kurz und gut", GERMAN), Metadata(language="de"))])


def make(url, texts, stated):
    moment = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
    candidates = tuple(candidate(position, text) for position, text in enumerate(texts))
    page = CleanPage(url, "default", "utf-8", Metadata(), ())
    fetched = FetchedPage(url, repr(texts).encode(), None, stated)
    return Visit(url, moment, Outcome.PAGE, 200, page=ProcessedPage(fetched, page, candidates))


def candidate(position, text):
    sequence = terms(text)
    block = Block(position, "/p", Kind.PARAGRAPH, text, len(text.split()), -1, 0.1)
    return FingerprintedBlock(Decision(block, -0.5, Reason.KEPT), text_digest(text, sequence), len(set(sequence)), None)
