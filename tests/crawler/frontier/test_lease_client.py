"""The lease client of one process, with a real database."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from scrapy.utils.test import get_crawler
from sqlalchemy import update

from crawler.errors import StoreError
from crawler.frontier.lease_client import CrawlWorker, LeaseClient
from crawler.processing import StoreThread
from crawler.schedule import RevisitBounds
from crawler.storage import schema
from crawler.storage.crawls import join_crawl
from crawler.storage.database import open_engine, write_transaction
from crawler.storage.requests import Ack, RequestState
from crawler.storage.store import Store
from crawler.storage.tables import request
from crawler.visit import RequestRecord


class Process:
    """A lease client, the leases that it got, and the delays that it is to push."""

    def __init__(self, database, lease_id="one"):
        engine = open_engine(database.url)
        schema.prepare_schema(engine)
        with write_transaction(engine) as connection:
            crawl_id = join_crawl(connection, "test", {}, fresh=False).crawl_id
        self.thread = StoreThread(get_crawler(), Store(engine))
        self.leased, self.delays = [], {}
        worker = CrawlWorker(crawl_id, lease_id, 60.0, 3, 3600.0, RevisitBounds())
        self.client = LeaseClient(
            self.thread,
            worker,
            lambda batch: self.leased.extend(batch.leased),
            lambda: dict(self.delays),
            lambda _number: None,
        )

    async def sync(self, capacity=10):
        self.client.sync(capacity)
        await self.client.wait()
        return [leased.record.key for leased in self.leased]


@pytest.fixture
def processes(database):
    started = []

    def make(*arguments):
        started.append(Process(database, *arguments))
        return started[-1]

    yield make
    for process in started:
        process.thread.close()


def record(key, host="a.example"):
    return RequestRecord(key, f"https://{host}/{key}", host)


def done(leased):
    return Ack(leased.lease_token, RequestState.DONE, "page")


def test_leases_are_in_progress_before_the_queue_is_counted(processes):
    """A slow database may take seconds to count the queue; a lease that nothing works on would count as lost."""
    counting = threading.Event()

    async def scenario():
        process = processes()
        process.client.push(record("a"))
        await process.sync(capacity=0)
        process.client._count_at = 0.0
        process.client.sync(10)
        await asyncio.sleep(0)  # the lease is the next work of the store's thread
        leased, busy = (asyncio.ensure_future(process.thread.run(work)) for work in (bool, partial(counting.wait, 60)))
        await leased
        assert [leased.record.key for leased in process.leased] == ["a"]
        counting.set()
        assert await busy
        await process.client.wait()

    asyncio.run(scenario())


def test_new_requests_are_stored_and_leased_in_one_sync(processes):
    async def scenario():
        process = processes()
        assert not process.client.is_settled
        for key in "abc":
            process.client.push(record(key))
        assert process.client.unpushed == 3
        assert await process.sync(capacity=2) == ["a", "b"]
        assert (process.client.unpushed, len(process.client.leases)) == (0, 2)

    asyncio.run(scenario())


def test_a_request_pushed_during_a_sync_is_leased_by_the_next(processes):
    async def scenario():
        process = processes()
        process.client.push(record("a"))
        process.client.sync(10)
        await asyncio.sleep(0)  # "a" is on its way
        process.client.push(record("b"))
        await process.client.wait()
        await process.sync()
        assert await process.sync() == ["a", "b"]

    asyncio.run(scenario())


def test_it_is_settled_when_all_requests_have_ended(processes, database):
    async def scenario():
        process = processes()
        process.client.push(record("a"))
        await process.sync()
        assert not process.client.is_settled
        process.client.acknowledge(done(process.leased[0]))
        assert not process.client.is_settled
        await process.sync()
        assert process.client.is_settled
        assert (process.client.queue_status.queued, process.client.queue_status.leased) == (0, 0)

    asyncio.run(scenario())
    assert database.states() == {"done": 1}


def test_only_the_first_end_of_a_request_counts(processes, database):
    async def scenario():
        process = processes()
        process.client.push(record("a"))
        await process.sync()
        leased = process.leased[0]
        process.client.acknowledge(done(leased))
        process.client.acknowledge(Ack(leased.lease_token, RequestState.FAILED, "unacknowledged"))
        await process.sync()

    asyncio.run(scenario())
    assert database.states() == {"done": 1}


def test_a_released_request_can_be_leased_by_another_process(processes, database):
    async def scenario():
        first = processes("one")
        second = processes("two")
        for key in "ab":
            first.client.push(record(key))
        assert await first.sync() == ["a", "b"]
        assert await second.sync() == []
        first.client.release(first.leased[0].lease_token.request_id)
        await first.sync(capacity=0)
        second.client._poll_at = 0.0
        assert await second.sync() == ["a"]

    asyncio.run(scenario())
    assert database.rows("SELECT lease_id FROM request ORDER BY key") == [{"lease_id": "two"}, {"lease_id": "one"}]


def test_closing_releases_all_leases(processes, database):
    async def scenario():
        process = processes()
        for key in "abc":
            process.client.push(record(key))
        await process.sync()
        process.client.acknowledge(done(process.leased[0]))
        process.client.push(record("d"))
        await process.client.close()
        assert process.client.leases == {}

    asyncio.run(scenario())
    assert database.states() == {"done": 1, "queued": 3}


def test_only_changed_delays_are_pushed(processes, database):
    def stored():
        return {row["host"]: row["delay"] for row in database.rows("SELECT host, delay FROM host")}

    async def scenario():
        process = processes()
        database.write("INSERT INTO host (host, delay, refusals) VALUES ('a.example', 5.0, 0), ('b.example', 5.0, 0)")
        process.delays = {"a.example": 0.0, "b.example": 2.0}
        process.client.push(record("a"))
        await process.sync()
        assert stored() == {"a.example": 0.0, "b.example": 2.0}
        database.write("UPDATE host SET delay = 9.0 WHERE host = 'b.example'")  # by another process
        process.client.push(record("b"))
        await process.sync()
        assert stored() == {"a.example": 0.0, "b.example": 9.0}

    asyncio.run(scenario())


def test_leases_are_renewed_before_they_expire(processes, database):
    def until():
        return database.rows("SELECT lease_until FROM request")[0]["lease_until"]

    async def scenario():
        process = processes()
        process.client.push(record("a"))
        await process.sync()
        before = until()
        await process.sync(capacity=0)
        assert until() == before
        process.client._renew_at = 0.0  # its time has come
        await process.sync(capacity=0)
        assert until() > before

    asyncio.run(scenario())


def test_any_error_in_the_store_thread_becomes_a_store_error(processes, caplog):
    async def scenario():
        with pytest.raises(StoreError, match="the database was not written: ZeroDivisionError: "):
            await processes().thread.run(lambda: 1 // 0)

    asyncio.run(scenario())
    assert "Storing failed" in caplog.text


def test_a_lease_that_expires_between_two_checks_is_leased_later(processes, database):
    async def scenario():
        first = processes("one")
        second = processes("two")
        first.client.push(record("a"))
        assert await first.sync() == ["a"]
        assert await second.sync() == []  # has just looked
        database.write(update(request).values(lease_until=datetime.now(UTC) - timedelta(seconds=1)))
        second.client.push(record("b"))
        assert await second.sync() == ["b"]
        assert second.client.queue_status.leased == 1
        second.client._expire_at = second.client._poll_at = 0.0  # the time to look again has come
        assert await second.sync() == ["b", "a"]

    asyncio.run(scenario())


def test_an_expired_lease_that_returns_to_its_process_is_not_started_twice(processes, database):
    async def scenario():
        process = processes()
        process.client.push(record("a"))
        assert await process.sync() == ["a"]
        database.write(update(request).values(lease_until=datetime.now(UTC) - timedelta(seconds=1)))
        process.client.push(record("b"))
        process.client._expire_at = 0.0  # the time to look for them has come
        assert await process.sync() == ["a", "b"]
        assert sorted(leased.record.key for leased in process.client.leases.values()) == ["a", "b"]
        assert database.states() == {"leased": 2}

    asyncio.run(scenario())
