"""A sitemap's dates are trusted after they have been right, and not before."""

import pytest
from changing_site import article, prose

SPIDER = """
import scrapy
from scrapy.utils.sitemap import Sitemap

from crawler.page import page


class Mapped(scrapy.Spider):
    name = "mapped"

    async def start(self):
        yield scrapy.Request(f"{self.site}/sitemap.xml", meta={"judge": False})

    def parse(self, response):
        for entry in Sitemap(response.body):
            yield scrapy.Request(entry["loc"], self.read, meta={"lastmod": entry.get("lastmod")})

    def read(self, response):
        yield page(response)
"""
PATHS = [f"/{number}" for number in range(6)]


@pytest.fixture
def mapped(world):
    (world.folder / "mapped.py").write_text(SPIDER, "utf-8")
    for path in PATHS:
        write(world, path, 1)
    publish(world, "2026-01-01")
    return world


def write(world, path, edition):
    number = int(path[1:])
    world.site.put(path, article(f"Title {number}", prose(number), prose(100 * edition + number)))


def publish(world, lastmod):
    entries = "".join(f"<url><loc>{world.site.url}{path}</loc><lastmod>{lastmod}</lastmod></url>" for path in PATHS)
    world.site.put("/sitemap.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>')


def reread(world):
    """Let the sitemap's time have come, and do as `recrawl` does."""
    world.make_due("/sitemap.xml")
    return recrawl(world)


def recrawl(world):
    """Visit what is due, and return the pages that were asked for."""
    world.site.asked.clear()
    assert world.scrapy("recrawl", "--due", SPIDER_MODULES="mapped").returncode == 0
    return sorted(set(PATHS).intersection(world.site.paths()))


def test_dates_are_believed_when_they_have_been_right(mapped):
    crawled = mapped.scrapy("crawl", "mapped", "-a", f"site={mapped.site.url}", SPIDER_MODULES="mapped")
    assert crawled.returncode == 0, crawled.stderr
    for path in PATHS:
        write(mapped, path, 2)
    publish(mapped, "2100-01-01")
    assert reread(mapped) == []  # nobody knows yet whether it tells the truth
    assert recrawl(mapped) == []
    mapped.make_due(*PATHS)
    assert recrawl(mapped) == PATHS  # it did
    for path in PATHS[:2]:
        write(mapped, path, 3)
    assert reread(mapped) == []  # the sitemap is read now, and what it announces is due
    plan = mapped.scrapy("recrawl", "--due", "--dry-run", SPIDER_MODULES="mapped").stdout
    assert plan.count("its sitemap announces") == len(PATHS)
    assert recrawl(mapped) == PATHS
