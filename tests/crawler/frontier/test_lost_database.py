"""A database that disappears during a crawl ends it, with one sentence."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            for number in range(400):
                yield scrapy.Request(self.site + f"/{number}")

        def parse(self, response):
            yield page(response)
"""
LIMITS = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2, "STORE_BATCH_PAGES": 2}


@pytest.fixture
def site(serve, answer, page, slow):
    address, requests = serve(slow({f"/{number}": answer(page) for number in range(400)}))
    return address, requests


def delete(path):
    path.unlink()


def replace_by_a_copy(path):
    with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(path.with_name("copy.db"))) as copy:
        database.backup(copy)
    path.with_name("copy.db").replace(path)


def delete_all(path):
    for file in path.parent.glob("blocks.db*"):
        file.unlink()


@pytest.mark.parametrize("take_away", [delete, delete_all, replace_by_a_copy])
def test_a_replaced_database_file_ends_the_crawl(start, ended, wait_until, site, database, take_away):
    address, requests = site
    process = start(SPIDER, {"site": address}, **LIMITS)
    path = Path(make_url(database.url).database)
    wait_until(lambda: path.exists() and len(requests) > 10 and database.pages(), process)
    take_away(path)
    crawled = ended(process)
    assert crawled.code == 1
    assert "Spider closed (store_failed)" in crawled.log
    assert crawled.log.count("blocks.db was deleted, moved or replaced during the crawl") >= 1
    assert crawled.log.rstrip().splitlines()[-1].startswith("scrapy crawl: the database failed: the database ")
    assert "Traceback" not in crawled.log
    assert len(requests) < 300


def test_a_dropped_database_ends_the_crawl(start, ended, wait_until, site, new_database, server):
    address, requests = site
    url = new_database()
    process = start(SPIDER, {"site": address}, **LIMITS, DATABASE_URL=url, DATABASE_WAIT_SECONDS=600)
    wait_until(lambda: len(requests) > 10, process)
    server.execute(f"DROP DATABASE {make_url(url).database} WITH (FORCE)")
    crawled = ended(process)
    assert crawled.code == 1
    assert "Spider closed (store_failed)" in crawled.log
    assert "does not exist; create it with `createdb" in crawled.log
    assert "Traceback" not in crawled.log
    assert len(requests) < 300
