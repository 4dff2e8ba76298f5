"""One page from the network, as a crawl fetches it: robots.txt, User-Agent, limits and judging; nothing is stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import IgnoreRequest

from cleaning.declare import web_url
from crawler import settings as settings_
from crawler.compare.targets import Loaded, Source, Target
from crawler.errors import CompareError, CrawlerError
from crawler.fetching.response_filter import ResponseRejected, content_type
from crawler.urls import without_credentials

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

_ADDON = "crawler.addon.Blocksieve"
_FORCED: dict[str, Any] = {
    "ARCHIVE": "",
    "ITEM_PIPELINES": {},
    "PROGRESS": "off",
    "RENDER": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
}


@dataclass(slots=True)
class _Answer:
    """What came of the request: the page's address and bytes, or why there are none."""

    url: str = ""
    page: Loaded | None = None
    problem: str = "nothing came back; -L INFO says more"


class _OnePage(Spider):
    name = "compare"
    url: str
    answer: _Answer

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.url, callback=self.parse, errback=self.fail, dont_filter=True)

    def parse(self, response: Response) -> None:
        self.answer.url = response.url
        self.answer.page = Loaded(response.body, content_type(response))

    def fail(self, failure: Failure) -> None:
        self.answer.problem = said_of(failure)


def said_of(failure: Failure) -> str:
    """Return why a request led to no page, in words."""
    error = failure.value
    if isinstance(error, ResponseRejected):
        return str(error)
    if isinstance(error, IgnoreRequest) and "robots.txt" in str(error):
        return "the site's robots.txt forbids it"
    return failure.getErrorMessage() or type(error).__name__


def fetch(url: str, settings: BaseSettings) -> Target:
    """Return the page at an address. Raises CompareError, in one sentence, where there is no page."""
    shown = without_credentials(url)
    try:
        web_url().read(url)
    except ValueError as error:
        raise CompareError(f"{shown!r} is no address of a page: {error}") from error
    if shown != url.strip():
        raise CompareError(f"the address of {shown!r} has a user name, which is not sent; leave it out")
    answer = _Answer()
    _run(url, answer, settings)
    page = answer.page
    if page is None:
        raise CompareError(f"there is no page at {shown}: {answer.problem}")
    name = without_credentials(answer.url)
    return Target(name, [Source(name, name, "", lambda: page)])


def _run(url: str, answer: _Answer, settings: BaseSettings) -> None:
    process = AsyncCrawlerProcess(as_in_a_crawl(settings))
    running = process.crawl(_OnePage, url=url, answer=answer)
    process.start()
    error = running.exception() if isinstance(running, asyncio.Task) and running.done() else None
    if isinstance(error, CrawlerError):
        raise error
    if error is not None:
        raise CompareError(f"the page could not be fetched: {type(error).__name__}: {error}") from error


def as_in_a_crawl(settings: BaseSettings) -> Any:
    """Return the settings with ours wherever the project has none of its own, and with nothing that stores."""
    complete = settings.copy()
    complete.setmodule(settings_, priority="default")
    complete.set("ADDONS", complete.getdict("ADDONS") | {_ADDON: 100}, priority="cmdline")
    for name, value in _FORCED.items():
        complete.set(name, value, priority="cmdline")
    return complete
