"""`scrapy crawl`, with one sentence for a mistake and an exit code that cron can trust.

0   pages were stored, or nothing has changed
1   the crawl ended, but nothing was stored, the database failed, or too much was refused
2   a setting, an argument or the installation is wrong: nothing was crawled
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from cleaning.options import nearest
from crawler.config import Config
from crawler.errors import ConfigError, CrawlerError
from crawler.finish import failure
from crawler.loader import check_packages

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Command(ScrapyCrawl):
    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        # Before Scrapy loads the spiders, which it does where no command can catch anything.
        assert self.settings is not None
        if "spiders" in self.settings.getlist("SPIDER_MODULES"):
            try:
                check_packages()
            except CrawlerError as error:
                _say(str(error))
                sys.exit(2)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("one spider name is needed: scrapy crawl [options] <spider>")
        try:
            self.exitcode = self._crawl(args[0], opts.spargs)
        except CrawlerError as error:
            _say(str(error))
            self.exitcode = 2

    def _crawl(self, name: str, arguments: dict[str, str]) -> int:
        process = self.crawler_process
        assert process is not None
        if name not in process.spider_loader.list():
            raise ConfigError(f"there is no spider {name!r}; {nearest(name, process.spider_loader.list())}")
        crawler = self._create_crawler(name)
        running = process.crawl(crawler, **arguments)
        process.start()
        error = running.exception() if isinstance(running, asyncio.Task) and running.done() else None
        if error is None:
            return 1 if process.bootstrap_failed else _exit_code(crawler)
        if not isinstance(error, CrawlerError):
            logger.error("The crawl failed", exc_info=error)
            return 1
        raise error


def _exit_code(crawler: Crawler) -> int:
    share = Config.read(crawler.settings).max_refused_share
    problem = failure(crawler.stats.get_stats(), share)
    if problem is None:
        return 0
    _say(problem)
    return 1


def _say(sentence: str) -> None:
    sys.stderr.write(f"scrapy crawl: {sentence}\n")
