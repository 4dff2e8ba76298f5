"""Fetch one page as a crawl does: robots.txt, User-Agent, limits and response filter apply; nothing is stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import IgnoreRequest

import crawler.settings as our_settings
from cleaning.declare import web_url
from crawler.config.names import set_ours
from crawler.errors import CompareError, CrawlerError, SetupError
from crawler.fetching.response_filter import ResponseRejected, content_type
from crawler.fetching.throttling import RobotsUnavailable, RobotsUnreachable
from crawler.reports.sources import LoadedPage, ReportTarget, UnreadPage
from crawler.urls import without_credentials

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

_ADDON = "crawler.addon.Blocksieve"
_FORCED: dict[str, Any] = {
    "ARCHIVE": "",
    "CLEANING_METHOD": "default",  # nothing is cleaned in this crawl
    "FRONTIER_MAX_ATTEMPTS": 1,  # a person does not wait for a host's pause
    "ITEM_PIPELINES": {},
    "OBEY_TDM_RESERVATION": False,  # nothing is stored
    "PROFILE": "none",
    "PROGRESS": "off",
    "RENDER": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
}


@dataclass(slots=True)
class _Fetched:
    """The address and bytes of the page, or the reason why there is none."""

    url: str = ""
    page: LoadedPage | None = None
    problem: str = "there was no response; -L INFO says more"


class _OnePageSpider(Spider):
    name = "one_page"
    url: str
    fetched: _Fetched

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.url, callback=self.parse, errback=self.fail, dont_filter=True)

    def parse(self, response: Response) -> None:
        self.fetched.url = response.url
        self.fetched.page = LoadedPage(response.body, content_type(response))

    def fail(self, failure: Failure) -> None:
        self.fetched.problem = failure_message(failure)


def fetch_page(url: str, settings: BaseSettings) -> ReportTarget:
    """Return the page at an address. Raises CompareError, in one sentence, if there is no page."""
    address = without_credentials(url)
    try:
        web_url().read(url)
    except ValueError as error:
        raise CompareError(f"{address!r} is not the address of a page: {error}") from error
    if address != url.strip():
        raise CompareError(f"the address of {address!r} has a user name, which is not sent; leave it out")
    fetched = _Fetched()
    run_spider(_OnePageSpider, settings, "the page could not be fetched", url=url, fetched=fetched)
    page = fetched.page
    if page is None:
        raise CompareError(f"there is no page at {address}: {fetched.problem}")
    name = without_credentials(fetched.url)
    return ReportTarget(name, [UnreadPage(name, name, "", lambda: page)])


def failure_message(failure: Failure) -> str:
    """Return in words why a request gave no page."""
    error = failure.value
    if isinstance(error, ResponseRejected | RobotsUnavailable | RobotsUnreachable):
        return str(error)
    if isinstance(error, IgnoreRequest) and "robots.txt" in str(error):
        return "the site's robots.txt forbids it"
    return failure.getErrorMessage() or type(error).__name__


class _AddressesSpider(Spider):
    name = "addresses"
    urls: Sequence[str]
    problems: dict[str, str]

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            self.problems[url] = "there was no response; -L INFO says more"
            yield Request(url, callback=self.parse, errback=self.fail, cb_kwargs={"url": url}, dont_filter=True)

    def parse(self, response: Response, url: str) -> None:  # noqa: ARG002 — Scrapy's signature
        self.problems.pop(url, None)

    def fail(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined] # Scrapy puts it there
        self.problems[request.cb_kwargs["url"]] = failure_message(failure)


def find_unreachable(urls: Sequence[str], settings: BaseSettings) -> dict[str, str]:
    """Fetch addresses as a crawl does, and return why some of them gave no page, by address."""
    problems: dict[str, str] = {}
    run_spider(_AddressesSpider, settings, "the addresses could not be fetched", urls=urls, problems=problems)
    return problems


def run_spider(spider: type[Spider], settings: BaseSettings, failed: str, **arguments: Any) -> None:
    """Run a spider that fetches as in a crawl and stores nothing.

    Raises CrawlerError if the crawl cannot start; `failed` begins the message about another error.
    """
    process = AsyncCrawlerProcess(_fetch_settings(settings))
    running = process.crawl(spider, **arguments)
    process.start()
    error = running.exception() if isinstance(running, asyncio.Task) and running.done() else None
    if isinstance(error, CrawlerError):
        raise error
    if error is not None:
        raise SetupError(f"{failed}: {type(error).__name__}: {error}") from error


def _fetch_settings(settings: BaseSettings) -> Any:
    """Return settings for fetching as in a crawl: ours where the project sets none, and nothing that stores."""
    complete = settings.copy()
    complete.setmodule(our_settings, priority="default")
    complete.set("ADDONS", complete.getdict("ADDONS") | {_ADDON: 100}, priority="cmdline")
    for name, value in _FORCED.items():
        set_ours(complete, name, value, priority="cmdline")
    return complete
