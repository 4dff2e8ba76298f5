"""The base class of the spiders that read listings: listing, articles, next page of the listing."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy import Request
from scrapy.http import TextResponse
from xxhash import xxh64_intdigest

from cleaning.blocks import Page
from cleaning.declare import day, integer, option
from cleaning.metadata.page import read_metadata
from crawler.config.arguments import ArgumentSpider
from crawler.page import page
from crawler.urls import url_key
from crawler.visit import SECTION_META_KEY
from spiders.dates import iso_day
from spiders.link_history import LinkHistoryRecorder
from spiders.links import URL_MAX_CHARS, Link, article_links, count_long_links
from spiders.pagination import next_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawler.visit import FetchedPage
    from spiders.link_history import LinkHistory

logger = logging.getLogger(__name__)

# Articles come before further listings: a stopped crawl has stored the articles of its listings.
_LISTING_PRIORITY = -10
# The key in `request.meta` of a listing's later pages that holds the address of its first page.
_FIRST_PAGE_META = "listing"
MAX_COUNT = 100_000
"""The largest number that an argument that counts something takes. No listing is read further."""
_GUESSED_DATES = frozenset({None, "address", "visible text"})
# For all listings of a crawl together, about 15 MB. A listing that repeats itself only after more URLs than this ends
# at the argument `pages`.
_SEEN_URLS_MAX = 100_000
_PROGRAM_NAME = re.compile(r"(?:^|/)(?:index|default)\.\w{1,5}$|\.(?:html?|php|aspx?|jsp)$", re.IGNORECASE)
_SECTION_CHARS_MAX = 200


class SeenUrls:
    """The URLs that each listing has shown, in bounded memory.

    A listing is identified by its first page. URLs are compared by their keys, so session ids do not make them new. The
    URLs of other listings do not count: they are no reason to end this listing early.
    """

    def __init__(self, most: int = _SEEN_URLS_MAX) -> None:
        self._most = most
        self._keys: OrderedDict[int, None] = OrderedDict()

    def add(self, listing: str, urls: Iterable[str]) -> int:
        """Record the URLs of a listing and return how many of them are new."""
        keys = {_seen_key(listing, url) for url in urls}
        new = sum(key not in self._keys for key in keys)
        for key in keys:
            self._keys[key] = None
            self._keys.move_to_end(key)
        while len(self._keys) > self._most:
            self._keys.popitem(last=False)
        return new

    def has(self, listing: str, url: str) -> bool:
        """Return True if a listing has shown a URL and the URL is not forgotten."""
        return _seen_key(listing, url) in self._keys


def _seen_key(listing: str, url: str) -> int:
    return xxh64_intdigest(f"{url_key(listing)} {url_key(url)}".encode())


def section_name(url: str) -> str | None:
    """Return the path of a listing as the name of its section, "science/space"; None for a home page.

    A listing that only its query names is called by that: "cat=5".
    """
    parts = urlsplit(url)
    name = unquote(_PROGRAM_NAME.sub("", parts.path)).strip("/") or unquote(parts.query)
    return " ".join(name.split())[:_SECTION_CHARS_MAX] or None


def _stated_day(response: TextResponse) -> date | None:
    """Return the day on which a page says that it was published, else that of its first time element."""
    metadata = read_metadata(Page(response.selector.root, response.url))
    if metadata.sources.get("published") in _GUESSED_DATES:
        return iso_day(response.css("time[datetime]::attr(datetime)").get(""))
    return iso_day(metadata.published or "")


def _first_page(response: Response) -> str:
    """Return the address of the first page of a listing."""
    return str(response.meta.get(_FIRST_PAGE_META, response.url))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingArguments:
    """The arguments of every spider that reads listings."""

    pages: int | None = option(1, integer(1, MAX_COUNT), "Number of listing pages read in each section.")
    since: date | None = option(None, day(), "Skip articles that are known to be older than this day.")


class ListingSpider(ArgumentSpider):
    """Reads listings. Subclasses define which links are articles, and the details of the site's pages."""

    arguments: ListingArguments
    link_history: LinkHistory
    seen_urls: SeenUrls
    _recorder: LinkHistoryRecorder

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        # Kept, because Scrapy's signals hold weak references only.
        spider._recorder = LinkHistoryRecorder(crawler, spider.sections)  # noqa: SLF001 — our own new object
        spider.link_history = spider._recorder.history  # noqa: SLF001 — as above
        spider.seen_urls = SeenUrls()
        return spider

    def parse_listing(self, response: Response, number: int = 1) -> Iterator[Request]:
        """Yield the articles of a listing, and its next page as long as pages are wanted and list anything new."""
        assert isinstance(response, TextResponse)
        self.link_history.learn(response.url, is_article=False)
        links = self.article_links(response)
        wanted = [link for link in links if not self._is_old(link.published)]
        self.count("links", len(links))
        self.count("older", len(links) - len(wanted))
        self._count_long_links(response)
        if number == 1 and not links:
            logger.warning(
                "No link of %s seems to lead to an article; with the spider 'section', name them: -a allow=PATTERN; "
                "the pages of a manual are in its sitemap: docs/crawl.md, Manuals",
                response.url,
            )
        section = self.section_name(_first_page(response))
        meta = {SECTION_META_KEY: section} if section else {}
        for link in wanted:
            yield Request(link.url, callback=self.parse_article, meta=meta)
        if links and not wanted:
            return  # listings start with the newest article, so the next page has only older ones
        yield from self._next_listing_page(response, links, number)

    def _next_listing_page(self, response: TextResponse, links: Sequence[Link], number: int) -> Iterator[Request]:
        """Yield the next page of a listing, unless this page shows that the listing repeats itself."""
        following = next_page(response)
        first = _first_page(response)
        new = self.seen_urls.add(first, [link.url for link in links])
        self.seen_urls.add(first, [response.url])
        if following is None or number >= (self.arguments.pages or MAX_COUNT):
            return
        if not new or self.seen_urls.has(first, following):
            self.count("repeated")
            logger.debug("The listing %s ends at %s, which lists nothing new", first, response.url)
            return
        yield self.listing(following, number + 1, meta={_FIRST_PAGE_META: first})

    def parse_article(self, response: Response) -> Iterator[FetchedPage]:
        """Yield the page, unless its own date is too old."""
        assert isinstance(response, TextResponse)
        # Without `since` the page need not be parsed here: a cleaning process does it.
        if self.arguments.since is not None and self._is_old(_stated_day(response)):
            self.count("older")
            return
        yield page(response)

    def article_links(self, response: TextResponse) -> list[Link]:
        """Return the links that lead to articles, by their features and the history of the site's links."""
        return article_links(response, history=self.link_history)

    def section_name(self, url: str) -> str | None:
        """Return the section that a listing shows, by the address of its first page; None if it names none."""
        return section_name(url)

    def listing(self, url: str, number: int = 1, **more: Any) -> Request:
        """Return the request for a page of a listing."""
        priority = 0 if number == 1 else _LISTING_PRIORITY
        return Request(url, callback=self.parse_listing, cb_kwargs={"number": number}, priority=priority, **more)

    def count(self, event: str, by: int = 1) -> None:
        """Count an event in the stat `<spider>/<event>`."""
        self.crawler.stats.inc_value(f"{self.name}/{event}", by)

    def _count_long_links(self, response: TextResponse) -> None:
        if count := count_long_links(response):
            self.count("too_long", count)
            logger.warning(
                "%s has %d links of more than %d characters, which are not followed", response.url, count, URL_MAX_CHARS
            )

    def _is_old(self, published: date | None) -> bool:
        return published is not None and self.arguments.since is not None and published < self.arguments.since
