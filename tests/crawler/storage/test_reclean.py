"""The last visits of stored pages done again, on both kinds of database."""

from dataclasses import replace

import pytest

from crawler.storage import reclean
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.reclean import RecleanedPage, RecleanJob
from crawler.storage.store import PageState

A, B = "https://a.example/1", "https://b.example/1"
JOB = RecleanJob("all")
LIVE = (
    "SELECT page_id, position, text, first_seen, last_seen FROM block WHERE gone_at IS NULL ORDER BY page_id, position"
)
PAGES = "SELECT url, visits, changes, first_seen, last_seen, last_changed, next_visit FROM page ORDER BY id"
LOG = "SELECT * FROM change_log ORDER BY page_id"


@pytest.fixture
def ask(engine):
    """Ask for the pages of a job after one."""

    def read(job=JOB, after_page=0, most=10):
        with read_transaction(engine) as connection:
            return reclean.read_pages_after(connection, job, after_page, most, html=False)

    return read


@pytest.fixture
def again(ask, visit):
    """A page cleaned again with these blocks."""

    def make(url, *blocks, method="pab", **values):
        page = next(stored_page for stored_page in ask() if stored_page.url == url)
        return RecleanedPage(replace(page, **values), method, 7, visit(url, *blocks).page.blocks, None)

    return make


def nothing(_connection):
    """Note nothing."""


def test_what_is_stored_again_carries_the_moment_of_the_last_visit(store, save, visit, again, rows):
    save(visit(A, "one", "two"), visit(B, "three"))
    save(visit(A, "one", "two", day=3))
    before = rows(PAGES)
    (saved,) = store.save_recleaned([again(A, "two", "new")], nothing)
    assert (saved.state, saved.stored, saved.refreshed, saved.gone) == (PageState.CHANGED, 1, 1, 1)
    assert rows(PAGES) == before
    seen = {row["text"]: (row["first_seen"], row["last_seen"]) for row in rows(LIVE)}
    visited = before[0]["last_seen"]
    assert seen["new"] == (visited, visited)
    assert seen["two"] == (before[0]["first_seen"], visited)
    assert rows("SELECT method, options_hash FROM page ORDER BY id")[0] == {"method": "pab", "options_hash": 7}
    assert rows("SELECT gone_at FROM block WHERE text = 'one'") == [{"gone_at": visited}]


def test_a_dry_run_says_what_would_become_and_stores_nothing(store, save, visit, again, rows):
    save(visit(A, "one"), visit(B, "three"))
    before = rows(LIVE), rows(PAGES), rows("SELECT * FROM database_id"), rows(LOG)
    saved = store.save_recleaned([again(A, "three, not one"), again(B, "three")], None)
    assert [(result.state, result.stored, result.gone) for result in saved] == [
        (PageState.CHANGED, 1, 1),
        (PageState.UNCHANGED, 0, 0),
    ]
    assert (rows(LIVE), rows(PAGES), rows("SELECT * FROM database_id"), rows(LOG)) == before


def test_a_page_that_a_crawl_stored_meanwhile_stays_as_the_crawl_has_it(store, save, visit, again, rows):
    save(visit(A, "one"))
    late = again(A, "new")
    save(visit(A, "one", "two", day=1))
    before = rows(LIVE)
    (saved,) = store.save_recleaned([late], nothing)
    assert saved.state is PageState.DEFERRED
    assert rows(LIVE) == before


def test_what_one_page_loses_another_keeps(store, save, visit, again, page_texts):
    save(visit(A, "the same words on both"), visit(B, "the same words on both", "more"))
    store.save_recleaned([again(A, "other words"), again(B, "more")], nothing)
    assert page_texts(A) == ["other words"]
    assert page_texts(B) == ["more"]
    store.save_recleaned([again(A, "the same words on both"), again(B, "the same words on both", "more")], nothing)
    assert page_texts(A) == ["the same words on both"]
    assert page_texts(B) == ["the same words on both", "more"]


def test_pages_are_given_in_order_after_one_and_of_a_site(save, visit, ask):
    save(visit(A, "one"), visit(B, "two"))
    assert [page.url for page in ask()] == [A, B]
    assert [page.url for page in ask(after_page=ask()[0].page_id)] == [B]
    assert [page.url for page in ask(RecleanJob("b", "b.example"))] == [B]
    assert [page.url for page in ask(most=1)] == [A]


def test_how_far_a_job_is_stands_in_the_transaction_of_its_pages(engine, store, save, visit, again, now):
    save(visit(A, "one"))
    with write_transaction(engine) as connection:
        reclean.begin_reclean(connection, JOB, now)
    store.save_recleaned([again(A, "two")], lambda connection: reclean.advance_reclean(connection, JOB, 5, 3))
    with write_transaction(engine) as connection:
        assert reclean.read_reclean_progress(connection, JOB) == reclean.RecleanProgress(5, 3, now)
        assert reclean.read_reclean_progress(connection, RecleanJob("other")) is None
        reclean.end_reclean(connection, JOB)
        assert reclean.read_reclean_progress(connection, JOB) is None
