"""Requests on their way through the frontier: stored once, acknowledged under their lease, lost, given back."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import select

from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.requests import (
    _ERROR_LENGTH_MAX,
    Ack,
    RequestState,
    acknowledge_requests,
    add_requests,
    database_now,
    end_lost_leases,
    lease_requests,
    release_leases,
    renew_lease,
)
from crawler.storage.tables import request
from crawler.visit import LeaseToken, RequestRecord

FULL = RequestRecord(
    key="full",
    url="https://a.example/1?q=%C3%A9",
    host="a.example",
    method="POST",
    headers={"Accept": ["text/html", "*/*"], "X-Odd": ["\x00\xe9"]},
    body=b"\x00\xff",
    callback="parse_article",
    errback="give_up",
    cb_kwargs={"depth": 2, "name": "漢\x00"},
    meta={"cookiejar": None},
    priority=-3,
)


def test_what_is_wanted_comes_back_as_it_was(store_requests, take, now):
    store_requests(FULL)
    (leased,) = take()
    assert leased.record == FULL
    assert (leased.attempts, leased.start_at) == (0, now)


def test_the_same_key_is_stored_once_a_crawl(engine, crawl_id, other_crawl_id, record, now, rows):
    with write_transaction(engine) as connection:
        assert add_requests(connection, crawl_id, [record("b"), record("a"), record("b")], now) == 2
        assert add_requests(connection, crawl_id, [record("a"), record("c")], now) == 1
        assert add_requests(connection, other_crawl_id, [record("a")], now) == 1
        assert add_requests(connection, crawl_id, [], now) == 0
    assert [row["key"] for row in rows("SELECT key FROM request ORDER BY id")] == ["a", "b", "c", "a"]


def test_a_key_that_has_ended_is_not_stored_again(store_requests, take, record, end):
    assert store_requests(record("a")) == 1
    end(take(), RequestState.DONE)
    assert store_requests(record("a")) == 0


@pytest.mark.postgresql
def test_the_same_keys_from_two_writers_in_opposite_orders_are_stored_once(url, engine, crawl_id, record, now, rows):
    """Each would wait for the other if it inserted them in the order given."""
    forth = [record(f"{number:05}") for number in range(1500)]
    added, ready = [], Barrier(2)

    def store(ones):
        with opened_engine(url) as own:
            ready.wait()
            with write_transaction(own) as connection:
                added.append(add_requests(connection, crawl_id, ones, now))

    threads = [Thread(target=store, args=(ones,)) for ones in (forth, forth[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(added) == 1500
    assert len(added) == 2
    assert rows("SELECT count(*) AS n FROM request") == [{"n": 1500}]


def test_an_acknowledged_request_has_ended(store_requests, take, record, end, rows):
    store_requests(record("a"), record("b"))
    first, second = take()
    assert end([first], RequestState.DONE) == {first.lease_token.request_id}
    end([second], RequestState.FAILED, outcome="http_error", error=f"\x00{'x' * 600}")
    fields = "SELECT state, attempts, lease_id, lease_until, outcome, error, ended IS NOT NULL AS over FROM request"
    done, failed = rows(f"{fields} ORDER BY id")
    common = {"attempts": 0, "lease_id": None, "lease_until": None, "over": 1}
    assert done == common | {"state": "done", "outcome": "page", "error": None}
    assert failed == common | {"state": "failed", "outcome": "http_error", "error": "x" * _ERROR_LENGTH_MAX}
    assert take() == []


def test_a_ticket_is_good_for_one_end(store_requests, take, record, end, rows):
    store_requests(record("a"))
    leased = take()
    end(leased, RequestState.DONE)
    assert end(leased, RequestState.FAILED) == set()
    assert rows("SELECT state FROM request") == [{"state": "done"}]


def test_a_lost_lease_is_not_acknowledged_and_the_others_of_the_batch_are(store_requests, take, record, end, now, rows):
    store_requests(record("a"))
    (lost,) = take("one", seconds=10)
    store_requests(record("b"))
    held = take("one", limit=1)
    (again,) = take("two", now=now + timedelta(seconds=11))
    assert again.lease_token.request_id == lost.lease_token.request_id
    assert end([lost, *held], RequestState.DONE) == {held[0].lease_token.request_id}
    assert end([again], RequestState.DONE) == {again.lease_token.request_id}


def test_nothing_acknowledged_is_nothing(engine, now):
    with write_transaction(engine) as connection:
        assert acknowledge_requests(connection, [], now) == set()
        assert acknowledge_requests(connection, [Ack(LeaseToken(1, "none"), RequestState.DONE, "page")], now) == set()


def test_a_request_to_try_again_waits_and_counts_the_attempt(store_requests, take, record, end, now):
    store_requests(record("a"))
    later = now + timedelta(seconds=5)
    end(take(), RequestState.QUEUED, outcome="download_failed", not_before=later)
    assert take(now=now + timedelta(seconds=4)) == []
    (leased,) = take(now=later)
    assert leased.attempts == 1


def test_leased_is_no_end():
    with pytest.raises(ValueError, match="request 7 cannot end as leased"):
        Ack(LeaseToken(7, "one"), RequestState.LEASED, "page")


def test_what_is_given_back_was_never_leased(engine, store_requests, take, record, rows):
    store_requests(record("a"), record("b"))
    leased = take("one")
    with write_transaction(engine) as connection:
        release_leases(connection, [leased_request.lease_token for leased_request in leased])
        release_leases(connection, [])
    assert rows("SELECT DISTINCT state, attempts, lease_id FROM request") == [
        {"state": "queued", "attempts": 0, "lease_id": None}
    ]
    again = take("two")
    with write_transaction(engine) as connection:
        release_leases(connection, [leased_request.lease_token for leased_request in leased])
    assert rows("SELECT DISTINCT state, lease_id FROM request") == [{"state": "leased", "lease_id": "two"}]
    assert {leased_request.record.key for leased_request in again} == {"a", "b"}


def test_a_renewed_lease_lasts(engine, crawl_id, store_requests, take, record, now):
    store_requests(record("a"), record("b"))
    take("one", seconds=10)
    with write_transaction(engine) as connection:
        assert renew_lease(connection, crawl_id, "one", now + timedelta(seconds=20)) == 2
        assert renew_lease(connection, crawl_id, "other", now) == 0
        assert renew_lease(connection, crawl_id + 1, "one", now) == 0
    assert take("two", now=now + timedelta(seconds=19)) == []
    assert len(take("two", now=now + timedelta(seconds=21))) == 2


@pytest.mark.postgresql
def test_renewing_waits_for_nobody_who_acknowledges(engine, crawl_id, store_requests, take, record, now):
    """The other way round they would wait for each other."""
    store_requests(record("a"), record("b"))
    first, _ = take("one")
    with write_transaction(engine) as acknowledging:
        acknowledge_requests(acknowledging, [Ack(first.lease_token, RequestState.DONE, "page")], now)
        with write_transaction(engine) as connection:
            assert renew_lease(connection, crawl_id, "one", now + timedelta(seconds=20)) == 1


def test_a_crawl_that_opens_takes_all_leases_back(engine, crawl_id, store_requests, take, record, now):
    store_requests(record("a"), record("b"))
    take("dead")
    with write_transaction(engine) as connection:
        end_lost_leases(connection, crawl_id, now, 1)
    assert [leased_request.attempts for leased_request in take("one")] == [0, 0]


def test_an_id_is_never_given_out_again(engine, crawl_id, store_requests, record, now):
    """An old lease_token would be good for somebody else's request."""
    store_requests(record("a"), record("b"))
    with write_transaction(engine) as connection:
        connection.execute(request.delete())
        add_requests(connection, crawl_id, [record("c")], now)
        assert connection.scalars(select(request.c.id)).all() == [3]


def test_workers_agree_on_the_time(engine):
    with write_transaction(engine) as connection:
        first = database_now(connection)
        second = database_now(connection)
    assert first <= second
    assert first.utcoffset() == timedelta(0)


@pytest.mark.postgresql
def test_the_time_goes_on_in_a_transaction(engine, crawl_id, terms):
    with write_transaction(engine) as connection:
        lease_requests(connection, crawl_id, terms())
        assert database_now(connection) < database_now(connection)
