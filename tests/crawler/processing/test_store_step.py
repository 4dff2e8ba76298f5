"""The step that stores visits: batches, the visits of one request, and the end of a crawl."""

import asyncio

import pytest
from cleaned_pages import visit
from scrapy import Spider
from scrapy.utils.test import get_crawler
from sqlalchemy import text

from crawler.processing import StoreStep
from crawler.storage.database import opened_engine
from crawler.visit import Outcome


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'blocks.db'}"


@pytest.fixture
def store(url):
    """Store visits as a crawl does, and return its stats."""

    def storing(*visits, **settings):
        crawler = get_crawler(settings_dict={"DATABASE_URL": url, "STORE_BATCH_SECONDS": 60} | settings)
        crawler.spider = Spider("news")

        async def crawl():
            step = StoreStep.from_crawler(crawler)
            step.open()
            for stored in visits:
                await step.store(stored)
            await step.close()
            step.end_crawl("finished")

        asyncio.run(crawl())
        return crawler.stats

    return storing


def rows(url, query):
    with opened_engine(url) as engine, engine.connect() as connection:
        return connection.execute(text(query)).scalar()


def test_every_visit_is_stored_by_the_end_of_the_crawl(store, url):
    stats = store(*(visit(number) for number in range(5)))
    assert rows(url, "SELECT count(*) FROM page") == 5
    assert stats.get_value("store/pages_new") == 5
    assert rows(url, "SELECT state FROM crawl") == "finished"


def test_batches_are_stored_while_the_crawl_runs(store, url):
    stats = store(*(visit(number) for number in range(10)), STORE_BATCH_PAGES=2)
    assert stats.get_value("store/pages_new") == 10
    assert stats.get_value("store/blocks_new") == rows(url, "SELECT count(*) FROM block")


def test_what_is_stored_again_is_counted_as_refreshed(store):
    assert store(visit(1)).get_value("store/blocks_refreshed") is None
    stats = store(visit(1, day=1))
    assert stats.get_value("store/pages_unchanged") == 1
    assert stats.get_value("store/blocks_refreshed") > 0


def test_another_method_is_counted_and_named(store, caplog):
    store(visit(1))
    stats = store(visit(1, day=1, method="pab"))
    assert stats.get_value("store/pages_other_method") == 1
    assert "CLEANING_METHOD=default keeps to the earlier method" in caplog.text


def test_a_crawl_whose_counts_do_not_add_up_says_so(store, caplog):
    stats = store(visit(1))
    assert stats.get_value("store/imbalances") == 2  # nothing was counted as visited or cleaned
    assert "The crawl's counts do not add up" in caplog.text
    assert visit(1).outcome is Outcome.PAGE
