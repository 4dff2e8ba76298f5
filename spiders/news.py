"""News sites by name: `scrapy crawl news -a site=thehindu,bbc`; docs/crawl.md describes the table."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin

from scrapy import Request, signals
from scrapy.http import TextResponse
from scrapy.settings import SETTINGS_PRIORITIES

from cleaning.declare import integer, option, required, text, words_of
from crawler.config import Config, config_of, read_setting
from crawler.config.names import set_ours
from crawler.context import context_of
from crawler.discovery.feeds import FeedEntry, FeedKind, FeedProblem, read_listing
from crawler.discovery.portals import read_portals, select_portals
from crawler.errors import ConfigError, StoreError
from crawler.fetching.replay import replay_source
from crawler.fetching.response_filter import has_content
from crawler.monitoring.exit_status import SITE_PROBLEMS_STAT
from crawler.schedule import lastmod_claims_change
from crawler.storage.pages import LASTMOD_KEY
from crawler.urls import host_of, url_key, without_fragment
from crawler.visit import METHOD_META_KEY
from spiders.links import Link, article_links
from spiders.listing import MAX_COUNT, ListingArguments, ListingSpider
from spiders.site_links import feed_links, section_links, sitemap_links
from spiders.url_patterns import drop_variants

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from crawler.discovery.feeds import FeedListing
    from crawler.discovery.portals import Portal
    from crawler.processing import StoreThread
    from crawler.storage.due import KnownPage
    from crawler.storage.store import Store
    from crawler.visit import FetchedPage

_Result = TypeVar("_Result")

logger = logging.getLogger(__name__)

_NEWS_SOURCES = ("sections", "feeds", "sitemaps", "saved")
_FEED_ENTRIES_MAX = 250_000
"""Entries that are used of a feed or sitemap, newest first. The protocol allows 50,000; some sites list more."""
_SITEMAPS_MAX = 50
"""Sitemaps that are read of an index, and of a robots.txt, in one run; the next runs read the others."""
_NESTED_INDEXES_MAX = 2
"""Indexes between robots.txt and a sitemap."""

_DEFAULT_SOURCES = _NEWS_SOURCES[:3]
# Keys in `request.meta`.
_PORTAL_META, _LEVEL_META, _GUESSED_META = "portal", "level", "guessed"
_SITEMAP_PRIORITY = -5
# Measured on the 46 saved pages without an address: listings with enough text to pass for articles link to at least 115
# articles, articles to at most 70.
_LISTING_LINKS_MIN = 100
_ENTRIES_PER_STEP = 500
# What happens to articles that are not requested; the stats use these words.
_LEFT_OUT = frozenset({"known", "over_limit", "due_over_limit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsArguments(ListingArguments):
    site: str = required(
        text(), "Names of portals with commas between them, or `all`. A host that is not a known portal works too."
    )
    sources: tuple[str, ...] = option(
        _DEFAULT_SOURCES, words_of(_NEWS_SOURCES, may_be_empty=False), "Where to look for articles."
    )
    depth: int = option(
        1,
        integer(1, MAX_COUNT),
        "Levels of sections followed below a home page, for sites whose sections the table of portals does not name.",
    )
    articles: int = option(
        1_000,
        integer(1, MAX_COUNT),
        "Largest number of new articles requested of a site in one run, and of stored ones that are due.",
    )
    age: int | None = option(None, integer(0, 36_500), "Skip articles that are known to be older than this many days.")


class NewsSpider(ListingSpider):
    """Reads sections, feeds and sitemaps of news sites, and finds those that the table does not name."""

    name = "news"
    Arguments = NewsArguments
    arguments: NewsArguments
    portals: dict[str, Portal]
    table_faults: list[str]

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        if self.arguments.age is not None:
            oldest = datetime.now(UTC).date() - timedelta(days=self.arguments.age)
            self.arguments = replace(self.arguments, since=max(oldest, self.arguments.since or date.min))
        self._admitted: dict[str, _AdmittedArticles] = {}
        self.renders_all = True

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        config = config_of(crawler)
        faults: dict[str, str] = {}
        try:
            table = read_portals(config.portals, faults)
            names = [name for name in spider.arguments.site.split(",") if name.strip().lower() not in faults]
            if not names:
                raise ConfigError("; ".join(faults.values()))
            portals = select_portals(",".join(names), table)
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"the argument 'site' of 'news' is {spider.arguments.site!r}: {error}") from error
        spider.table_faults = list(faults.values())
        if "saved" in spider.arguments.sources and not config.replay:
            raise ConfigError("sources=saved reads saved pages, but REPLAY is not set: add -s REPLAY=PATH")
        spider.portals = {portal.name: portal for portal in portals}
        crawler.signals.connect(spider.report_faults, signal=signals.spider_opened)
        crawler.signals.connect(spider.add_cookie, signal=signals.request_reached_downloader)
        spider.renders_all = config.render or not any(portal.render for portal in portals)
        _apply_portal_settings(crawler.settings, portals, config)
        return spider

    def sections(self) -> Sequence[str]:
        return [portal.start for portal in self.portals.values()]

    async def start(self) -> AsyncIterator[Request]:
        for portal in self.portals.values():
            for request in self._start_requests(portal):
                yield request

    def _start_requests(self, portal: Portal) -> Iterator[Request]:
        sources = self.arguments.sources
        if "saved" in sources:
            urls = (url for url in replay_source(self.crawler).urls() if _is_saved_page_of(portal, url))
            yield from (self._portal_request(portal, Request(url, self.parse_saved)) for url in urls)
        sections = portal.sections if "sections" in sources else ()
        yield from (self._portal_request(portal, self.listing(url, dont_filter=True)) for url in sections)
        unknown = {"sections": not portal.sections, "feeds": not portal.feeds}
        if any(unknown.get(source) for source in sources):
            yield self._portal_request(portal, self.listing(portal.start, dont_filter=True), **{_LEVEL_META: 0})
        if "feeds" in sources:
            yield from (self._feed_request(portal, url, "feed") for url in portal.feeds)
        if "sitemaps" in sources and portal.sitemaps:
            yield from (self._feed_request(portal, url, "sitemap") for url in portal.sitemaps)
        elif "sitemaps" in sources:
            meta = {"judge": False, "handle_httpstatus_list": [HTTPStatus.NOT_FOUND, HTTPStatus.GONE]}
            robots = Request(urljoin(portal.start, "/robots.txt"), self.parse_robots, meta=meta)
            yield self._portal_request(portal, robots)

    async def parse_listing(  # type: ignore[override] # Scrapy takes both kinds of generators
        self, response: Response, number: int = 1
    ) -> AsyncIterator[Request]:
        """Yield articles and the next page, and the feeds and sections that the table does not name."""
        assert isinstance(response, TextResponse)
        portal = self._portal(response)
        level = response.meta.get(_LEVEL_META)
        if "feeds" in self.arguments.sources and not portal.feeds and number == 1:
            for url in await self._without_absent(feed_links(response)):
                yield self._feed_request(portal, url, "feed")
        if not {"sections", "saved"}.intersection(self.arguments.sources):
            return
        requests = list(super().parse_listing(response, number))
        articles = {request.url: request for request in requests if request.callback == self.parse_article}
        async for entry in self._within_limit(portal, map(FeedEntry, articles)):
            yield self._portal_request(portal, articles[entry.url])
        for request in requests:
            if request.callback != self.parse_article:
                yield self._portal_request(portal, request)
        if level is not None and level < self.arguments.depth and not portal.sections:
            for url in await self._without_absent(section_links(response)):
                yield self._portal_request(portal, self.listing(url), **{_LEVEL_META: level + 1})

    def article_links(self, response: TextResponse) -> list[Link]:
        links = article_links(response, self._portal(response).articles, self.link_history)
        single = drop_variants(links, lambda link: link.url)
        self.count("url_variants", len(links) - len(single))
        return single

    async def parse_robots(self, response: Response) -> AsyncIterator[Request]:
        """Yield the sitemaps that a robots.txt names; if there is none, the one at the usual address."""
        urls = sitemap_links(response) or [urljoin(response.url, "/sitemap.xml")]
        async for request in self._sitemap_requests(self._portal(response), [FeedEntry(url) for url in urls], 0):
            yield request

    async def parse_listed(
        self, response: Response, asked: str, nested: int = 0, taken: str = ""
    ) -> AsyncIterator[Request]:
        """Yield the entries of a feed or sitemap. Its bytes decide which it is, whatever it was `asked` for as.

        `taken` is the URL of a sitemap that was taken from a long index.
        """
        seconds = config_of(self.crawler).cleaning_seconds
        listing = await asyncio.to_thread(read_listing, response, datetime.now(UTC), _FEED_ENTRIES_MAX, seconds)
        if isinstance(listing, FeedProblem):
            logger.info("%s is not a %s: %s", response.url, asked, listing)
            self.count(f"{asked}_{listing}")
            return
        self._count_listing(listing)
        portal = self._portal(response)
        entries = [entry for entry in listing.entries if self._is_wanted(portal, entry)]
        if listing.kind is FeedKind.INDEX:
            followed = entries if nested < _NESTED_INDEXES_MAX else []
            self.count("sitemaps_left_out", len(entries) - len(followed))
            async for request in self._sitemap_requests(portal, followed, nested + 1):
                yield request
            return
        single = drop_variants(entries, lambda entry: entry.url)
        self.count("url_variants", len(entries) - len(single))
        articles = [entry for entry in single if not portal.articles or portal.articles.search(entry.url)]
        self.count("no_article", len(single) - len(articles))
        guessed = {_GUESSED_META: True} if listing.kind is FeedKind.SITEMAP and not portal.articles else {}
        reading = _Reading(is_known=not (listing.left_out or listing.cut))
        async for entry in self._within_limit(portal, articles, reading):
            lastmod = {LASTMOD_KEY: entry.changed.isoformat()} if entry.changed else {}
            request = Request(without_fragment(entry.url), self.parse_article)
            yield self._portal_request(portal, request, **lastmod, **guessed)
        if taken and reading.is_known:
            await self._use_store(lambda store: store.record_known_sitemap(taken), None)

    def parse_article(self, response: Response) -> Iterator[FetchedPage]:
        """Yield the page, unless it is old, on another site, or guessed to be an article and without content."""
        assert isinstance(response, TextResponse)
        portal = self._portal(response)
        if not portal.owns(response.url) and not _is_saved_page_of(portal, response.url):
            self.count("elsewhere")
            return
        if response.meta.get(_GUESSED_META) and not has_content(response.selector.root):
            self.count("no_article")
            return
        for fetched_page in super().parse_article(response):
            self.count(f"pages/{portal.name}")
            yield fetched_page

    async def parse_saved(self, response: Response) -> AsyncIterator[Any]:
        """Yield a saved page as an article or a listing. Its URL decides; without a pattern or a URL, its text does."""
        assert isinstance(response, TextResponse)
        portal = self._portal(response)
        # Links of a page without a known address are resolved against the home page.
        page = response if portal.owns(response.url) else response.replace(url=portal.start)
        links = article_links(page, portal.articles)
        if page is response and portal.articles:
            is_article = portal.articles.search(response.url) is not None
        else:
            is_article = has_content(response.selector.root) and len(links) < _LISTING_LINKS_MIN
        if is_article:
            for article in self.parse_article(response):
                yield article
        elif links:
            async for request in self.parse_listing(page):
                yield request
        else:
            self.count("no_article")

    async def _sitemap_requests(
        self, portal: Portal, entries: Sequence[FeedEntry], nested: int
    ) -> AsyncIterator[Request]:
        """Yield the sitemaps of an index, the newest first; if it is long, only the ones for this run."""
        is_long = len(entries) > _SITEMAPS_MAX
        taken = entries
        if is_long:
            taken = await self._use_store(
                lambda store: store.take_sitemaps(entries, _SITEMAPS_MAX), entries[:_SITEMAPS_MAX]
            )
        self.count("sitemaps_left_out", len(entries) - len(taken))
        for entry in taken:
            yield self._feed_request(portal, entry.url, "sitemap", nested, entry.url if is_long else "")

    def _is_wanted(self, portal: Portal, entry: FeedEntry) -> bool:
        """Return True if an entry is on the site and new enough."""
        if not portal.owns(entry.url):
            self.count("foreign")
        elif self._is_old(entry.newest):
            self.count("older")
        else:
            return True
        return False

    def _count_listing(self, listing: FeedListing) -> None:
        self.count(f"{listing.kind}_entries", len(listing.entries))
        self.count(f"{listing.kind}_left_out", listing.left_out)
        self.count(f"{listing.kind}_cut", int(listing.cut))
        self.count("too_long", listing.too_long)
        self.count("dates_doubted", listing.doubtful)

    async def _within_limit(
        self, portal: Portal, entries: Iterable[FeedEntry], reading: _Reading | None = None
    ) -> AsyncIterator[FeedEntry]:
        """Yield the articles that are within the site's limit; count the others.

        Stored articles that are not due are left out and do not use up the limit. So each run of a crawl reads on where
        the one before it ended, in a sitemap of any length.
        """
        admitted = self._admitted.setdefault(portal.name, _AdmittedArticles(self.arguments.articles))
        left = iter(entries)
        while part := {entry: url_key(entry.url) for entry in islice(left, _ENTRIES_PER_STEP)}:
            known = await self._known_pages(list(part.values()))
            for entry, key in part.items():
                if reading is not None and key not in known:
                    reading.is_known = False
                event = admitted.admit(key, known.get(key), entry.changed)
                if event is not None:
                    self.count(event if event in _LEFT_OUT else f"{event}/{portal.name}")
                if event not in _LEFT_OUT:
                    yield entry

    async def _known_pages(self, keys: Sequence[str]) -> dict[str, KnownPage]:
        """Return the stored facts about these pages; {} without a database, and in a replay, which reads all pages."""
        return await self._use_store(lambda store: store.known_pages(keys), {})

    async def _without_absent(self, links: Sequence[str]) -> list[str]:
        """Return the links without those to addresses where nothing was found lately."""
        keys = {url: url_key(url) for url in links}
        absent = await self._use_store(lambda store: store.absent_keys(set(keys.values())), set[str]())
        self.count("known", sum(key in absent for key in keys.values()))
        return [url for url, key in keys.items() if key not in absent]

    async def _use_store(self, work: Callable[[Store], _Result], otherwise: _Result) -> _Result:
        """Return the result of some work with the database; `otherwise` without one, and in a replay.

        A database error ends the crawl, as it does when writing.
        """
        thread: StoreThread | None = context_of(self.crawler).store_thread
        if thread is None or thread.failed or config_of(self.crawler).replay:
            return otherwise
        try:
            return await thread.run(partial(work, thread.store))
        except StoreError as error:
            thread.fail(error)
            return otherwise

    def _portal(self, response: Response) -> Portal:
        return self.portals[response.meta[_PORTAL_META]]

    def _feed_request(self, portal: Portal, url: str, kind: str, nested: int = 0, taken: str = "") -> Request:
        """Return the request for a feed or sitemap. The response filter ignores its response."""
        about = {"asked": kind, "nested": nested} | ({"taken": taken} if taken else {})
        request = Request(url, self.parse_listed, cb_kwargs=about, meta={"judge": False}, priority=_SITEMAP_PRIORITY)
        return self._portal_request(portal, request)

    def report_faults(self) -> None:
        """Say which rows of the table are left out: the crawl of the others does not end with exit code 0."""
        for fault in self.table_faults:
            logger.error("A row of the table of portals is left out: %s", fault)
        if self.table_faults:
            self.crawler.stats.set_value(SITE_PROBLEMS_STAT, self.table_faults)

    def add_cookie(self, request: Request) -> None:
        """Add the Cookie of a portal's row to a request to its hosts just before it is sent, so that none stores it."""
        portal = self.portals.get(request.meta.get(_PORTAL_META, ""))
        if portal is not None and portal.cookie and portal.owns(request.url):
            # A repeated or redirected request has it already; COOKIES_ENABLED adds others.
            kept = [value.decode("latin-1") for value in request.headers.getlist("Cookie")]
            request.headers["Cookie"] = "; ".join(kept if portal.cookie in "; ".join(kept) else [*kept, portal.cookie])

    def _portal_request(self, portal: Portal, request: Request, **more: Any) -> Request:
        """Return the new request with the headers, the cleaning method and the rendering of the portal's row."""
        meta = request.meta
        meta |= {_PORTAL_META: portal.name, **more}
        if portal.method:
            meta[METHOD_META_KEY] = portal.method
        if not self.renders_all and not portal.render:
            meta["render"] = False
        for name, value in portal.headers.items():
            if name.lower() != "cookie":
                request.headers[name] = value
        return request


@dataclass(slots=True)
class _Reading:
    """A feed or sitemap that is being read: True as long as all its entries are known."""

    is_known: bool


class _AdmittedArticles:
    """The articles of a site that a run requests: up to `limit` new ones, and as many stored ones that are due."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._keys: set[int] = set()
        self._counts = dict.fromkeys(("articles", "due"), 0)

    def admit(self, key: str, known: KnownPage | None, lastmod: date | None) -> str | None:
        """Return what happens to an article, as the spider counts it; None for one that is admitted already.

        A stored article is due too if its sitemap says that it has changed.
        """
        if hash(key) in self._keys:
            return None
        if known is not None and not (known.is_due or lastmod_claims_change(lastmod, known.last_seen)):
            return "known"
        event = "articles" if known is None else "due"
        if self._counts[event] >= self._limit:
            return "over_limit" if known is None else "due_over_limit"
        self._counts[event] += 1
        self._keys.add(hash(key))
        return event


def _apply_portal_settings(settings: BaseSettings, portals: Iterable[Portal], config: Config) -> None:
    """Set the settings that follow from rows and arguments, before the crawl's components read the settings."""
    delays = {name: {"delay": portal.delay} for portal in portals if portal.delay for name in portal.download_slots}
    if delays and not config.replay:
        # A delay that the user has set for a host is kept.
        priority = max(settings.getpriority("DOWNLOAD_SLOTS") or 0, SETTINGS_PRIORITIES["spider"])
        settings.set("DOWNLOAD_SLOTS", delays | settings.getdict("DOWNLOAD_SLOTS"), priority)
    rendered = [portal.name for portal in portals if portal.render]
    if rendered and not config.render:
        set_ours(settings, "RENDER", value=True, priority="spider")
        if not read_setting("RENDER", settings):
            raise ConfigError(f"RENDER=false, but the row of {rendered[0]!r} says render = true")


def _is_saved_page_of(portal: Portal, url: str) -> bool:
    """Return True if a saved page is a portal's: by its address, or by its folder if the address is unknown."""
    return portal.owns(url) or host_of(url) == f"{portal.name}.invalid"
