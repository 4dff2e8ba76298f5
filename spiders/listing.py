"""The base class of spiders that read listings: listing, articles, next page of the listing."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse
from xxhash import xxh64_intdigest

from crawler.arguments import ArgumentSpider, argument, read_count, read_day
from crawler.page import page
from crawler.urls import url_key
from spiders.dates import iso_day
from spiders.link_history import LinkHistoryRecorder
from spiders.links import Link, article_links
from spiders.pagination import next_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawler.visit import FetchedPage


# Of all listings of a crawl together, some 15 MB. A listing that shows the same again only after so many is ended by
# the argument `pages`.
_SEEN_URLS_MAX = 100_000


class SeenUrls:
    """Addresses by the first page of their listing, told apart by their keys: session ids make none of them new.

    Each listing is for itself: what another one has shown is no reason to leave this one early.
    """

    def __init__(self, most: int = _SEEN_URLS_MAX) -> None:
        self._most = most
        self._marks: OrderedDict[int, None] = OrderedDict()

    def add(self, listing: str, urls: Iterable[str]) -> int:
        """Note what a listing shows, and return how many of the addresses it had not shown before."""
        marks = {_seen_key(listing, url) for url in urls}
        new = sum(mark not in self._marks for mark in marks)
        for mark in marks:
            self._marks[mark] = None
            self._marks.move_to_end(mark)
        while len(self._marks) > self._most:
            self._marks.popitem(last=False)
        return new

    def has(self, listing: str, url: str) -> bool:
        """Tell whether a listing has shown an address, as far as is remembered."""
        return _seen_key(listing, url) in self._marks


def _seen_key(listing: str, url: str) -> int:
    return xxh64_intdigest(f"{url_key(listing)} {url_key(url)}".encode())


logger = logging.getLogger(__name__)

# Articles before further listings: a crawl that is stopped has stored what it has seen.
_LISTING_PRIORITY = -10
# Where a listing's further pages carry, in their requests' meta, the address of its first one.
_FIRST_PAGE_META = "listing"
# However long a listing says that it is.
_PAGES_MAX = 100_000
_DATE_SELECTOR = "meta[property='article:published_time']::attr(content), time[datetime]::attr(datetime)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingArguments:
    """What every spider of listings can be asked for."""

    pages: int | None = argument(read_count, "listing pages of each section that are read", 1)
    since: date | None = argument(  # noqa: RUF009 — declares a field
        read_day, "articles older than this day are left out, where their date is known", None
    )


class ListingSpider(ArgumentSpider):
    """A spider of listings; subclasses say which links are articles and what is special about the pages."""

    asked: ListingArguments
    experience: LinkHistoryRecorder
    listed: SeenUrls

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.experience = LinkHistoryRecorder(crawler, spider.sections)
        spider.listed = SeenUrls()
        return spider

    def sections(self) -> Sequence[str]:
        """Return addresses on the sites of which stored pages are to be recalled before the crawl; none by default."""
        return ()

    def parse_listing(self, response: Response, number: int = 1) -> Iterator[Request]:
        """Yield the articles of a listing, and its next page while more are asked for and it lists anything new."""
        assert isinstance(response, TextResponse)
        self.experience.shapes.learn(response.url, is_article=False)
        links = self.article_links(response)
        wanted = [link for link in links if not self._is_old(link.published)]
        self.count("links", len(links))
        self.count("older", len(links) - len(wanted))
        if number == 1 and not links:
            logger.warning(
                "No link of %s seems to lead to an article; 'section' can be told: -a allow=PATTERN", response.url
            )
        for link in wanted:
            yield Request(link.url, callback=self.parse_article)
        if links and not wanted:
            return  # listings begin with the newest: what follows is older still
        yield from self._further(response, links, number)

    def _further(self, response: TextResponse, links: Sequence[Link], number: int) -> Iterator[Request]:
        """Yield the next page of a listing, unless this one shows that it goes on for ever."""
        following = next_page(response)
        first = str(response.meta.get(_FIRST_PAGE_META, response.url))
        new = self.listed.add(first, [link.url for link in links])
        self.listed.add(first, [response.url])
        if following is None or number >= min(self.asked.pages or _PAGES_MAX, _PAGES_MAX):
            return
        if not new or self.listed.has(first, following):
            self.count("repeated")
            logger.debug("The listing %s ends at %s, which lists nothing new", first, response.url)
            return
        yield self.listing(following, number + 1, meta={_FIRST_PAGE_META: first})

    def parse_article(self, response: Response) -> Iterator[FetchedPage]:
        """Yield the page, unless its own date is too old."""
        assert isinstance(response, TextResponse)
        if self._is_old(iso_day(response.css(_DATE_SELECTOR).get(""))):
            self.count("older")
            return
        yield page(response)

    def article_links(self, response: TextResponse) -> list[Link]:
        """Return the links that lead to articles, by their looks and what the crawl has learned."""
        return article_links(response, learned=self.experience.shapes)

    def listing(self, url: str, number: int = 1, **more: Any) -> Request:
        """Return the request for a page of a listing."""
        priority = 0 if number == 1 else _LISTING_PRIORITY
        return Request(url, callback=self.parse_listing, cb_kwargs={"number": number}, priority=priority, **more)

    def count(self, event: str, by: int = 1) -> None:
        """Count an event as `<spider>/<event>`."""
        self.crawler.stats.inc_value(f"{self.name}/{event}", by)

    def _is_old(self, published: date | None) -> bool:
        return published is not None and self.asked.since is not None and published < self.asked.since
