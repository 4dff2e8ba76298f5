"""What is known of pages before they are visited again, on both kinds of database."""

from dataclasses import replace
from datetime import timedelta

import pytest
from xxhash import xxh64_intdigest

from crawler.schedule import RevisitBounds
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.pages import REVISIT_KEY, PageOrigin, PageValidators, ReadPolicy, find_validators, keys_not_due
from crawler.storage.requests import LeasedRequest, add_due_requests
from crawler.storage.store import Store
from crawler.visit import LeaseToken, Outcome, RequestRecord, Visit

URL = "https://a.example/1"
SETTINGS = {"CLEANING_METHOD": "default", "CLEANING_OPTIONS": {}, "RENDER": False}
READER = ReadPolicy(PageOrigin("one", {"a": "1"}, SETTINGS), "default", keep_html=True)
RECORD = RequestRecord("key", URL, "a.example", callback="parse_article", cb_kwargs={"n": 1})


@pytest.fixture
def keep(engine):
    """Save visits of a crawl of the spider `one`."""
    store = Store(engine)
    crawl_id = store.join_crawl("one", {"a": "1"}, CrawlPolicy(options_hash=7, settings=SETTINGS)).crawl_id
    yield lambda *visits: store.save(crawl_id, visits)
    if store._crawl_lock is not None:
        store._crawl_lock.close()


@pytest.fixture
def read(visit):
    """A visit of a page with validators."""

    def make(record=RECORD, **values):
        page_visit = visit(record.url, "one", body=b"the body")
        fetched = replace(page_visit.page.fetched, etag='"tag"', last_modified="Monday")
        return replace(page_visit, page=replace(page_visit.page, fetched=fetched), request=record, **values)

    return make


@pytest.fixture
def ask(engine, now):
    """Return what is known where these requests are leased."""

    def of(*records, reader=READER, attempts=0):
        leased = [
            LeasedRequest(LeaseToken(number, "one"), record, attempts, now) for number, record in enumerate(records)
        ]
        with engine.connect() as connection:
            return find_validators(connection, reader, leased)

    return of


def test_a_page_is_known_by_the_request_that_read_it(keep, read, ask):
    keep(read())
    assert ask(replace(RECORD, url="https://a.example/other"), RECORD) == {
        1: PageValidators(xxh64_intdigest(b"the body"), '"tag"', "Monday")
    }


@pytest.mark.parametrize(
    "other",
    [
        {"callback": "parse_listing"},
        {"callback": None},
        {"cb_kwargs": {"n": 2}},
        {"method": "HEAD"},
        {"body": b"q"},
        {"url": f"{URL}#top"},
    ],
)
def test_another_request_is_for_another_reading(keep, read, ask, other):
    keep(read())
    assert ask(replace(RECORD, **other)) == {}


@pytest.mark.parametrize(
    "reader",
    [
        replace(READER, origin=PageOrigin("two", {"a": "1"}, SETTINGS)),
        replace(READER, origin=PageOrigin("one", {"a": "2"}, SETTINGS)),
        replace(READER, method="tags"),
        replace(READER, origin=replace(READER.origin, settings=SETTINGS | {"CLEANING_OPTIONS": {"favour": "recall"}})),
        replace(READER, origin=replace(READER.origin, settings=SETTINGS | {"RENDER": True})),
        replace(READER, keep_html=False),
    ],
)
def test_another_crawl_reads_pages_in_another_way(keep, read, ask, reader):
    keep(read())
    assert ask(RECORD, reader=reader) == {}


@pytest.mark.parametrize(
    "values", [{"children": 1}, {"items": 1}, {"outcome": Outcome.CALLBACK_FAILED}, {"part": 2, "parts": 2}]
)
def test_a_page_whose_callback_yields_more_is_not_known(keep, read, ask, values):
    keep(read(**values))
    assert ask(RECORD) == {}


def test_a_request_that_is_made_once_more_is_made_in_full(keep, read, ask):
    keep(read())
    assert ask(RECORD, attempts=1) == {}


def test_a_retired_page_is_read_again(keep, read, ask, now):
    keep(read())
    keep(Visit(URL, now + timedelta(days=1), Outcome.NOT_FOUND, 410, request=RECORD))
    assert ask(RECORD) == {}


def test_a_page_under_a_canonical_key_is_known_to_its_own_visit(keep, read, visit, ask):
    page_visit = visit(f"{URL}?from=feed", "one", canonical=URL)
    keep(replace(page_visit, request=replace(RECORD, url=page_visit.url)))
    assert ask(replace(RECORD, url=page_visit.url)) == {}
    assert ask(RECORD) == {}
    assert list(ask(replace(RECORD, url=page_visit.url, meta={REVISIT_KEY: URL}))) == [0]


def test_nothing_is_asked_for_no_requests(ask):
    assert ask() == {}


@pytest.fixture
def spared(engine):
    def of(*records, now):
        with engine.connect() as connection:
            return keys_not_due(connection, records, now, RevisitBounds())

    return of


def test_stored_pages_and_sections_have_a_time_of_their_own(keep, read, spared, now):
    listing = replace(RECORD, key="listing", url="https://a.example/")
    keep(read(), Visit(listing.url, now, Outcome.SECTION, request=listing, requests=(RECORD,)))
    new = replace(RECORD, key="new", url="https://a.example/new")
    posted = replace(RECORD, key="posted", method="POST")
    assert spared(RECORD, listing, new, posted, now=now) == {"key", "listing"}
    assert spared(RECORD, now=now + timedelta(days=99)) == {"key"}  # its own re-visit is another request
    assert spared(now=now) == frozenset()


def test_a_retired_page_is_looked_for_where_something_leads_there_again(keep, read, spared, now):
    keep(read())
    keep(Visit(URL, now + timedelta(days=1), Outcome.NOT_FOUND, 410, request=RECORD))
    assert spared(RECORD, now=now + timedelta(days=1, hours=1)) == {"key"}
    assert spared(RECORD, now=now + timedelta(days=99)) == frozenset()
    # Its time was written by a clock that was ahead.
    assert spared(RECORD, now=now - timedelta(days=99)) == frozenset()


def test_pages_that_cannot_be_visited_by_themselves_are_not_spared(engine, visit, spared, now):
    store = Store(engine)
    store.save(store.begin_crawl("one", {}), [visit(URL, "one")])
    assert spared(RECORD, now=now) == frozenset()


def test_spared_requests_are_done_without_being_made(engine, crawl_id, record, take, rows, now):
    with engine.begin() as connection:
        added = add_due_requests(connection, crawl_id, [record("b"), record("a"), record("c")], {"b"}, now)
        again = add_due_requests(connection, crawl_id, [record("a"), record("b")], {"a", "b"}, now)
    assert (added.queued, added.not_due) == (2, {"b"})
    assert (again.queued, again.not_due) == (0, frozenset())
    assert [leased_request.record.key for leased_request in take()] == ["a", "c"]
    assert rows("SELECT state, outcome, ended IS NULL AS open FROM request WHERE key = 'b'") == [
        {"state": "done", "outcome": "not_due", "open": False}
    ]


def test_arguments_of_other_programs_are_no_origin():
    origin = PageOrigin.of("one", {"url": "https://me:secret@a.example/", "api_key": "secret", "_job": "7"}, {})
    assert origin == PageOrigin("one", {"url": "https://***@a.example/", "api_key": "***"})
