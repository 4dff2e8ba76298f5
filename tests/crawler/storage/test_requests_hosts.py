"""What is known of hosts: delays, pauses that double, and their end."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import insert

from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.requests import pause_host as pause_host_
from crawler.storage.requests import reset_refusals, set_host_delays
from crawler.storage.tables import host


@pytest.fixture
def refuse(engine, now):
    """Pause a host at a moment, in seconds from the first, and return for how many seconds it is paused from then."""

    def pause_host(seconds, reason="forbidden", most=100):
        moment = now + timedelta(seconds=seconds)
        with write_transaction(engine) as connection:
            until = pause_host_(connection, "a.example", moment, reason, first_seconds=15, max_seconds=most)
        return (until - moment).total_seconds()

    return pause_host


def test_each_refusal_in_a_row_doubles_the_pause_up_to_the_longest(refuse, rows):
    assert [refuse(seconds) for seconds in (0, 15, 50, 200, 400)] == [15, 30, 60, 100, 100]
    assert rows("SELECT host, delay, refusals, reason FROM host") == [
        {"host": "a.example", "delay": 0, "refusals": 5, "reason": "forbidden"}
    ]


def test_what_was_sent_before_the_pause_does_not_prolong_it(refuse, rows):
    assert refuse(0) == 15
    assert [refuse(seconds, "quota") for seconds in (1, 14)] == [14, 1]
    assert rows("SELECT refusals, reason FROM host") == [{"refusals": 1, "reason": "forbidden"}]


def test_a_page_ends_the_row(engine, refuse, rows):
    refuse(0)
    refuse(20)
    with write_transaction(engine) as connection:
        reset_refusals(connection, ["a.example", "unknown.example"])
        reset_refusals(connection, [])
    assert refuse(100) == 15
    assert rows("SELECT host FROM host") == [{"host": "a.example"}]


def test_a_pause_from_a_clock_that_was_set_back_is_over(refuse):
    assert refuse(1e8) == 15
    assert refuse(0) == 30


def test_the_millionth_refusal_is_no_overflow(engine, refuse, now):
    refuse(0)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE host SET refusals = 1000000, paused_until = NULL")
    assert refuse(20) == 100


def test_delays_are_set_and_set_again(engine, rows):
    with write_transaction(engine) as connection:
        set_host_delays(connection, {"b": 1.5, "a": 0.25})
        set_host_delays(connection, {"b": 2, "c": 0})
        set_host_delays(connection, {})
    assert rows("SELECT host, delay FROM host ORDER BY host") == [
        {"host": "a", "delay": 0.25},
        {"host": "b", "delay": 2},
        {"host": "c", "delay": 0},
    ]


@pytest.mark.postgresql
def test_workers_that_name_the_same_hosts_in_any_order_do_not_wait_for_each_other(url, engine, now):
    names = [f"h{number:03}" for number in range(300)]
    with engine.begin() as connection:
        connection.execute(insert(host), [{"host": name, "delay": 0.0, "refusals": 1} for name in names])
    ready = Barrier(4)

    def work(order):
        with opened_engine(url) as own:
            for turn in range(5):
                ready.wait(300)
                with write_transaction(own) as connection:
                    reset_refusals(connection, order)
                    set_host_delays(connection, dict.fromkeys(order, turn))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (names, names[::-1], names[150:] + names[:150], names[1:])))
