"""Visits end their requests in the transaction that stores them, or are not stored."""

from dataclasses import replace
from datetime import timedelta

import pytest

from crawler.storage import request_ends
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import write_transaction
from crawler.storage.store import PageState
from crawler.visit import Outcome, Visit

EVIDENCE = "2 of its last 2 answers, at 2 pages"
REFUSED = {Outcome.CAPTCHA, Outcome.QUOTA}
AGAIN = {Outcome.CALLBACK_FAILED, Outcome.REFUSED, Outcome.ROBOTS_UNAVAILABLE}
FAILED = {
    *REFUSED,
    Outcome.ADDRESS,
    Outcome.FORBIDDEN,
    Outcome.HTTP_ERROR,
    Outcome.DOWNLOAD_FAILED,
    Outcome.REDIRECT_LOOP,
    Outcome.CLEANING_FAILED,
    Outcome.CLEANING_TIMEOUT,
    Outcome.PIPELINE_FAILED,
    Outcome.WALL,
}


@pytest.fixture
def leased(store_requests, take, record):
    """Store a request and lease it."""

    def store_and_lease(key="page", **values):
        store_requests(record(key, **values))
        return take()[0]

    return store_and_lease


@pytest.fixture
def bare(now):
    """A visit without a page that ends a leased request."""

    def make(lease, outcome, **values):
        return Visit(lease.record.url, now, outcome, lease_token=lease.lease_token, attempts=lease.attempts, **values)

    return make


@pytest.fixture
def save_all(store, crawl_id):
    return lambda *visits: store.save(crawl_id, visits)


@pytest.fixture
def states(rows):
    return lambda: {
        row["key"]: (row["state"], row["outcome"], row["attempts"]) for row in rows("SELECT * FROM request")
    }


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_has_its_state(leased, bare, save_all, states, outcome):
    save_all(bare(leased(), outcome))
    queued, failed = ("queued", outcome, 1), ("failed", outcome, 0)
    assert states()["page"] == (queued if outcome in AGAIN else failed if outcome in FAILED else ("done", outcome, 0))


@pytest.mark.parametrize("outcome", sorted(AGAIN | REFUSED))
def test_what_is_begun_again_fails_after_the_last_attempt(leased, bare, save_all, states, engine, outcome):
    last = replace(leased(), attempts=CrawlPolicy().max_attempts - 1)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE request SET attempts = {last.attempts}")
    save_all(replace(bare(last, outcome), pause_evidence=EVIDENCE if outcome in REFUSED else None))
    assert states()["page"][:2] == ("failed", outcome)


def test_errors_are_kept_where_there_is_something_to_mend(leased, bare, save_all, rows):
    save_all(bare(leased("a"), Outcome.HTTP_ERROR, error="HTTP status 500"))
    save_all(bare(leased("b"), Outcome.NOT_FOUND, error="HTTP status 404"))
    errors = {row["key"]: row["error"] for row in rows("SELECT key, error FROM request")}
    assert errors == {"a": "HTTP status 500", "b": None}


def test_the_page_its_children_and_the_end_come_together(leased, visit, record, save_all, states, rows):
    lease = leased()
    page = replace(
        visit(lease.record.url, "A text."), lease_token=lease.lease_token, requests=(record("child"), record("page"))
    )
    assert [result.state for result in save_all(page)] == [PageState.NEW]
    assert states() == {"page": ("done", "page", 0), "child": ("queued", None, 0)}
    assert [row["url"] for row in rows("SELECT url FROM page")] == [lease.record.url]


@pytest.fixture
def later(now):
    """A moment at which the leases have expired."""
    return now + timedelta(seconds=90)


def test_a_visit_whose_lease_is_lost_harms_no_other(leased, take, visit, save_all, states, later):
    lost = leased("lost")
    held = leased("held")
    mine = {leased_request.record.key: leased_request.lease_token for leased_request in take("two", now=later)}
    visits = [
        replace(visit(lost.record.url, "A text."), lease_token=lost.lease_token),
        replace(visit(held.record.url, "Another."), lease_token=mine["held"]),
    ]
    assert [result.state for result in save_all(*visits)] == [PageState.LOST, PageState.NEW]
    assert states() == {"lost": ("leased", "lease_expired", 0), "held": ("done", "page", 0)}


def test_a_visit_whose_lease_is_lost_leaves_nothing(leased, take, visit, record, save_all, rows, later):  # noqa: PLR0913, PLR0917 — fixtures
    lost = leased("lost")
    take("two", now=later)
    save_all(replace(visit(lost.record.url, "A text."), lease_token=lost.lease_token, requests=(record("orphan"),)))
    assert (rows("SELECT * FROM page"), rows("SELECT * FROM block")) == ([], [])
    assert [row["key"] for row in rows("SELECT key FROM request")] == ["lost"]


def test_the_same_visit_twice_is_stored_once(leased, visit, save_all, rows):
    lease = leased()
    page = replace(visit(lease.record.url, "A text."), lease_token=lease.lease_token)
    assert [save_all(page)[0].state, save_all(page)[0].state] == [PageState.NEW, PageState.LOST]
    assert [row["visits"] for row in rows("SELECT visits FROM page")] == [1]


def test_only_the_last_part_ends_a_request(leased, visit, save_all, states):
    lease = leased()
    parts = [
        replace(visit(f"{lease.record.url}/{part}", f"Text {part}."), lease_token=lease.lease_token, part=part, parts=3)
        for part in (1, 2, 3)
    ]
    save_all(*parts[:2])
    assert states()["page"][0] == "leased"
    save_all(parts[2])
    assert states()["page"] == ("done", "page", 0)


def test_visits_without_a_request_end_none(visit, save_all, engine, states):
    assert [result.state for result in save_all(visit("https://a.example/x", "A text."))] == [PageState.NEW]
    with write_transaction(engine) as connection:
        assert request_ends.acknowledge_visits(connection, [visit("https://a.example/y")], CrawlPolicy()) == set()
    assert states() == {}


def test_a_refusal_pauses_its_host_and_a_page_ends_the_row_of_refusals(leased, bare, visit, save_all, rows):
    refused = leased("a")
    other = leased("b", host="b.example")
    quota = replace(bare(refused, Outcome.QUOTA), pause_evidence=EVIDENCE)
    save_all(quota, replace(visit(other.record.url, "A text."), lease_token=other.lease_token))
    (host,) = rows("SELECT * FROM host")
    assert (host["host"], host["reason"], host["refusals"]) == ("a.example", "quota", 1)
    page = leased("c")
    save_all(replace(visit(page.record.url, "A text."), lease_token=page.lease_token))
    assert [row["refusals"] for row in rows("SELECT refusals FROM host")] == [0]


def test_a_pause_queues_again_what_its_host_refused_before(leased, bare, save_all, states, rows):
    first = leased("first")
    other = leased("other", host="b.example")
    missing = leased("missing")
    save_all(
        bare(first, Outcome.CAPTCHA),
        bare(other, Outcome.CAPTCHA),
        bare(missing, Outcome.FORBIDDEN),
    )
    assert states()["first"] == ("failed", "captcha", 0)
    with_evidence = leased("second")
    save_all(replace(bare(with_evidence, Outcome.QUOTA), pause_evidence=EVIDENCE))
    assert states() == {
        "first": ("queued", "captcha", 1),
        "other": ("failed", "captcha", 0),
        "missing": ("failed", "forbidden", 0),
        "second": ("queued", "quota", 1),
    }
    assert [row["ended"] for row in rows("SELECT ended FROM request WHERE state = 'queued'")] == [None] * 2


def test_a_page_among_refusals_does_not_end_their_row(leased, bare, visit, save_all, rows):
    refused = leased("a")
    served = leased("b")
    captcha = replace(bare(refused, Outcome.CAPTCHA), pause_evidence=EVIDENCE)
    save_all(replace(visit(served.record.url, "A text."), lease_token=served.lease_token), captcha)
    assert [(row["reason"], row["refusals"]) for row in rows("SELECT reason, refusals FROM host")] == [("captcha", 1)]
