"""The one thread that uses the database: its order, and what becomes of its errors."""

import asyncio

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from crawler.errors import StoreError
from crawler.processing import StoreThread
from crawler.storage import schema
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import open_engine
from crawler.storage.store import Store


@pytest.fixture
def crawler():
    return get_crawler()


@pytest.fixture
def thread(crawler, tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path / 'blocks.db'}")
    schema.prepare_schema(engine)
    store_thread = StoreThread(crawler, Store(engine))
    yield store_thread
    store_thread.close()
    engine.dispose()


def test_work_is_done_in_the_order_in_which_it_came(thread):
    done = []

    async def work():
        await asyncio.gather(*(thread.run(lambda number=number: done.append(number)) for number in range(50)))

    asyncio.run(work())
    assert done == list(range(50))


def test_any_error_is_one_of_the_store_without_secrets(thread):
    def fail():
        raise ValueError("postgresql://me:hush@db.example/blocks is away")

    with pytest.raises(StoreError, match="the database was not written: ValueError") as error:
        asyncio.run(thread.run(fail))
    assert "hush" not in str(error.value)


def test_the_same_problem_is_logged_once(thread, crawler, caplog):
    for _ in range(3):
        thread.report(StoreError("the database is away"))
    assert caplog.text.count("the database is away") == 1
    assert crawler.stats.get_value("store/error") == "the database is away"


def test_an_open_crawl_is_joined_unless_fresh_is_given(thread):
    first = thread.join_crawl(Spider("news", url="https://a.example/"), CrawlPolicy())
    again = thread.join_crawl(Spider("news", url="https://a.example/"), CrawlPolicy())
    fresh = thread.join_crawl(Spider("news", url="https://a.example/", fresh="1"), CrawlPolicy())
    assert first.crawl_id == again.crawl_id != fresh.crawl_id == thread.crawl_id
