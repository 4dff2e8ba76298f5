"""Who gets which request, and when it may be sent: turns, priorities, delays, pauses, expired leases, bad clocks."""

from datetime import timedelta
from itertools import pairwise
from threading import Barrier, Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, text

from crawler.storage.database import opened_engine, read_transaction, write_transaction
from crawler.storage.requests import (
    HostAvailability,
    QueueStatus,
    RequestState,
    add_requests,
    lease_requests,
    mark_sent,
    pause_host,
    queue_status,
    release_leases,
    set_host_delays,
)
from crawler.storage.tables import host


def keys(leased):
    return [leased_request.record.key for leased_request in leased]


def seconds(leased, now):
    return [(leased_request.start_at - now).total_seconds() for leased_request in leased]


@pytest.fixture
def set_host(engine):
    """Store the row of a host."""

    def store(name, **values):
        with engine.begin() as connection:
            connection.execute(insert(host), {"host": name, "delay": 0.0, "refusals": 0} | values)

    return store


@pytest.fixture
def look(engine, crawl_id, now):
    """Ask what there is to come for a worker."""

    def ask(lease_id="one", time=now):
        with read_transaction(engine) as connection:
            return queue_status(connection, crawl_id, time, lease_id)

    return ask


def test_the_greatest_priority_is_first_then_the_oldest(store_requests, take, record):
    store_requests(record("a"), record("b", priority=-1), record("c", priority=2), record("d"), record("e", priority=2))
    assert keys(take(limit=3)) == ["c", "e", "a"]
    assert keys(take()) == ["d", "b"]


def test_hosts_of_one_priority_take_turns(store_requests, take, record):
    store_requests(*(record(f"{name}{number}", host=name) for name in "abc" for number in range(3)))
    assert keys(take(limit=4)) == ["a0", "b0", "c0", "a1"]
    assert keys(take(limit=3, after_host="a")) == ["b1", "c1", "a2"]


def test_a_greater_priority_goes_before_turns(store_requests, take, record):
    store_requests(
        *(record(f"a{number}", host="a") for number in range(3)),
        *(record(f"z{number}", host="z", priority=1) for number in range(3)),
    )
    assert keys(take(limit=4)) == ["z0", "z1", "z2", "a0"]


def test_every_one_of_thousands_of_hosts_has_its_turn(store_requests, take, record):
    names = [f"h{number:04}" for number in range(1000)]
    store_requests(*(record(f"{name}/{page}", host=name) for name in names for page in range(2)))
    served, after = [], ""
    while len(served) < len(names):
        leased = take(limit=50, after_host=after)
        after = leased[-1].record.host
        served += [leased_request.record.host for leased_request in leased]
    assert served == names


def test_hosts_that_cannot_be_asked_now_do_not_hide_the_one_that_can(engine, store_requests, take, record, now):
    names = [f"h{number:04}" for number in range(500)]
    store_requests(*(record(name, host=name) for name in names))
    values = {"delay": 0.0, "refusals": 1, "paused_until": now + timedelta(seconds=100)}
    with engine.begin() as connection:
        connection.execute(insert(host), [values | {"host": name} for name in names if name != "h0450"])
    assert keys(take(after_host="h0001")) == ["h0450"]


def test_a_request_without_a_host_is_leased_too(store_requests, take, record):
    store_requests(record("a", host=""), record("b", host="b"))
    assert keys(take()) == ["a", "b"]
    store_requests(record("c", host=""))
    assert keys(take(after_host="b")) == ["c"]


def test_other_crawls_are_others(engine, other_crawl_id, store_requests, record, terms):
    store_requests(record("a"))
    with write_transaction(engine) as connection:
        assert lease_requests(connection, other_crawl_id, terms()) == []


@pytest.mark.postgresql
def test_two_that_lease_at_once_get_different_requests(url, engine, crawl_id, store_requests, record, terms):
    store_requests(*(record(f"{number:03}", host=f"h{number % 3}") for number in range(200)))
    ready, got = Barrier(4), []

    def work(name):
        with opened_engine(url) as own:
            ready.wait()
            for _ in range(5):
                with write_transaction(own) as connection:
                    got.extend(lease_requests(connection, crawl_id, terms(name, limit=10)))

    threads = [Thread(target=work, args=(f"worker{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(keys(got)) == [f"{number:03}" for number in range(200)]


@pytest.mark.postgresql
def test_a_request_that_is_locked_is_left_alone(url, engine, store_requests, take, record):
    store_requests(record("a"), record("b"))
    with opened_engine(url) as other, write_transaction(other) as connection:
        connection.execute(text("DELETE FROM request WHERE key = 'a'"))
        assert keys(take()) == ["b"]


def test_the_requests_to_a_host_are_its_delay_apart(engine, store_requests, take, record, now):
    store_requests(*(record(f"a{number}", host="a") for number in range(9)), record("b", host="b"))
    with write_transaction(engine) as connection:
        set_host_delays(connection, {"a": 1.5})
    leased = take("one", horizon=4)
    assert keys(leased) == ["a0", "b", "a1", "a2"]
    assert seconds(leased, now) == [0, 0, 1.5, 3]
    assert take("two", horizon=0.4) == []
    assert seconds(take("two", horizon=6), now) == [4.5, 6]
    assert seconds(take("one", horizon=7, now=now + timedelta(seconds=1)), now) == [7.5]


def test_two_crawls_keep_a_host_s_delay_together(engine, crawl_id, other_crawl_id, record, terms, now):
    with write_transaction(engine) as connection:
        set_host_delays(connection, {"a.example": 2})
        for own_crawl_id in (crawl_id, other_crawl_id):
            add_requests(connection, own_crawl_id, [record("a"), record("b")], now)
    starts = []
    for own_crawl_id in (crawl_id, other_crawl_id, crawl_id, other_crawl_id):
        with write_transaction(engine) as connection:
            starts += seconds(lease_requests(connection, own_crawl_id, terms(limit=1, horizon=60)), now)
    assert starts == [0, 2, 4, 6]


def test_a_host_whose_turn_comes_within_the_horizon_is_asked_then(set_host, store_requests, take, record, now):
    set_host("a", delay=1.0, next_at=now + timedelta(seconds=3))
    store_requests(record("a", host="a"))
    assert take(horizon=2) == []
    assert seconds(take(horizon=3), now) == [3]


def test_a_paused_host_is_passed_over_until_its_pause_ends(engine, store_requests, take, record, now):
    store_requests(record("a", host="a"), record("b", host="b"))
    with write_transaction(engine) as connection:
        until = pause_host(connection, "a", now, "captcha", first_seconds=60, max_seconds=600)
    assert keys(take()) == ["b"]
    assert keys(take(now=until)) == ["a"]


def test_an_expired_lease_is_an_attempt_if_the_request_was_sent(engine, store_requests, take, record, now, rows):
    store_requests(record("sent"), record("waiting"))
    for number in range(5):
        leases = take(str(number), now=now + timedelta(seconds=11 * number), seconds=10)
        leased = {lease.record.key: lease for lease in leases}
        assert set(leased) == ({"sent", "waiting"} if number < 4 else {"waiting"})
        assert leased["waiting"].attempts == 0
        if number:
            assert leased["waiting"].was_lost
        if number and "sent" in leased:
            assert leased["sent"].attempts == number - 1
            with write_transaction(engine) as connection:
                mark_sent(connection, leased["sent"].lease_token)
    failed = {"attempts": 3, "outcome": "lease_expired", "lease_id": None, "over": 1}
    columns = "attempts, outcome, lease_id, ended IS NOT NULL AS over"
    assert rows(f"SELECT {columns} FROM request WHERE state = 'failed'") == [failed]


def test_a_request_that_was_sent_and_lost_comes_behind_the_others(engine, store_requests, take, record, now):
    store_requests(record("deadly"), record("b"))
    for number in range(2):
        deadly, _ = take(str(number), now=now + timedelta(seconds=11 * number), seconds=10)
        with write_transaction(engine) as connection:
            mark_sent(connection, deadly.lease_token)
    assert keys(take("last", now=now + timedelta(seconds=22))) == ["b", "deadly"]


def test_a_clock_that_was_set_back_stops_nobody(set_host, store_requests, take, record, now):
    years = timedelta(days=700)
    set_host("a", delay=1.0, next_at=now + years)
    set_host("b", paused_until=now + years)
    store_requests(record("a", host="a"), record("b", host="b"), record("c", host="c"))
    take("one", now=now + years, limit=1, after_host="b")
    leased = take("two")
    assert sorted(keys(leased)) == ["a", "b", "c"]
    assert seconds(leased, now) == [0, 0, 0]


def test_a_lease_from_a_clock_that_was_set_back_is_handed_on(store_requests, take, record, now):
    store_requests(record("a"))
    take("one", now=now + timedelta(days=700), seconds=10)
    assert keys(take("two", seconds=10)) == ["a"]


FAR = timedelta(seconds=601)
NEAR = timedelta(seconds=599)


@pytest.mark.parametrize(
    ("values", "opens"),
    [
        ({}, 0),
        ({"next_at": -NEAR, "paused_until": -NEAR}, 0),
        ({"next_at": NEAR}, 599),
        ({"next_at": FAR}, 0),
        ({"next_at": FAR, "delay": 61.0}, 601),
        ({"paused_until": 2 * NEAR, "next_at": NEAR}, 1198),
        ({"paused_until": timedelta(seconds=3601)}, 0),
        ({"waits_until": timedelta(days=9)}, 777_600),
    ],
)
@pytest.mark.sqlite
def test_when_a_host_may_be_asked(values, opens, now):
    moments = {name: now + value if isinstance(value, timedelta) else value for name, value in values.items()}
    assert HostAvailability("a", **moments).available_at(now, 3600) == now + timedelta(seconds=opens)


def test_where_nothing_is_left_there_is_no_outlook(look, store_requests, take, record, end):
    assert look() == QueueStatus(0, 0, None)
    store_requests(record("a"))
    end(take("one"), RequestState.DONE)
    assert look() == QueueStatus(0, 0, None)


def test_what_others_have_leased_may_come_back(look, store_requests, take, record, now):
    store_requests(record("a"), record("b"))
    take("one", seconds=10)
    assert look("one") == QueueStatus(0, 0, None)
    assert look("two") == QueueStatus(0, 2, now + timedelta(seconds=10))
    assert look("two", now + timedelta(seconds=11)) == QueueStatus(0, 2, now + timedelta(seconds=11))


def test_the_outlook_is_the_first_host_s_turn(look, set_host, store_requests, record, now):
    set_host("a", paused_until=now + timedelta(seconds=30))
    set_host("b", delay=1.0, next_at=now + timedelta(seconds=20))
    later = now + timedelta(seconds=25)
    store_requests(record("a", host="a"))
    assert look() == QueueStatus(1, 0, now + timedelta(seconds=30))
    store_requests(record("c", host="c", not_before=later), record("d", host="c", not_before=later, priority=1))
    assert look() == QueueStatus(1, 0, later)
    store_requests(record("b", host="b"))
    assert look() == QueueStatus(1, 0, now + timedelta(seconds=20))
    store_requests(record("e", host="c"))
    assert look() == QueueStatus(1, 0, now)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 30), st.integers(0, 3)),
        st.tuples(st.just("take"), st.integers(0, 2), st.integers(1, 5)),
        st.tuples(st.just("give"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 8), st.just(0)),
    ),
    max_size=25,
)


@settings(
    max_examples=min(25, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(actions=ACTIONS)
@pytest.mark.sqlite
def test_no_host_is_asked_sooner_than_its_delay_and_nothing_is_lost(engine, new_crawl, record, terms, now, actions):
    """Whoever leases, gives back or lets a lease expire."""
    crawl_id = new_crawl()
    moment = now
    sent = {}
    added_keys = set()
    held = {}
    with engine.begin() as connection:
        connection.execute(host.delete())
        set_host_delays(connection, {"h1": 2, "h2": 5})
    for verb, first, second in actions:
        with write_transaction(engine) as connection:
            if verb == "add":
                add_requests(connection, crawl_id, [record(f"{first}", host=f"h{second}")], moment)
                added_keys.add(f"{first}")
            elif verb == "take":
                leased = lease_requests(connection, crawl_id, terms(f"{first}", now=moment, limit=second, seconds=20))
                held.setdefault(first, []).extend(leased_request.lease_token for leased_request in leased)
                for leased_request in leased:
                    sent.setdefault(leased_request.record.host, []).append(leased_request.start_at)
            elif verb == "give":
                release_leases(connection, held.pop(first, []))
        moment += timedelta(seconds=first if verb == "wait" else 0)
    for name, delay in (("h1", 2), ("h2", 5)):
        times = sent.get(name, [])
        assert all(later - earlier >= timedelta(seconds=delay) for earlier, later in pairwise(times))
    end = moment + timedelta(days=1)
    with write_transaction(engine) as connection:
        last = lease_requests(connection, crawl_id, terms("last", now=end, limit=100, horizon=1000, max_attempts=99))
    assert set(keys(last)) == added_keys
