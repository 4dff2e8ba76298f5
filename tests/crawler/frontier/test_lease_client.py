"""The books of one process, kept with a real database."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from scrapy.utils.test import get_crawler
from sqlalchemy import update

from crawler.errors import StoreError
from crawler.frontier.lease_client import CrawlWorker, LeaseClient
from crawler.processing import StoreThread
from crawler.storage import schema
from crawler.storage.crawls import join_crawl
from crawler.storage.database import open_engine, write_transaction
from crawler.storage.requests import Ack, RequestState
from crawler.storage.store import Store
from crawler.storage.tables import request
from crawler.visit import RequestRecord


class Books:
    """A ledger, what arrived, and the delays that it is to tell."""

    def __init__(self, database, lease_id="one"):
        engine = open_engine(database.url)
        schema.prepare_schema(engine)
        with write_transaction(engine) as connection:
            crawl_id = join_crawl(connection, "test", {}, fresh=False).crawl_id
        self.writer = StoreThread(get_crawler(), Store(engine))
        self.arrived, self.delays = [], {}
        worker = CrawlWorker(crawl_id, lease_id, 60.0, 3, 3600.0)
        self.ledger = LeaseClient(
            self.writer,
            worker,
            lambda taken: self.arrived.extend(taken.leased),
            lambda: dict(self.delays),
            lambda _number: None,
        )

    async def exchange(self, room=10):
        self.ledger.stir(room)
        await self.ledger.wait()
        return [one.record.key for one in self.arrived]


@pytest.fixture
def books(database):
    made = []

    def make(*arguments):
        made.append(Books(database, *arguments))
        return made[-1]

    yield make
    for each in made:
        each.writer.close()


def wanted(key, host="a.example"):
    return RequestRecord(key, f"https://{host}/{key}", host)


def done(leased):
    return Ack(leased.lease_token, RequestState.DONE, "page")


def test_what_is_wanted_is_stored_and_leased_at_once(books):
    async def scenario():
        one = books()
        assert not one.ledger.is_settled
        for key in "abc":
            one.ledger.want(wanted(key))
        assert one.ledger.unsent == 3
        assert await one.exchange(room=2) == ["a", "b"]
        assert (one.ledger.unsent, len(one.ledger.held)) == (0, 2)

    asyncio.run(scenario())


def test_what_is_wanted_during_an_exchange_is_leased_soon_after(books):
    async def scenario():
        one = books()
        one.ledger.want(wanted("a"))
        one.ledger.stir(10)
        await asyncio.sleep(0)  # "a" is on its way
        one.ledger.want(wanted("b"))
        await one.ledger.wait()
        await one.exchange()
        assert await one.exchange() == ["a", "b"]

    asyncio.run(scenario())


def test_it_is_settled_once_everything_has_ended_and_nothing_is_left(books, database):
    async def scenario():
        one = books()
        one.ledger.want(wanted("a"))
        await one.exchange()
        assert not one.ledger.is_settled
        one.ledger.end(done(one.arrived[0]))
        assert not one.ledger.is_settled
        await one.exchange()
        assert one.ledger.is_settled
        assert (one.ledger.outlook.queued, one.ledger.outlook.leased) == (0, 0)

    asyncio.run(scenario())
    assert database.states() == {"done": 1}


def test_an_end_is_told_once(books, database):
    async def scenario():
        one = books()
        one.ledger.want(wanted("a"))
        await one.exchange()
        leased = one.arrived[0]
        one.ledger.end(done(leased))
        one.ledger.end(Ack(leased.lease_token, RequestState.FAILED, "unacknowledged"))
        await one.exchange()

    asyncio.run(scenario())
    assert database.states() == {"done": 1}


def test_what_is_given_back_is_for_others(books, database):
    async def scenario():
        one, other = books("one"), books("two")
        for key in "ab":
            one.ledger.want(wanted(key))
        assert await one.exchange() == ["a", "b"]
        assert await other.exchange() == []
        one.ledger.give_back(one.arrived[0].lease_token.request_id)
        await one.exchange(room=0)
        other.ledger._poll_at = 0.0
        assert await other.exchange() == ["a"]

    asyncio.run(scenario())
    assert database.rows("SELECT lease_id FROM request ORDER BY key") == [{"lease_id": "two"}, {"lease_id": "one"}]


def test_closing_gives_everything_back(books, database):
    async def scenario():
        one = books()
        for key in "abc":
            one.ledger.want(wanted(key))
        await one.exchange()
        one.ledger.end(done(one.arrived[0]))
        one.ledger.want(wanted("d"))
        await one.ledger.close()
        assert one.ledger.held == {}

    asyncio.run(scenario())
    assert database.states() == {"done": 1, "queued": 3}


def test_delays_are_told_where_they_have_changed(books, database):
    def stored():
        return {one["host"]: one["delay"] for one in database.rows("SELECT host, delay FROM host")}

    async def scenario():
        one = books()
        database.write("INSERT INTO host (host, delay, refusals) VALUES ('a.example', 5.0, 0), ('b.example', 5.0, 0)")
        one.delays = {"a.example": 0.0, "b.example": 2.0}
        one.ledger.want(wanted("a"))
        await one.exchange()
        assert stored() == {"a.example": 0.0, "b.example": 2.0}
        database.write("UPDATE host SET delay = 9.0 WHERE host = 'b.example'")  # by another process
        one.ledger.want(wanted("b"))
        await one.exchange()
        assert stored() == {"a.example": 0.0, "b.example": 9.0}

    asyncio.run(scenario())


def test_leases_are_renewed_before_they_expire(books, database):
    def until():
        return database.rows("SELECT lease_until FROM request")[0]["lease_until"]

    async def scenario():
        one = books()
        one.ledger.want(wanted("a"))
        await one.exchange()
        before = until()
        await one.exchange(room=0)
        assert until() == before
        one.ledger._renew_at = 0.0  # its time has come
        await one.exchange(room=0)
        assert until() > before

    asyncio.run(scenario())


def test_all_work_in_the_thread_that_fails_is_an_error_of_the_database(books, caplog):
    async def scenario():
        with pytest.raises(StoreError, match="the database was not written: ZeroDivisionError: "):
            await books().writer.run(lambda: 1 // 0)

    asyncio.run(scenario())
    assert "Storing failed" in caplog.text


def test_what_expires_between_two_looks_for_it_is_left_to_be_done(books, database):
    async def scenario():
        one, other = books("one"), books("two")
        one.ledger.want(wanted("a"))
        assert await one.exchange() == ["a"]
        assert await other.exchange() == []  # has just looked
        database.write(update(request).values(lease_until=datetime.now(UTC) - timedelta(seconds=1)))
        other.ledger.want(wanted("b"))
        assert await other.exchange() == ["b"]
        assert other.ledger.outlook.leased == 1
        other.ledger._expire_at = other.ledger._poll_at = 0.0  # the time to look again has come
        assert await other.exchange() == ["b", "a"]

    asyncio.run(scenario())


def test_what_expires_and_comes_back_to_the_same_process_is_not_begun_twice(books, database):
    async def scenario():
        one = books()
        one.ledger.want(wanted("a"))
        assert await one.exchange() == ["a"]
        database.write(update(request).values(lease_until=datetime.now(UTC) - timedelta(seconds=1)))
        one.ledger.want(wanted("b"))
        one.ledger._expire_at = 0.0  # the time to look for them has come
        assert await one.exchange() == ["a", "b"]
        assert sorted(leased.record.key for leased in one.ledger.held.values()) == ["a", "b"]
        assert database.states() == {"leased": 2}

    asyncio.run(scenario())
