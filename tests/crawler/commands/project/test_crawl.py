"""The command `crawl` of our project is ours, under Scrapy's name."""

import pkgutil

from scrapy.commands import ScrapyCommand

from crawler.commands import project
from crawler.commands.crawl import CrawlCommand
from crawler.commands.project.crawl import OurCrawl


def test_scrapy_gets_our_command():
    assert issubclass(OurCrawl, ScrapyCommand)
    assert OurCrawl().short_desc() == CrawlCommand().short_desc()


def test_the_package_has_nothing_but_crawl():
    """COMMANDS_MODULE imports every module of the package at each start of Scrapy."""
    assert [module.name for module in pkgutil.iter_modules(project.__path__)] == ["crawl"]
