"""Figures for `scrapy status`."""

from collections import Counter

import pytest

from crawler.errors import QueryError
from crawler.storage import queries
from crawler.storage.database import read_transaction
from crawler.visit import Outcome

TOTALS = {
    "visit/page": 7,
    "visit/section": 2,
    "visit/not_modified": 1,
    "visit/captcha": 3,
    "visit/quota": 0,
    "visit/http_error": 1,
    "blocks/seen": 90,
    "blocks/kept": 50,
    "blocks/short": 10,
    "blocks/links": 30,
    "dedup/exact": 4,
    "seconds": 1.5,
}


def test_rows_are_counted(engine, save, visit):
    save(visit("https://a.example/1", "one"), visit("https://a.example/2", "one"), visit("https://b.example/", "two"))
    save(visit("https://b.example/", day=1))
    with read_transaction(engine) as connection:
        assert queries.database_totals(connection) == queries.DatabaseTotals(
            pages=3, near_duplicate_pages=0, blocks=2, gone_blocks=1, sightings=1, boilerplate=0, sites=2, crawls=1
        )
        counts = [
            (totals.site, totals.pages, totals.blocks, totals.sightings) for totals in queries.site_totals(connection)
        ]
    assert counts == [("a.example", 2, 1, 1), ("b.example", 1, 1, 0)]


def test_a_crawl_s_counters_are_told_apart(store, engine):
    crawl = store.begin_crawl("ezine", {})
    store.end_crawl(crawl, "finished", TOTALS)
    with read_transaction(engine) as connection:
        (report,) = queries.last_crawls(connection)
    assert (report.pages, report.kept) == (7, 50)
    assert list(report.dropped.items()) == [("links", 30), ("short", 10)]
    assert report.refused == {"captcha": 3}
    assert report.failed == {"http_error": 1}
    assert report.duplicates == {"exact": 4}
    assert report.seconds >= 0


def test_each_visit_of_a_crawl_is_counted_once(store, engine):
    pages = {"store/pages_new": 2, "store/pages_changed": 1, "store/pages_unchanged": 3, "store/pages_retired": 1}
    visits = {"visit/page": 7, "visit/not_modified": 5, "visit/robots": 2, "visit/removed": 1, "visit/noindex": 4}
    texts = {"store/blocks_new": 9, "store/blocks_gone": 214}
    crawl = store.begin_crawl("ezine", {})
    store.end_crawl(crawl, "finished", pages | visits | texts)
    with read_transaction(engine) as connection:
        (report,) = queries.last_crawls(connection)
    pages = {"new": 2, "changed": 1, "unchanged": 8, "read": 1}
    assert report.outcomes == pages | {"not_found": 1, "left_alone": 4, "robots": 2}
    assert report.effects == {"pages_retired": 1, "texts_added": 9, "texts_removed": 214}
    assert report.failed == {}


def test_every_outcome_belongs_to_one_group():
    grouped = Counter(outcome for outcomes in queries.OUTCOME_GROUPS.values() for outcome in outcomes)
    assert grouped == Counter(set(Outcome) - {Outcome.PAGE, Outcome.NOT_MODIFIED})


def test_the_last_crawls_come_first_and_an_open_one_has_no_duration(store, engine):
    crawls = [store.begin_crawl("ezine", {}) for _ in range(3)]
    with read_transaction(engine) as connection:
        reports = queries.last_crawls(connection, limit=2)
    assert [report.id for report in reports] == [crawls[2], crawls[1]]
    assert reports[0].seconds is None


def test_an_unknown_site_gets_the_most_similar_one(engine, save, visit):
    save(visit("https://harbour.example/1", "one bridge"))
    with read_transaction(engine) as connection:
        queries.expect_site(connection, "harbour.example")
        with pytest.raises(QueryError, match=r"the site harbor\.example .* is harbour\.example; "):
            queries.expect_site(connection, "harbor.example")
        with pytest.raises(QueryError, match=r"is in the database; `scrapy status` lists the sites"):
            queries.expect_site(connection, "zzz.test")
