"""`scrapy crawl archive`: every saved page is a page of the crawl."""

import sqlite3
from contextlib import closing

import archive_crawl
import pytest
from scrapy.utils.test import get_crawler
from warcs import LAKE, article, captures, paragraph, record_id, write_warc

from crawler.errors import ConfigError
from spiders.archive import ArchiveSpider

PAGE = article("Storm", paragraph(1))


def test_every_record_is_read_and_a_saved_redirect_is_not_followed(crawl, tmp_path):
    redirect = {"url": "https://a.example/old", "body": "", "status": 301, "headers": (("Location", "/1"),)}
    pages = [("https://a.example/1", PAGE), ("https://b.example/2", PAGE), redirect]
    path = write_warc(tmp_path / "a.warc.gz", pages)
    crawled = crawl("archive", settings={"REPLAY": str(path)})
    assert crawled.code == 0, crawled.log
    outcomes = {visit["url"]: visit["outcome"] for visit in crawled.visits}
    assert outcomes["https://a.example/1"] == outcomes["https://b.example/2"] == "page"
    assert crawled.stats["visit/page"] == 2


def stored(folder, query):
    with closing(sqlite3.connect(folder / "blocks.db")) as database:
        return database.execute(query).fetchall()


PAGES = "SELECT url, substr(first_seen, 1, 4), substr(last_seen, 1, 4), changes FROM page ORDER BY url"
EVENTS = "SELECT substr(visited, 1, 4), kind FROM page_event JOIN page ON id = page_id WHERE url LIKE ? ORDER BY 1"
TEXTS = "SELECT text, substr(first_seen, 1, 4), substr(gone_at, 1, 4) FROM block WHERE text LIKE '% lake.' ORDER BY 2"


@pytest.mark.slow
@pytest.mark.parametrize("settings", [[], ["CLEANING_PROCESSES=2", "STORE_BATCH_PAGES=1"]])
def test_captures_of_an_address_are_visits_in_the_order_of_their_dates(tmp_path, settings):
    lake, pond, river = (f"https://a.example/{name}" for name in ("lake", "pond", "river"))
    answers = [
        *captures(lake, "2004", "1998"),
        {"url": lake, "body": "Gone.", "status": 404, "date": "2000-05-01T12:00:00Z"},
        {"url": lake, "body": "Busy.", "status": 503, "date": "2005-05-01T12:00:00Z"},
        *captures(lake, "2001"),
        {"url": river, "body": article("River", paragraph(1)), "date": "2001-05-01T12:00:00Z"},
        {"url": pond, "body": article("Pond", paragraph(2)), "date": "1998-05-01T12:00:00Z"},
        {"url": pond, "body": "Gone.", "status": 410, "date": "2003-05-01T12:00:00Z"},
    ]
    path = write_warc(tmp_path / "a.warc.gz", answers)
    for _ in range(2):
        process = archive_crawl.crawl(tmp_path, path, *settings)
        assert process.returncode == 0, process.stderr
        assert stored(tmp_path, PAGES) == [
            (lake, "1998", "2004", 2),
            (pond, "1998", "1998", 0),
            (river, "2001", "2001", 0),
        ]
        assert stored(tmp_path, "SELECT record_id FROM page ORDER BY url") == [
            (record_id(url),) for url in (lake, pond, river)
        ]
        assert stored(tmp_path, TEXTS) == [
            (LAKE["1998"], "1998", "2001"),
            (LAKE["2001"], "2001", "2004"),
            (LAKE["2004"], "2004", None),
        ]
        assert [stored(tmp_path, EVENTS.replace("?", f"'{url}'")) for url in (lake, pond, river)] == [
            [("1998", "new"), ("2001", "changed"), ("2004", "changed")],
            [("1998", "new"), ("2003", "retired")],
            [("2001", "new")],
        ]


def test_without_saved_pages_the_setting_is_named():
    with pytest.raises(ConfigError, match="REPLAY is not set: add -s REPLAY=PATH"):
        ArchiveSpider.from_crawler(get_crawler(ArchiveSpider))
