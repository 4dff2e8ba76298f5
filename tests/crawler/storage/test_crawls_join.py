"""Generations: who joins an open crawl, and what begins a new one."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from crawler.storage.crawls import JoinedCrawl, mark_seeded
from crawler.storage.crawls import join_crawl as join_crawl_
from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.requests import add_requests


@pytest.fixture
def joining(engine):
    """Join a crawl."""

    def join_crawl(spider="ezine", fresh=False, **arguments):
        with write_transaction(engine) as connection:
            return join_crawl_(connection, spider, arguments, fresh=fresh)

    return join_crawl


def finish(engine, crawl_id):
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE crawl SET state = 'finished' WHERE id = {crawl_id}")


def test_an_open_crawl_of_the_same_spider_and_arguments_is_joined(joining):
    assert joining(pages="3") == JoinedCrawl(1, seeded=False, resumed=False)
    assert joining(pages="3") == JoinedCrawl(1, seeded=False, resumed=True)
    assert joining(pages="4") == JoinedCrawl(2, seeded=False, resumed=False)
    assert joining("other", pages="3") == JoinedCrawl(3, seeded=False, resumed=False)
    assert joining(pages="3", years=(1, 2)) == JoinedCrawl(4, seeded=False, resumed=False)
    assert joining(years=(1, 2), pages="3") == JoinedCrawl(4, seeded=False, resumed=True)


def test_secrets_are_not_stored_and_make_no_difference(joining, rows):
    assert joining(api_key="1234") == JoinedCrawl(1, seeded=False, resumed=False)
    assert joining(api_key="5678") == JoinedCrawl(1, seeded=False, resumed=True)
    assert "1234" not in str(rows("SELECT arguments FROM crawl"))


def test_a_crawl_is_seeded_once(engine, joining, now, rows):
    joining()
    for day in (0, 1):
        with write_transaction(engine) as connection:
            mark_seeded(connection, 1, now + timedelta(days=day))
    assert joining() == JoinedCrawl(1, seeded=True, resumed=True)
    assert str(rows("SELECT seeded FROM crawl")[0]["seeded"]).startswith("2024-05-01 12:00:00")


def test_after_a_finished_crawl_a_new_one_begins_without_its_requests(engine, joining, record, now, rows):
    for crawl in (joining(), joining(pages="3"), joining("other")):
        with write_transaction(engine) as connection:
            add_requests(connection, crawl.crawl_id, [record("a")], now)
    finish(engine, 1)
    assert joining() == JoinedCrawl(4, seeded=False, resumed=False)
    assert rows("SELECT crawl_id FROM request ORDER BY crawl_id") == [{"crawl_id": 2}, {"crawl_id": 3}]


def test_a_fresh_start_replaces_an_open_crawl(engine, joining, record, now, rows):
    joining()
    with write_transaction(engine) as connection:
        add_requests(connection, 1, [record("a")], now)
    assert joining(fresh=True) == JoinedCrawl(2, seeded=False, resumed=False)
    assert rows("SELECT id, state, reason, finished IS NULL AS running FROM crawl ORDER BY id") == [
        {"id": 1, "state": "finished", "reason": "replaced", "running": 0},
        {"id": 2, "state": "open", "reason": None, "running": 1},
    ]
    assert rows("SELECT id FROM request") == []


def test_workers_that_start_together_join_one_crawl(url, engine, rows):
    def start(_):
        with opened_engine(url) as own, write_transaction(own) as connection:
            return join_crawl_(connection, "ezine", {"pages": "3"}, fresh=False)

    with ThreadPoolExecutor(6) as pool:
        joined = list(pool.map(start, range(6)))
    assert {joined_crawl.crawl_id for joined_crawl in joined} == {1}
    assert sum(not joined_crawl.resumed for joined_crawl in joined) == 1
    assert rows("SELECT count(*) AS n FROM crawl") == [{"n": 1}]
