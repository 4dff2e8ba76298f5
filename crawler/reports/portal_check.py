"""Check the table of news sites against its evidence (saved pages and documents) and against the live sites."""

from __future__ import annotations

import asyncio
import gzip
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

from parsel import Selector
from scrapy import Request, Spider
from scrapy.http import TextResponse

from cleaning import PageError, clean, parse
from crawler.config import config_of
from crawler.discovery.feeds import FeedKind, FeedProblem, read_listing
from crawler.errors import ConfigError, ReplayError
from crawler.fetching.response_filter import ResponseRejected
from crawler.fetching.saved_pages import read_replay_index
from crawler.reports.fetch import failure_message, run_spider
from crawler.urls import host_of, known_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from crawler.discovery.portals import Portal

_CHECKED_COLUMNS = ("host", "home", "hosts", "sections", "feeds", "sitemaps", "articles", "language")
"""The columns with facts about a site. The other columns say how to crawl it."""

_PAGE_KIND = "page"

# A page that is not an article proves a pattern by linking to this many articles.
_MATCHING_LINKS_MIN = 3

_SAVED_FOLDER = "sites"

_ENTRIES_MAX = 50_000

_FEED_COLUMNS = frozenset({"feeds", "sitemaps"})


class EvidenceState(StrEnum):
    """The result of checking a column."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    """No evidence is named."""
    WRONG = "wrong"
    """The evidence does not exist, or does not prove the value."""


@dataclass(frozen=True, slots=True)
class EvidenceFinding:
    """The result for one column of a portal. `detail` says what is wrong."""

    portal: str
    column: str
    state: EvidenceState
    detail: str = ""


def check_evidence(portal: Portal, saved: SavedPages) -> list[EvidenceFinding]:
    """Return a finding for each column in which the portal has a value."""
    return [_check_column(portal, column, saved) for column in _CHECKED_COLUMNS if getattr(portal, column)]


def _check_column(portal: Portal, column: str, saved: SavedPages) -> EvidenceFinding:
    names = portal.evidence.get(column)
    if names is None:
        return EvidenceFinding(portal.name, column, EvidenceState.UNPROVEN)
    pages = {name: saved.page(name, portal.start) for name in names if _is_saved_page(name)}
    texts = {name: saved.document(name) for name in names if not _is_saved_page(name)}
    missing = [name for name, content in (pages | texts).items() if content is None]
    if missing:
        return EvidenceFinding(portal.name, column, EvidenceState.WRONG, f"there is no {missing[0]}")
    read = [page for page in pages.values() if page]
    problem = next(_problems(portal, column, read, [text for text in texts.values() if text]), None)
    return EvidenceFinding(portal.name, column, EvidenceState.WRONG if problem else EvidenceState.PROVEN, problem or "")


def _problems(portal: Portal, column: str, pages: list[SavedPage], texts: list[str]) -> Iterator[str]:
    if column == "articles":
        yield from _pattern_problems(portal, pages)
    elif column == "language":
        yield from (
            f"the text of {page.url} is in {page.language}" for page in pages if not _has_language(page, portal)
        )
    elif column in {"host", "hosts"}:
        for name in [portal.host] if column == "host" else portal.hosts:
            if not any(_shows_host(page, name) for page in pages) and not any(
                _names_host(text, name) for text in texts
            ):
                yield f"{name} is not named there"
    else:
        value = getattr(portal, column)
        for url in [value] if isinstance(value, str) else value:
            if not any(_shows_url(page, url) for page in pages) and not any(url in text for text in texts):
                yield f"{url} is not named there"


def _pattern_problems(portal: Portal, pages: list[SavedPage]) -> Iterator[str]:
    pattern = portal.articles
    assert pattern is not None  # it is checked
    for page in pages:
        if pattern.search(page.url) or sum(bool(pattern.search(url)) for url in page.links) >= _MATCHING_LINKS_MIN:
            continue
        yield f"it matches neither {page.url or 'the page'} nor {_MATCHING_LINKS_MIN} of its links"
    yield from (
        f"it matches {url}, which is not an article" for url in (portal.start, *portal.sections) if pattern.search(url)
    )


def _has_language(page: SavedPage, portal: Portal) -> bool:
    return page.language is not None and page.language.partition("-")[0] == portal.language.partition("-")[0]


def _shows_host(page: SavedPage, name: str) -> bool:
    return any(host_of(url) == name for url in (page.url, *page.links))


def _shows_url(page: SavedPage, url: str) -> bool:
    return _comparable_url(url) in {_comparable_url(address) for address in (page.url, *page.links)}


def _comparable_url(url: str) -> str:
    return url.strip().rstrip("/").lower()


@dataclass(frozen=True)  # no slots, because `links` is cached
class SavedPage:
    """A saved page. If its address is unknown, `url` is "" and its links are resolved against `home`."""

    body: bytes
    url: str
    home: str

    @cached_property
    def links(self) -> frozenset[str]:
        """The addresses that it links to, including the feeds in its head."""
        try:
            selector = Selector(root=parse(self.body).root, type="html")
        except PageError:
            return frozenset()
        addresses = set()
        for href in selector.css("a, area, link").xpath("@href").getall():
            try:
                addresses.add(urldefrag(urljoin(self.url or self.home, href.strip())).url)
            except ValueError:
                continue
        return frozenset(addresses)

    @property
    def language(self) -> str | None:
        """The language of the text that cleaning keeps."""
        return clean(self.body, url=self.url or None).language


class SavedPages:
    """The saved pages in a folder's subfolder `sites`, and the documents in the folder and beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._urls = {path: url for url, path in read_replay_index(folder / _SAVED_FOLDER)}
        except ReplayError as error:
            raise ConfigError(f"{folder} holds no saved pages: {error}") from error
        self.page = lru_cache(maxsize=64)(self._page)

    def _page(self, name: str, home: str) -> SavedPage | None:
        """Return a saved page (`sites/bbc/16.html.gz`), None if it does not exist."""
        path = self._inside(self._folder, name)
        if path is None:
            return None
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        url = self._urls.get(path, "")
        return SavedPage(body, known_url(url) or "", home)

    def document(self, name: str) -> str | None:
        """Return the text of a document (`papers/weighted.txt, Table 5`), None if it does not exist."""
        file = name.partition(",")[0].strip()
        # Documents may be in the folder of the saved pages or in its parent.
        path = self._inside(self._folder, file) or self._inside(self._folder.parent, file)
        return None if path is None else path.read_text("utf-8", "replace")

    def _inside(self, folder: Path, name: str) -> Path | None:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None


def _is_saved_page(name: str) -> bool:
    """Return True if evidence names a saved page, False if it names a document."""
    return name.startswith(f"{_SAVED_FOLDER}/")


def _names_host(text: str, host: str) -> bool:
    """Return True if a text contains a host name that is not part of a longer one."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """The response of an address. `kind` is `page` or the kind of feed; `entries` counts its articles or addresses.

    `problem` says how it differs from the table, "" if it does not.
    """

    portal: str
    column: str
    url: str
    status: int | None = None
    kind: str = ""
    entries: int = 0
    problem: str = ""


def check_live(portals: Sequence[Portal], settings: BaseSettings) -> list[LiveAnswer]:
    """Return the answer of each address of the portals. They are fetched as in a crawl; nothing is stored.

    Raises CrawlerError if the crawl cannot start.
    """
    check = _LiveCheck(portals)
    run_spider(_LiveCheckSpider, settings, "the sites could not be asked", check=check)
    return sorted(check.answers, key=lambda answer: (answer.portal, answer.column, answer.url))


@dataclass(frozen=True, slots=True)
class _LiveCheck:
    """The portals to ask, and the answers so far."""

    portals: Sequence[Portal]
    answers: list[LiveAnswer] = field(default_factory=list)


class _LiveCheckSpider(Spider):
    name = "portals"
    check: _LiveCheck

    async def start(self) -> AsyncIterator[Request]:
        for portal in self.check.portals:
            for column in ("home", "sections", "feeds", "sitemaps"):
                for url in [portal.start] if column == "home" else getattr(portal, column):
                    about = {"portal": portal, "column": column}
                    meta = {"judge": column not in _FEED_COLUMNS, "about": about}
                    yield Request(url, self.parse, errback=self.fail, dont_filter=True, meta=meta)

    async def parse(self, response: Response) -> None:
        about = response.meta["about"]
        if about["column"] in _FEED_COLUMNS:
            seconds = config_of(self.crawler).cleaning_seconds
            listed = await asyncio.to_thread(read_listing, response, datetime.now(UTC), _ENTRIES_MAX, seconds)
            if isinstance(listed, FeedProblem):
                self._note(about, response, problem=f"it is not a feed or sitemap: {listed}")
                return
            wanted = listed.kind is FeedKind.FEED if about["column"] == "feeds" else listed.kind is not FeedKind.FEED
            count = len(listed.entries) + listed.left_out
            empty = "" if count else "it lists nothing"
            self._note(about, response, listed.kind, count, problem=empty if wanted else f"it is a {listed.kind}")
        else:
            self._note(about, response, _PAGE_KIND, _count_article_links(response, about["portal"]))

    def fail(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined] # Scrapy puts it there
        response = failure.value.response if isinstance(failure.value, ResponseRejected) else None
        self._note(request.meta["about"], response or request, problem=failure_message(failure))

    def _note(
        self, about: dict[str, Any], source: Response | Request, kind: str = "", entries: int = 0, *, problem: str = ""
    ) -> None:
        status = None if isinstance(source, Request) else source.status
        portal: Portal = about["portal"]
        self.check.answers.append(LiveAnswer(portal.name, about["column"], source.url, status, kind, entries, problem))


def _count_article_links(response: Response, portal: Portal) -> int:
    """Return how many of the page's links match the portal's pattern of articles; without a pattern, all count."""
    assert isinstance(response, TextResponse)
    links = {urldefrag(response.urljoin(href)).url for href in response.css("a::attr(href)").getall()[:5_000]}
    return sum(portal.articles is None or portal.articles.search(url) is not None for url in links)
