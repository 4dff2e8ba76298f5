"""Which crawls the sites of a file need, from what the database knows of them."""

from datetime import UTC, datetime, timedelta

import pytest
from scrapy.settings import Settings
from scrapy.spiderloader import SpiderLoader

from crawler.commands.sites.crawls import plan_crawls, sites_of
from crawler.config import Config
from crawler.config.sites import read_sites
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.store import Store
from crawler.visit import Outcome, RequestRecord, Visit

START = datetime(2024, 5, 1, tzinfo=UTC)
SITES = """
[sites.ferry]
sections = ["https://ferry.example/news/"]
interval = "6h"

[sites.lake]
sections = ["https://lake.example/news/"]
interval = "48h"
"""


@pytest.fixture
def sites(tmp_path):
    path = tmp_path / "sites.toml"
    path.write_text(SITES, "utf-8")
    settings = Settings({"SPIDER_MODULES": ["spiders"]})
    return read_sites(path, SpiderLoader(settings), settings).sites


@pytest.fixture
def plans(engine, sites):
    """Return the names of the crawls that are due after some hours, and whether each is a first one."""

    def planning(hours):
        with engine.connect() as connection:
            plan = plan_crawls(connection, sites, Config(), START + timedelta(hours=hours))
        return [(crawl.name, crawl.group is None) for crawl in plan.crawls]

    return planning


@pytest.fixture
def crawl(engine, sites):
    """Crawl the section of a site."""

    def crawling(name, *, finished=True):
        (section,) = sites[name].sections
        (arguments,) = sites[name].crawl_arguments
        store = Store(engine)
        joined = store.join_crawl(sites[name].spider, arguments, CrawlPolicy())
        record = RequestRecord("key", section, f"{name}.example")
        child = RequestRecord("child", f"{section}1", f"{name}.example")
        store.save(joined.crawl_id, [Visit(section, START, Outcome.SECTION, request=record, requests=(child,))])
        store.end_crawl(joined.crawl_id, "finished", {"visit/page": 1}, finished=finished)
        store.close()

    return crawling


def test_a_site_that_was_never_crawled_needs_a_first_crawl(plans):
    assert plans(0) == [("ferry", True), ("lake", True)]


def test_an_interrupted_first_crawl_is_continued(crawl, plans):
    crawl("ferry", finished=False)
    crawl("lake")
    assert plans(1) == [("ferry", True)]


def test_a_section_is_visited_again_after_the_interval_of_its_site(crawl, plans):
    crawl("ferry")
    crawl("lake")
    assert plans(1) == []
    assert plans(7) == [("ferry", False)]


def test_a_site_is_on_the_domains_of_its_sections(crawl, engine, sites):
    crawl("ferry")
    with engine.connect() as connection:
        assert sites_of(connection, sites) == {"ferry": {"ferry.example"}, "lake": {"lake.example"}}
