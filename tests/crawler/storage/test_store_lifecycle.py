"""What visits without a page do to what is stored, on both kinds of database."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from crawler.schedule import RevisitBounds
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.pages import REVISIT_KEY, PageAbsence
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import PageState, Store
from crawler.storage.tables import page
from crawler.visit import Outcome, RequestRecord, Visit

URL = "https://a.example/1"
OTHER = "https://a.example/2"
LONG = " ".join(f"word{number}" for number in range(40))
MOST = timedelta(days=10)
MISSES = RevisitBounds().most_misses


def request_for(url, mark=None, **values):
    meta = {} if mark is None else {REVISIT_KEY: mark}
    return RequestRecord("key", url, "a.example", callback="parse_article", cb_kwargs={"n": 1}, meta=meta, **values)


@pytest.fixture
def joined(engine):
    """A store that has joined a crawl of the spider `one`."""

    @contextmanager
    def join(**values):
        store = Store(engine)
        manners = CrawlPolicy(revisits=RevisitBounds(3600, MOST.total_seconds()), options_hash=7, **values)
        crawl_id = store.join_crawl("one", {"url": "https://a.example/", "_job": "7"}, manners).crawl_id
        yield lambda *visits: store.save(crawl_id, visits)
        if store._crawl_lock is not None:
            store._crawl_lock.close()

    return join


@pytest.fixture
def keep(joined):
    with joined() as keep:
        yield keep


@pytest.fixture
def read(visit):
    """A visit of a page by a request of its own."""

    def make(url, *blocks, mark=None, **values):
        return replace(visit(url, *blocks, **values), request=request_for(url, mark))

    return make


@pytest.fixture
def fruitless(now):
    """A visit without a page."""

    def make(outcome, url=URL, *, day=1, mark=None, **values):
        return Visit(url, now + timedelta(days=day), outcome, request=request_for(url, mark), **values)

    return make


@pytest.fixture
def stored(engine):
    """The row of a page."""

    def find(url=URL):
        with engine.connect() as connection:
            return connection.execute(select(page).where(page.c.url == url)).one()

    return find


def states(saved):
    return [result.state for result in saved]


def test_a_page_is_stored_with_the_way_to_visit_it_again(keep, read, stored):
    keep(read(URL, "one"))
    row = stored()
    assert (row.spider, row.callback, row.cb_kwargs) == ("one", "parse_article", {"n": 1})
    assert (row.arguments, row.meta, row.headers) == ({"url": "https://a.example/"}, {}, {})
    assert (row.children, row.options_hash, row.misses, row.retired_at) == (0, 7, 0, None)
    assert row.first_seen + timedelta(hours=1) <= row.next_visit <= row.first_seen + MOST


def test_what_refers_and_what_redirected_is_not_stored(keep, read, stored):
    headers = {"Referer": ["https://a.example/"], "Accept": ["text/html"]}
    meta = {"redirect_times": 1, "redirect_urls": [OTHER], "judge": False, REVISIT_KEY: URL}
    record = RequestRecord("key", URL, "a.example", headers=headers, meta=meta)
    keep(replace(read(URL, "one"), request=record))
    assert (stored().headers, stored().meta) == ({"Accept": ["text/html"]}, {"judge": False})


def test_a_page_that_was_posted_for_is_never_due(keep, read, stored):
    keep(replace(read(URL, "one"), request=request_for(URL, method="POST")))
    assert (stored().spider, stored().next_visit) == (None, None)


def test_pages_of_a_replay_are_never_due(joined, read, stored):
    with joined(is_replay=True) as keep:
        keep(read(URL, "one"))
    assert (stored().spider, stored().next_visit) == (None, None)


def test_what_else_the_callback_yielded_is_counted(keep, read, stored):
    keep(replace(read(URL, "one"), children=2, items=1))
    assert stored().children == 3


def test_further_pages_of_a_response_count_too(keep, read, stored):
    keep(replace(read(URL, "one"), parts=2), replace(read(OTHER, "two"), part=2, parts=2, request=request_for(URL)))
    assert (stored(URL).children, stored(OTHER).children) == (1, 1)
    assert (stored(URL).spider, stored(OTHER).spider) == ("one", None)


def test_what_a_failing_callback_would_have_yielded_is_not_known(keep, read, stored):
    keep(replace(read(URL, "one"), outcome=Outcome.CALLBACK_FAILED, error="ValueError"))
    assert stored().children is None


def test_a_page_that_is_not_modified_is_seen_with_its_blocks(keep, read, fruitless, stored, rows):
    keep(read(URL, "one", LONG), read(OTHER, LONG, "two"))
    keep(read(URL, LONG, day=1))
    before = stored()
    assert states(keep(fruitless(Outcome.NOT_MODIFIED, day=2))) == [PageState.NOT_MODIFIED]
    after = stored()
    assert after.last_seen == before.last_seen + timedelta(days=1)
    assert (after.visits, after.changes, after.last_changed) == (3, 1, before.last_changed)
    assert after.next_visit > before.next_visit
    seen = rows("SELECT text, gone_at IS NULL AS live, last_seen FROM block ORDER BY id")
    assert [(row["text"], bool(row["live"])) for row in seen] == [("one", False), (LONG, True), ("two", True)]
    assert len({str(row["last_seen"]) for row in seen}) == 2  # that of the live one moved on


def test_sightings_are_seen_too(keep, read, fruitless, rows):
    keep(read(URL, LONG), read(OTHER, LONG))
    keep(fruitless(Outcome.NOT_MODIFIED, OTHER))
    (sighting,) = rows("SELECT last_seen > first_seen AS moved FROM sighting")
    (block,) = rows("SELECT last_seen > first_seen AS moved FROM block")
    assert (bool(sighting["moved"]), bool(block["moved"])) == (True, False)


def test_new_validators_are_kept_and_missing_ones_change_nothing(keep, read, fruitless, stored):
    first = read(URL, "one")
    fetched = replace(first.page.fetched, etag='"a"', last_modified="Monday")
    keep(replace(first, page=replace(first.page, fetched=fetched)))
    keep(fruitless(Outcome.NOT_MODIFIED, etag='"b"'))
    assert (stored().etag, stored().last_modified) == ('"b"', "Monday")


def test_not_modified_of_a_page_that_is_not_stored_is_nothing(keep, fruitless, rows):
    assert states(keep(fruitless(Outcome.NOT_MODIFIED))) == [PageState.NONE]
    assert rows("SELECT * FROM page") == []


@pytest.mark.parametrize("outcome", [Outcome.NOT_FOUND, Outcome.REMOVED])
def test_a_miss_counts_once_however_often_listings_lead_to_the_page(keep, read, fruitless, stored, outcome):
    keep(read(URL, "one"))
    misses = []
    for hour in (24, 25, 26, 30, 36, 37, 47):
        assert states(keep(fruitless(outcome, day=hour / 24))) == [PageState.MISSED]
        misses.append(stored().misses)
    assert misses == [1, 1, 1, 1, 2, 2, 2]
    assert (stored().visits, stored().last_seen) == (1, stored().first_seen)
    assert states(keep(fruitless(outcome, day=2))) == [PageState.RETIRED]


@pytest.mark.parametrize("status", [404, 410])
def test_a_site_that_finds_nothing_at_once_does_not_lose_its_pages(keep, read, fruitless, rows, status):
    urls = [f"https://a.example/{number}" for number in range(30)]
    keep(*(read(url, f"text of {url}") for url in urls))
    gone = "SELECT count(*) AS n FROM page WHERE retired_at IS NOT NULL"
    for day in range(1, 6):
        for first in range(0, 30, 7):
            keep(*(fruitless(Outcome.NOT_FOUND, url, day=day, status=status) for url in urls[first : first + 7]))
    # Before so many were asked for, nobody can tell.
    (few,) = rows(gone)
    assert few["n"] == (0 if status == 404 else 7)
    keep(*(read(url, f"text of {url}", day=7) for url in urls))
    assert rows(gone) == [{"n": 0}]


def test_most_pages_may_go_if_their_site_has_others(keep, read, fruitless, rows):
    urls = [f"https://a.example/{number}" for number in range(30)]
    keep(*(read(url, f"text of {url}") for url in urls))
    keep(*(fruitless(Outcome.NOT_MODIFIED, url) for url in urls[14:]))
    keep(*(fruitless(Outcome.NOT_FOUND, url, status=410) for url in urls[:14]))
    assert rows("SELECT count(*) AS n FROM page WHERE retired_at IS NOT NULL") == [{"n": 14}]


def test_after_so_many_misses_a_page_is_retired(keep, read, fruitless, stored, rows):
    keep(read(URL, "one", LONG), read(OTHER, LONG))
    for day in range(1, MISSES):
        keep(fruitless(Outcome.NOT_FOUND, OTHER, day=day))
        assert stored(OTHER).retired_at is None
    (last,) = keep(fruitless(Outcome.NOT_FOUND, OTHER, day=MISSES))
    assert (last.state, last.gone) == (PageState.RETIRED, 1)
    assert stored(OTHER).retired_at == stored(OTHER).first_seen + timedelta(days=MISSES)
    assert rows("SELECT count(*) AS n FROM sighting WHERE gone_at IS NULL") == [{"n": 0}]
    assert rows("SELECT count(*) AS n FROM block WHERE gone_at IS NULL") == [{"n": 2}]
    assert states(keep(fruitless(Outcome.NOT_FOUND, OTHER, day=9))) == [PageState.MISSED]
    assert stored(OTHER).retired_at == stored(OTHER).first_seen + timedelta(days=MISSES)


def test_a_page_gone_for_good_is_retired_at_once(keep, read, fruitless, stored):
    keep(read(URL, "one"))
    assert states(keep(fruitless(Outcome.NOT_FOUND, status=410))) == [PageState.RETIRED]
    assert stored().retired_at == stored().first_seen + timedelta(days=1)


def test_a_visit_in_between_begins_the_count_anew(keep, read, fruitless, stored):
    keep(read(URL, "one"))
    for day in range(1, MISSES):
        keep(fruitless(Outcome.NOT_FOUND, day=day))
    keep(fruitless(Outcome.NOT_MODIFIED, day=6))
    assert stored().misses == 0
    keep(fruitless(Outcome.NOT_FOUND, day=7))
    keep(read(URL, "one", day=8))
    assert (stored().misses, stored().retired_at) == (0, None)


def test_a_retired_page_counts_for_nothing_until_it_returns(keep, read, fruitless, rows, stored):
    pages = [f"https://a.example/{number}" for number in range(1, 4)]
    visits = [read(url, "shared words", LONG, f"own text of {number}") for number, url in enumerate(pages)]
    keep(*(replace(page_visit, page=replace(page_visit.page, fingerprint=2**63 + 5)) for page_visit in visits))
    tables = {
        "site": "SELECT site, pages FROM site",
        "document_frequency": "SELECT digest, pages, boilerplate_since IS NULL AS own FROM document_frequency "
        "ORDER BY digest",
        "index": "SELECT page_id FROM page_fingerprint",
        "near_duplicate_page": "SELECT page_id, original_id FROM near_duplicate_page ORDER BY page_id",
    }
    before = {name: rows(query) for name, query in tables.items()}
    assert before["site"] == [{"site": "a.example", "pages": 3}]
    assert before["near_duplicate_page"] == [{"page_id": 2, "original_id": 1}, {"page_id": 3, "original_id": 1}]
    keep(fruitless(Outcome.NOT_FOUND, pages[0], status=410))
    assert rows(tables["site"]) == [{"site": "a.example", "pages": 2}]
    assert sorted(row["pages"] for row in rows(tables["document_frequency"])) == [1, 1, 2, 2]
    assert rows(tables["index"]) == [{"page_id": 2}]
    assert rows(tables["near_duplicate_page"]) == [{"page_id": 3, "original_id": 2}]
    assert stored(pages[0]).page_fingerprint is None
    returned = read(pages[0], "shared words", LONG, "own text of 0", day=2)
    (back,) = keep(replace(returned, page=replace(returned.page, fingerprint=2**63 + 5)))
    assert (back.revived, back.state) == (3, PageState.CHANGED)
    assert (stored(pages[0]).retired_at, stored(pages[0]).misses) == (None, 0)
    assert rows(tables["site"]) == before["site"]
    assert rows(tables["document_frequency"]) == before["document_frequency"]
    assert rows(tables["near_duplicate_page"]) == [{"page_id": 1, "original_id": 2}, {"page_id": 3, "original_id": 2}]


def test_a_retired_page_is_pruned_without_being_counted_twice(keep, read, fruitless, engine, rows):
    keep(read(URL, "one"), read(OTHER, "two"))
    keep(fruitless(Outcome.NOT_FOUND, status=410))
    prune_pages(engine, PruneSelection.of(url=URL))
    assert rows("SELECT pages FROM site") == [{"pages": 1}]
    assert rows("SELECT url FROM page") == [{"url": OTHER}]


def test_not_modified_does_not_bring_a_retired_page_back(keep, read, fruitless, stored):
    keep(read(URL, "one"))
    keep(fruitless(Outcome.NOT_FOUND, status=410))
    assert states(keep(fruitless(Outcome.NOT_MODIFIED, day=2))) == [PageState.DEFERRED]
    assert stored().retired_at is not None


@pytest.mark.parametrize("outcome", [Outcome.HTTP_ERROR, Outcome.ROBOTS, Outcome.NOT_HTML, Outcome.SECTION])
def test_a_visit_that_tells_nothing_puts_the_next_one_off(keep, read, fruitless, stored, outcome):
    keep(read(URL, "one"))
    before = stored()
    assert states(keep(fruitless(outcome))) == [PageState.DEFERRED]
    after = stored()
    assert after.next_visit > before.next_visit
    assert (after.visits, after.misses, after.last_seen) == (1, 0, before.last_seen)


def test_a_request_that_is_made_again_says_nothing_yet(keep, read, fruitless, stored):
    keep(read(URL, "one"))
    before = stored()
    assert states(keep(fruitless(Outcome.CALLBACK_FAILED))) == [PageState.NONE]
    assert stored() == before


def test_another_address_of_the_page_is_not_the_page(keep, read, fruitless, stored):
    keep(read(f"{URL}?from=feed", "one", canonical=URL))
    assert states(keep(fruitless(Outcome.NOT_FOUND, URL, status=410))) == [PageState.NONE]
    again = fruitless(Outcome.NOT_FOUND, f"{URL}?from=feed", mark=URL)
    assert states(keep(again)) == [PageState.MISSED]
    assert stored(f"{URL}?from=feed").misses == 1


def test_a_page_whose_address_leads_elsewhere_is_missed(engine, keep, read, stored, now):
    keep(read(URL, "one"))
    store = Store(engine)
    moved = [PageAbsence(URL, URL, now), PageAbsence(OTHER, OTHER, now)]
    assert states(store.record_absences(moved)) == [PageState.MISSED, PageState.NONE]
    assert stored().misses == 1


def test_a_revisit_that_finds_another_canonical_address_keeps_the_history(keep, read, rows):
    keep(read(URL, "one"))
    keep(read(URL, "one", mark=URL, canonical="https://a.example/moved", day=1))
    page_rows = rows("SELECT url_key, misses, visits FROM page ORDER BY id")
    assert page_rows == [{"url_key": "https://a.example/moved", "misses": 0, "visits": 2}]


def test_a_revisit_that_finds_a_page_at_another_address_misses_its_own(keep, read, rows):
    keep(read(URL, "one"))
    keep(replace(read(OTHER, "two", day=1), request=request_for(URL, URL)))
    page_rows = rows("SELECT url_key, misses FROM page ORDER BY id")
    assert page_rows == [{"url_key": URL, "misses": 1}, {"url_key": OTHER, "misses": 0}]


def test_a_visit_without_a_frontier_leaves_the_way_as_it_is(engine, keep, read, visit, stored):
    keep(read(URL, "one"))
    store = Store(engine)
    store.save(store.begin_crawl("two", {}), [visit(URL, "other", day=1)])
    assert (stored().spider, stored().visits) == ("one", 2)
    assert stored().next_visit > stored().last_seen
