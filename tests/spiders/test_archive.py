"""`scrapy crawl archive`: every saved page is a page of the crawl."""

import pytest
from scrapy.utils.test import get_crawler
from warcs import article, paragraph, write_warc

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


def test_without_saved_pages_the_setting_is_named():
    with pytest.raises(ConfigError, match="REPLAY is not set: add -s REPLAY=PATH"):
        ArchiveSpider.from_crawler(get_crawler(ArchiveSpider))
