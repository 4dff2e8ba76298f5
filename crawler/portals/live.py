"""What the sites of the table answer today: each home page, section, feed and sitemap is asked for once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import TextResponse

from crawler.compare.fetch import as_in_a_crawl, said_of
from crawler.errors import CrawlerError, SetupError
from crawler.feeds import Fault, Kind, read
from crawler.middlewares import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from crawler.portals.portal import Portal

PAGE = "page"
_MOST_ENTRIES = 50_000
_NO_PAGES = frozenset({"feeds", "sitemaps"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What an address answered: `kind` is `page`, or what it listed; `entries` are articles or addresses on it.

    `problem` says why it is not what the table says, "" where it is.
    """

    portal: str
    column: str
    url: str
    status: int | None = None
    kind: str = ""
    entries: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The portals, and the answers as they come."""

    portals: Sequence[Portal]
    answers: list[Answer] = field(default_factory=list)


class _Asking(Spider):
    name = "portals"
    asked: _Asked

    async def start(self) -> AsyncIterator[Request]:
        for portal in self.asked.portals:
            for column in ("home", "sections", "feeds", "sitemaps"):
                for url in [portal.start] if column == "home" else getattr(portal, column):
                    about = {"portal": portal, "column": column}
                    meta = {"judge": column not in _NO_PAGES, "about": about}
                    yield Request(url, self.parse, errback=self.fail, dont_filter=True, meta=meta)

    async def parse(self, response: Response) -> None:
        about = response.meta["about"]
        if about["column"] in _NO_PAGES:
            listed = await asyncio.to_thread(read, response, datetime.now(UTC), _MOST_ENTRIES)
            if isinstance(listed, Fault):
                self._note(about, response, problem=f"it is no feed or sitemap: {listed}")
                return
            wanted = listed.kind is Kind.FEED if about["column"] == "feeds" else listed.kind is not Kind.FEED
            count = len(listed.entries) + listed.left_out
            empty = "" if count else "it lists nothing"
            self._note(about, response, listed.kind, count, problem=empty if wanted else f"it is a {listed.kind}")
        else:
            self._note(about, response, PAGE, _articles(response, about["portal"]))

    def fail(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined] # Scrapy puts it there
        response = failure.value.response if isinstance(failure.value, Refused) else None
        self._note(request.meta["about"], response or request, problem=said_of(failure))

    def _note(
        self, about: dict[str, Any], told: Response | Request, kind: str = "", entries: int = 0, *, problem: str = ""
    ) -> None:
        status = None if isinstance(told, Request) else told.status
        portal: Portal = about["portal"]
        self.asked.answers.append(Answer(portal.name, about["column"], told.url, status, kind, entries, problem))


def ask(portals: Sequence[Portal], settings: BaseSettings) -> list[Answer]:
    """Return what each address of the portals answers, fetched as in a crawl; nothing is stored.

    Raises CrawlerError where the crawl cannot be begun.
    """
    asked = _Asked(portals)
    process = AsyncCrawlerProcess(as_in_a_crawl(settings))
    running = process.crawl(_Asking, asked=asked)
    process.start()
    error = running.exception() if isinstance(running, asyncio.Task) and running.done() else None
    if isinstance(error, CrawlerError):
        raise error
    if error is not None:
        raise SetupError(f"the sites could not be asked: {type(error).__name__}: {error}") from error
    return sorted(asked.answers, key=lambda answer: (answer.portal, answer.column, answer.url))


def _articles(response: Response, portal: Portal) -> int:
    """Return how many addresses the page links to that are articles by the portal's pattern; all, where it has none."""
    assert isinstance(response, TextResponse)
    links = {urldefrag(response.urljoin(href)).url for href in response.css("a::attr(href)").getall()[:5_000]}
    return sum(portal.articles is None or portal.articles.search(url) is not None for url in links)
