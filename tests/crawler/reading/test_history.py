"""What is read of a page's past, on both kinds of database."""

from dataclasses import replace

import pytest
from cleaned_pages import address, html, visit
from scrapy import Request
from scrapy.utils.request import fingerprint
from sqlalchemy import event
from sqlalchemy import text as sql

from crawler.errors import QueryError
from crawler.reading.history import read_page_history
from crawler.storage import schema
from crawler.storage.database import open_engine, read_transaction
from crawler.storage.requests import add_requests
from crawler.storage.store import CrawlPolicy, Store
from crawler.visit import Outcome, RequestRecord, Visit

LATE, EARLY = "Ferry 1 is late", "Ferry 1 is early"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    engine = open_engine(url if request.param == "sqlite" else request.getfixturevalue("new_database")())
    schema.prepare_schema(engine)
    made = Store(engine)
    yield made
    made.close()


@pytest.fixture
def past(store):
    def read(url):
        with read_transaction(store.engine) as connection:
            return read_page_history(connection, url)

    return read


def save(store, *visits):
    crawl = store.begin_crawl("test", {})
    for one in visits:
        store.save(crawl, [one])


def test_visits_and_changes_of_a_page(store, past):
    changed = html(1).replace(LATE, EARLY)
    save(store, visit(0), visit(1), visit(1, day=1), visit(1, changed, day=3))
    found = past(address(1))
    assert (found.page.visits, found.page.changes, found.page.texts) == (3, 1, len(found.moments[0].added))
    first, second = found.moments
    assert (first.first, first.at, second.at) == (True, found.page.first_seen, found.page.last_changed)
    (edit,) = second.edited
    assert (edit.old.text, edit.new.text) == (LATE, EARLY)
    assert not second.added
    assert not second.gone


def test_a_duplicate_names_its_page_and_a_near_duplicate_page_its_original(store, past):
    save(store, visit(0), visit(1))
    texts = past(address(1)).moments[0].added
    assert {text.of for text in texts} == {None, address(0)}


def test_a_page_is_found_by_its_canonical_address_too(store, past):
    canonical = html(2).replace("<title>", '<link rel="canonical" href="https://lake.example.org/ferry"><title>')
    save(store, visit(2, canonical))
    for url in (address(2), "https://lake.example.org/ferry"):
        found = past(url)
        assert (found.asked, found.page.url, found.page.key) == (url, address(2), "https://lake.example.org/ferry")


def test_failed_requests_are_returned_without_a_page(store, past):
    url = "https://lake.example.org/lost"
    wanted = RequestRecord(fingerprint(Request(url)).hex(), url, "lake.example.org")
    joined = store.join_crawl("test", {}, CrawlPolicy())
    with store.engine.begin() as connection:
        add_requests(connection, joined.crawl_id, [wanted], visit(0).at)
        connection.execute(sql("UPDATE request SET state = 'done', outcome = 'not_found'"))
    found = past(url)
    assert found.page is None
    assert [(one.spider, one.outcome) for one in found.requests] == [("test", "not_found")]


def test_an_unknown_address_is_an_error_with_the_most_similar_one_of_its_host(store, past):
    save(store, visit(12), visit(50))
    with pytest.raises(QueryError, match=r"/13 is not in the database; the most similar address is .*/12$"):
        past(address(13))
    with pytest.raises(QueryError, match=r"nor is any page of other\.example"):
        past("https://other.example/13")


def test_a_section_is_an_error_that_says_so(store, past):
    store.join_crawl("test", {}, CrawlPolicy())
    url = "https://lake.example.org/news/"
    wanted = RequestRecord("key", url, "lake.example.org")
    child = replace(wanted, key="child")
    store.save(1, [Visit(url, visit(0).at, Outcome.SECTION, request=wanted, requests=(child,))])
    with pytest.raises(QueryError, match="is a section"):
        past(url)


def test_requests_are_found_by_index(store, past):
    save(store, visit(0))
    plans = []

    @event.listens_for(store.engine, "before_cursor_execute", retval=True)
    def explain(_connection, cursor, statement, parameters, _context, _many):
        if "FROM request" in statement and store.engine.dialect.name == "sqlite":
            plans.extend(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))
        return statement, parameters

    past(address(0))
    assert all("uq_request_crawl_id_key" in plan for plan in plans)
    assert plans or store.engine.dialect.name != "sqlite"
