"""What leads to pages, on both kinds of database."""

from datetime import timedelta

import pytest

from crawler.schedule import RevisitBounds
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.sections import links_hash
from crawler.storage.store import Store
from crawler.visit import Outcome, RequestRecord, Visit

URL = "https://a.example/news/"
WANTED = RequestRecord(
    "start", URL, "a.example", callback="parse_listing", cb_kwargs={"number": 1}, meta={"judge": False}
)


@pytest.fixture
def keep(engine):
    """Save visits of a crawl of the spider `one`."""
    store = Store(engine)
    crawl_id = store.join_crawl("one", {"a": "1"}, CrawlPolicy()).crawl_id
    yield lambda *visits: store.save(crawl_id, visits)
    if store._crawl_lock is not None:
        store._crawl_lock.close()


@pytest.fixture
def listing(now, record):
    """A visit of the section that leads to requests with these keys."""

    def make(*keys, day=0, request=WANTED, outcome=Outcome.SECTION, **values):
        children = tuple(record(key) for key in keys)
        return Visit(request.url, now + timedelta(days=day), outcome, request=request, requests=children, **values)

    return make


@pytest.fixture
def section(rows):
    def find():
        (row,) = rows("SELECT * FROM section")
        return row

    return find


def test_what_yields_requests_is_stored_with_the_way_to_visit_it_again(keep, listing, section):
    keep(listing("a", "b"))
    row = section()
    assert (row["url"], row["url_key"], row["site"], row["spider"]) == (URL, URL, "a.example", "one")
    assert (row["callback"], row["visits"], row["changes"], row["misses"]) == ("parse_listing", 1, 0, 0)
    assert str(row["next_visit"]) > str(row["first_seen"]) == str(row["last_changed"])


def test_what_yields_nothing_is_no_section(keep, listing, rows):
    keep(listing())
    assert rows("SELECT * FROM section") == []


def test_what_was_posted_for_is_no_section(keep, listing, rows):
    keep(listing("a", request=RequestRecord("key", URL, "a.example", method="POST")))
    assert rows("SELECT * FROM section") == []


def test_other_links_are_a_change_and_another_order_is_none(keep, listing, section):
    keep(listing("a", "b"))
    keep(listing("b", "a", "b", day=1))
    assert (section()["visits"], section()["changes"]) == (2, 0)
    keep(listing("a", "c", day=2))
    row = section()
    assert (row["visits"], row["changes"]) == (3, 1)
    assert row["last_changed"] == row["last_seen"] > row["first_seen"]


def test_a_section_that_is_empty_now_has_changed(keep, listing, section):
    keep(listing("a"))
    keep(listing(day=1))
    assert (section()["visits"], section()["changes"]) == (2, 1)


def test_what_sets_equal_requests_apart_is_not_hashed(record):
    assert links_hash([record("a+1"), record("b")]) == links_hash([record("b"), record("a+2")])
    assert links_hash([record("a")]) != links_hash([])


def test_a_section_is_retired_after_so_many_misses_and_returns(keep, listing, section):
    keep(listing("a"))
    for day in range(1, RevisitBounds().most_misses + 1):
        assert section()["retired_at"] is None
        keep(listing(day=day, outcome=Outcome.NOT_FOUND))
    assert (section()["misses"], section()["retired_at"] is None) == (RevisitBounds().most_misses, False)
    keep(listing("a", day=9))
    assert (section()["misses"], section()["retired_at"], section()["visits"]) == (0, None, 2)


def test_a_section_gone_for_good_is_retired_at_once(keep, listing, section):
    keep(listing("a"))
    keep(listing(day=1, outcome=Outcome.NOT_FOUND, status=410))
    assert section()["retired_at"] is not None


def test_a_visit_that_tells_nothing_puts_the_next_one_off(keep, listing, section):
    keep(listing("a"))
    before = section()
    keep(listing(day=1, outcome=Outcome.HTTP_ERROR))
    after = section()
    assert after.pop("next_visit") > before.pop("next_visit")
    assert after == before
