"""News sites by name: `scrapy crawl news -a site=thehindu,bbc`; docs/portals.md describes the table."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.http import TextResponse
from scrapy.settings import SETTINGS_PRIORITIES

from cleaning.options import nearest
from crawler.arguments import argument, read_count
from crawler.config import Config
from crawler.discovery.feeds import FeedKind, FeedProblem, read_listing
from crawler.discovery.portals import read_portals, select_portals
from crawler.errors import ConfigError
from crawler.fetching.replay import replay_source
from crawler.fetching.response_filter import has_content
from crawler.urls import host_of, url_key
from crawler.visit import METHOD_META_KEY
from spiders.links import Link, article_links
from spiders.listing import ListingArguments, ListingSpider
from spiders.site_links import feed_links, section_links, sitemap_links
from spiders.url_patterns import drop_variants

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from crawler.discovery.feeds import FeedEntry, FeedListing
    from crawler.discovery.portals import Portal
    from crawler.visit import FetchedPage


NEWS_SOURCES = ("sections", "feeds", "sitemaps", "saved")
_DEFAULT_SOURCES = NEWS_SOURCES[:3]
_DAYS_MAX = 36_500


def read_sources(text: str) -> tuple[str, ...]:
    """Return the kinds of places at which articles are looked for."""
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in NEWS_SOURCES:
            raise ValueError(f"there is no source {name!r}; {nearest(name, NEWS_SOURCES)}")
    if not names:
        raise ValueError(f"it takes some of {', '.join(NEWS_SOURCES)}, with commas between")
    return names


def read_days(text: str) -> int:
    """Return a number of days."""
    if not (text.isascii() and text.isdecimal()) or int(text[:9]) > _DAYS_MAX:
        raise ValueError(f"it takes a number of days, at most {_DAYS_MAX}")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsArguments(ListingArguments):
    site: str = argument(str, "names of portals with commas between, all, or hosts that are in no table")
    sources: tuple[str, ...] = argument(read_sources, "where articles are looked for", _DEFAULT_SOURCES)
    depth: int = argument(read_count, "levels of sections below a home page, where no table names sections", 1)
    articles: int = argument(read_count, "articles of each site that are asked for, in one run", 1_000)
    age: int | None = argument(read_days, "articles older than so many days are left out, as with since", None)
    seconds: int | None = argument(read_count, "time after which the crawl stops; the same command goes on", None)


logger = logging.getLogger(__name__)

FEED_ENTRIES_MAX = 50_000
"""Entries of a feed or sitemap that are looked at, the newest; a sitemap has no more by its protocol."""
SITEMAPS_MAX = 50
"""Sitemaps that are read of an index, and of a robots.txt."""
NESTED_INDEXES_MAX = 2
"""Indexes between robots.txt and a sitemap."""

_PORTAL_META, _LEVEL_META, _GUESSED_META = "portal", "level", "guessed"
_SITEMAP_PRIORITY = -5
# Of the 46 saved pages without an address, listings with so much text that they could be articles link to 115 articles
# and more, articles to at most 70.
_LISTING_LINKS_MIN = 100
_REQUESTS_PER_STEP = 100


class NewsSpider(ListingSpider):
    """Reads sections, feeds and sitemaps of the sites asked for; what the table does not name is found on the way."""

    name = "news"
    Arguments = NewsArguments
    asked: NewsArguments
    portals: dict[str, Portal]

    def __init__(self, name: str | None = None, **given: Any) -> None:
        super().__init__(name, **given)
        if self.asked.age is not None:
            oldest = datetime.now(UTC).date() - timedelta(days=self.asked.age)
            self.asked = replace(self.asked, since=max(oldest, self.asked.since or date.min))
        self._wanted: dict[str, set[int]] = {}
        self.renders_all = True

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        config = Config.read(crawler.settings)
        try:
            portals = select_portals(spider.asked.site, read_portals(config.portals))
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"the argument 'site' of 'news' is {spider.asked.site!r}: {error}") from error
        if "saved" in spider.asked.sources and not config.replay:
            raise ConfigError("sources=saved reads saved pages, but REPLAY is not set: add -s REPLAY=PATH")
        spider.portals = {portal.name: portal for portal in portals}
        spider.renders_all = config.render or not any(portal.render for portal in portals)
        _apply_portal_settings(crawler.settings, portals, config, spider.asked.seconds)
        return spider

    def sections(self) -> Sequence[str]:
        return [portal.start for portal in self.portals.values()]

    async def start(self) -> AsyncIterator[Request]:
        for portal in self.portals.values():
            for request in self._starts(portal):
                yield request

    def _starts(self, portal: Portal) -> Iterator[Request]:
        sources = self.asked.sources
        if "saved" in sources:
            urls = (url for url in replay_source(self.crawler).urls() if _is_saved_page_of(portal, url))
            yield from (self._of(portal, Request(url, self.parse_saved)) for url in urls)
        sections = portal.sections if "sections" in sources else ()
        yield from (self._of(portal, self.listing(url, dont_filter=True)) for url in sections)
        unknown = {"sections": not portal.sections, "feeds": not portal.feeds}
        if any(unknown.get(source) for source in sources):
            yield self._of(portal, self.listing(portal.start, dont_filter=True), **{_LEVEL_META: 0})
        if "feeds" in sources:
            yield from (self._listed(portal, url, "feed") for url in portal.feeds)
        if "sitemaps" in sources and portal.sitemaps:
            yield from (self._listed(portal, url, "sitemap") for url in portal.sitemaps)
        elif "sitemaps" in sources:
            robots = Request(urljoin(portal.start, "/robots.txt"), self.parse_robots, meta={"judge": False})
            yield self._of(portal, robots)

    def parse_listing(self, response: Response, number: int = 1) -> Iterator[Request]:
        """Yield articles and the next page, and what the table does not name: feeds, sections below the home page."""
        assert isinstance(response, TextResponse)
        portal, level = self._portal(response), response.meta.get(_LEVEL_META)
        if "feeds" in self.asked.sources and not portal.feeds and number == 1:
            yield from (self._listed(portal, url, "feed") for url in feed_links(response))
        if not {"sections", "saved"}.intersection(self.asked.sources):
            return
        for request in super().parse_listing(response, number):
            if request.callback != self.parse_article or self._admits(portal, request.url):
                yield self._of(portal, request)
        if level is not None and level < self.asked.depth and not portal.sections:
            for url in section_links(response):
                yield self._of(portal, self.listing(url), **{_LEVEL_META: level + 1})

    def article_links(self, response: TextResponse) -> list[Link]:
        links = article_links(response, self._portal(response).articles, self.experience.shapes)
        single = drop_variants(links, lambda link: link.url)
        self.count("twins", len(links) - len(single))
        return single

    def parse_robots(self, response: Response) -> Iterator[Request]:
        """Yield the sitemaps that a robots.txt names."""
        portal = self._portal(response)
        urls = sitemap_links(response)
        self.count("sitemaps_left_out", max(0, len(urls) - SITEMAPS_MAX))
        yield from (self._listed(portal, url, "sitemap") for url in urls[:SITEMAPS_MAX])

    async def parse_listed(self, response: Response, asked: str, nested: int = 0) -> AsyncIterator[Request]:
        """Yield what a feed or sitemap lists, told by its bytes and not by what it was asked for as."""
        listed = await asyncio.to_thread(read_listing, response, datetime.now(UTC), FEED_ENTRIES_MAX)
        if isinstance(listed, FeedProblem):
            logger.info("%s is no %s: %s", response.url, asked, listed)
            self.count(f"{asked}_{listed}")
            return
        self._count_listed(listed)
        portal = self._portal(response)
        entries = [entry for entry in listed.entries if self._is_wanted(portal, entry)]
        if listed.kind is FeedKind.INDEX:
            requests = self._nested(portal, entries, nested)
        else:
            requests = self._entries(portal, entries, guessed=listed.kind is FeedKind.SITEMAP and not portal.articles)
        for number, request in enumerate(requests, 1):
            yield request
            if number % _REQUESTS_PER_STEP == 0:
                await asyncio.sleep(0)  # tens of thousands take many seconds, in which the crawl is to go on

    def parse_article(self, response: Response) -> Iterator[FetchedPage]:
        """Yield the page, unless it is old, of another site, or a guess that has proven wrong."""
        assert isinstance(response, TextResponse)
        portal = self._portal(response)
        if not portal.owns(response.url) and not _is_saved_page_of(portal, response.url):
            self.count("elsewhere")
            return
        if response.meta.get(_GUESSED_META) and not has_content(response.selector.root):
            self.count("no_article")
            return
        for found in super().parse_article(response):
            self.count(f"pages/{portal.name}")
            yield found

    def parse_saved(self, response: Response) -> Iterator[Any]:
        """Yield what a saved page is: an article by its address, or by its text where that says nothing; a listing."""
        assert isinstance(response, TextResponse)
        portal = self._portal(response)
        # The links of a page that nobody wrote the address of down are taken for the home page's.
        page = response if portal.owns(response.url) else response.replace(url=portal.start)
        links = article_links(page, portal.articles)
        if page is response and portal.articles:
            is_article = portal.articles.search(response.url) is not None
        else:
            is_article = has_content(response.selector.root) and len(links) < _LISTING_LINKS_MIN
        if is_article:
            yield from self.parse_article(response)
        elif links:
            yield from self.parse_listing(page)
        else:
            self.count("no_article")

    def _nested(self, portal: Portal, entries: list[FeedEntry], nested: int) -> Iterator[Request]:
        """Yield the sitemaps of an index, the newest first."""
        followed = entries[:SITEMAPS_MAX] if nested < NESTED_INDEXES_MAX else []
        self.count("sitemaps_left_out", len(entries) - len(followed))
        yield from (self._listed(portal, entry.url, "sitemap", nested + 1) for entry in followed)

    def _entries(self, portal: Portal, entries: list[FeedEntry], *, guessed: bool) -> Iterator[Request]:
        single = drop_variants(entries, lambda entry: entry.url)
        self.count("twins", len(entries) - len(single))
        for entry in single:
            if portal.articles and not portal.articles.search(entry.url):
                self.count("no_article")
            elif self._admits(portal, entry.url):
                lastmod = {"lastmod": entry.changed.isoformat()} if entry.changed else {}
                more = lastmod | ({_GUESSED_META: True} if guessed else {})
                yield self._of(portal, Request(entry.url, self.parse_article), **more)

    def _is_wanted(self, portal: Portal, entry: FeedEntry) -> bool:
        """Tell whether an entry is of the site and new enough."""
        if not portal.owns(entry.url):
            self.count("foreign")
        elif self._is_old(entry.newest):
            self.count("older")
        else:
            return True
        return False

    def _count_listed(self, listed: FeedListing) -> None:
        self.count(f"{listed.kind}_entries", len(listed.entries))
        self.count(f"{listed.kind}_left_out", listed.left_out)
        self.count(f"{listed.kind}_cut", int(listed.cut))
        self.count("dates_doubted", listed.doubtful)

    def _admits(self, portal: Portal, url: str) -> bool:
        """Tell whether an article is among as many of its site as are asked for; those beyond are counted."""
        wanted, key = self._wanted.setdefault(portal.name, set()), hash(url_key(url))
        if key not in wanted and len(wanted) >= self.asked.articles:
            self.count("over_limit")
            return False
        if key not in wanted:
            wanted.add(key)
            self.count(f"articles/{portal.name}")
        return True

    def _portal(self, response: Response) -> Portal:
        return self.portals[response.meta[_PORTAL_META]]

    def _listed(self, portal: Portal, url: str, asked: str, nested: int = 0) -> Request:
        """Return the request for a feed or sitemap, which is no page and is not judged as one."""
        about = {"asked": asked, "nested": nested}
        request = Request(url, self.parse_listed, cb_kwargs=about, meta={"judge": False}, priority=_SITEMAP_PRIORITY)
        return self._of(portal, request)

    def _of(self, portal: Portal, request: Request, **more: Any) -> Request:
        """Return a request as the portal's row wants it."""
        meta = {**request.meta, _PORTAL_META: portal.name, **more}
        if portal.method:
            meta[METHOD_META_KEY] = portal.method
        if not self.renders_all and not portal.render:
            meta["render"] = False
        for name, value in portal.headers.items():
            request.headers[name] = value
        asked: Request = request.replace(meta=meta)
        return asked


def _apply_portal_settings(
    settings: BaseSettings, portals: Iterable[Portal], config: Config, seconds: int | None
) -> None:
    """Set what follows from the rows and the arguments, before the crawl's components read the settings."""
    delays = {name: {"delay": one.delay} for one in portals if one.delay for name in one.download_slots}
    if delays and not config.replay:
        # What was said of a host by hand stays.
        priority = max(settings.getpriority("DOWNLOAD_SLOTS") or 0, SETTINGS_PRIORITIES["spider"])
        settings.set("DOWNLOAD_SLOTS", delays | settings.getdict("DOWNLOAD_SLOTS"), priority)
    if seconds is not None:
        settings.set("CLOSESPIDER_TIMEOUT", seconds, priority="spider")
    rendered = [portal.name for portal in portals if portal.render]
    if rendered and not config.render:
        settings.set("RENDER", value=True, priority="spider")
        if not settings.getbool("RENDER"):
            raise ConfigError(f"RENDER=false, but the row of {rendered[0]!r} says render = true")


def _is_saved_page_of(portal: Portal, url: str) -> bool:
    """Tell whether a saved page is of a portal: by its address, or by its folder where nobody wrote that down."""
    return portal.owns(url) or host_of(url) == f"{portal.name}.invalid"
