"""What sitemaps say of pages, and whether it was right, on both kinds of database."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import select

from crawler.schedule import RevisitBounds
from crawler.storage import due
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.pages import SitemapEvidence, _read_lastmod, record_lastmods, record_sitemap_evidence
from crawler.storage.store import Store
from crawler.storage.tables import page, sitemap_trust
from crawler.visit import Outcome, RequestRecord, Visit

HOST = "a.example"
SEEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER, SOONER = "2026-03-05", "2026-02-01"


def record(number, lastmod=None):
    url = f"https://{HOST}/{number}"
    return RequestRecord(url, url, HOST, callback="parse_article", meta={} if lastmod is None else {"lastmod": lastmod})


@pytest.fixture
def keep(engine, visit):
    """Visit pages that read so, by their numbers; None for one that answers that it was not modified."""
    store = Store(engine)
    crawl_id = store.join_crawl("one", {}, CrawlPolicy()).crawl_id

    def save(texts, visit_time=SEEN):
        visits = []
        for number, text in texts.items():
            request = record(number, LATER)
            unread = Visit(request.url, visit_time, Outcome.NOT_MODIFIED, 304, request=request)
            visits.append(unread if text is None else replace(visit(request.url, text), at=visit_time, request=request))
        store.save(crawl_id, visits)

    yield save
    if store._crawl_lock is not None:
        store._crawl_lock.close()


@pytest.fixture
def tell(engine):
    """Let a sitemap say when pages changed, by their numbers."""

    def say(lastmods):
        with engine.begin() as connection:
            record_lastmods(connection, [record(number, lastmod) for number, lastmod in lastmods.items()], SEEN)

    return say


@pytest.fixture
def trust(engine):
    """Return how often the host's sitemap was right and wrong."""

    def read_trust():
        with engine.connect() as connection:
            return [(row.right, row.wrong) for row in connection.execute(select(sitemap_trust))]

    return read_trust


@pytest.fixture
def believed(engine):
    with engine.begin() as connection:
        record_sitemap_evidence(connection, [SitemapEvidence(HOST, claimed=True, changed=True)] * 5)


def due_now(engine):
    with engine.connect() as connection:
        return {
            (revisit.url.rpartition("/")[2], revisit.announced)
            for revisit in due.due_revisits(connection, SEEN, RevisitBounds())
        }


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01", date(2026, 3, 1)),
        (" 2026-03-01T12:00:00Z\n", SEEN),
        ("2026-03-01T13:00:00+01:00", SEEN),
        ("2026-03", None),
        ("yesterday", None),
        ("", None),
        ("9" * 100_000, None),
        (20260301, None),
        (None, None),
    ],
)
def test_dates_and_times_are_read(text, moment):
    assert _read_lastmod(text) == moment


def test_what_a_visit_shows_is_remembered(keep, tell, trust):
    keep(dict.fromkeys(range(5), "as it was"))
    tell({0: LATER, 1: LATER, 2: SOONER, 3: SOONER})
    keep({0: "changed", 1: "as it was", 2: "changed", 3: "as it was", 4: "changed"}, SEEN + timedelta(days=9))
    # "Unchanged" about an unchanged page proves nothing; of page 4 nothing was said.
    assert trust() == [(1, 2)]


def test_an_answer_of_not_modified_proves_a_sitemap_wrong(keep, tell, trust):
    keep({1: "as it was"})
    tell({1: LATER})
    keep({1: None}, SEEN + timedelta(days=9))
    assert trust() == [(0, 1)]


def test_what_was_said_before_the_last_visit_proves_nothing(keep, tell, trust):
    keep({1: "as it was"})
    tell({1: LATER})
    for days, text in ((9, "changed"), (10, "changed again")):
        keep({1: text}, SEEN + timedelta(days=days))
    assert trust() == [(1, 0)]


def test_nobody_is_believed_who_was_not_right_before(keep, tell, engine):
    keep({1: "as it was"})
    tell({1: LATER})
    assert due_now(engine) == set()


@pytest.mark.usefixtures("believed")
def test_a_page_is_due_at_once_where_one_is_believed(keep, tell, engine):
    keep({1: "as it was", 2: "as it was", 3: "as it was"})
    tell({1: LATER, 2: SOONER, 3: "some day"})
    assert due_now(engine) == {("1", True)}


@pytest.mark.usefixtures("believed")
def test_a_page_that_was_visited_since_is_not_due(keep, tell, engine):
    keep({1: "as it was"})
    tell({1: LATER})
    keep({1: "changed"}, SEEN + timedelta(days=9))
    assert due_now(engine) == set()


def test_pages_that_are_not_stored_are_passed_over(tell, trust, engine):
    tell({1: LATER})
    assert trust() == []
    with engine.connect() as connection:
        assert connection.execute(select(page.c.id)).all() == []
