"""Which URL patterns led to articles, in this crawl and in the pages stored before."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import signals

from crawler.context import context_of
from crawler.discovery.article_detection import is_article
from crawler.errors import StoreError
from crawler.urls import site_of
from crawler.visit import Outcome, Visit
from spiders.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

    from crawler.processing import StoreThread


# Bounds of what is remembered: of sites, of shapes of each, and of pages of each, after which all count half.
_SITES_MAX = 1_000
_PATTERNS_MAX = 500
_PAGES_MAX = 64
# Confirmed pages of a shape before they say anything.
HISTORY_PAGES_MIN = 3


@dataclass(frozen=True, slots=True)
class _PatternCounts:
    """What pages of a shape turned out to be."""

    articles: int = 0
    others: int = 0

    @property
    def pages(self) -> int:
        return self.articles + self.others

    def after(self, *, is_article: bool) -> _PatternCounts:
        """Return the counts after one more page; halved from time to time, so that a rebuilt site is learned anew."""
        half = 2 if self.pages >= _PAGES_MAX else 1
        return _PatternCounts(self.articles // half + is_article, self.others // half + (not is_article))


class LinkHistory:
    """What is known of sites: how often URLs of a shape led to articles.

    What was learned longest ago is forgotten first, beyond so many sites, and shapes of each.
    """

    def __init__(self, most_sites: int = _SITES_MAX, most_shapes: int = _PATTERNS_MAX) -> None:
        self._most_sites, self._most_shapes = most_sites, most_shapes
        self._sites: OrderedDict[str, OrderedDict[str, _PatternCounts]] = OrderedDict()

    def learn(self, url: str, *, is_article: bool) -> None:
        """Note what the page at a URL turned out to be."""
        known = self._sites.setdefault(site_of(url), OrderedDict())
        self._sites.move_to_end(site_of(url))
        found = url_pattern(url)
        for name in (found.exact, found.kind):
            known[name] = known.get(name, _PatternCounts()).after(is_article=is_article)
            known.move_to_end(name)
        for table, most in ((self._sites, self._most_sites), (known, self._most_shapes)):
            while len(table) > most:
                table.popitem(last=False)

    def likelihood(self, url: str) -> float | None:
        """Return how likely a URL leads to an article, by the pages of its site that have its shape.

        By its exact shape where that is known, otherwise by its kind; None where neither was seen on `LEAST_PAGES`.
        It is never 0 or 1: three articles of three make 0.8, ten of ten 0.92 (Laplace's rule).
        """
        known = self._sites.get(site_of(url), OrderedDict())
        found = url_pattern(url)
        for seen in (known.get(found.exact), known.get(found.kind)):
            if seen is not None and seen.pages >= HISTORY_PAGES_MIN:
                return (seen.articles + 1) / (seen.pages + 2)
        return None


logger = logging.getLogger(__name__)

# What a link leads to that is no page of text.
_NEVER_ARTICLES = frozenset({Outcome.NOT_HTML, Outcome.BINARY, Outcome.EMPTY})


class LinkHistoryRecorder:
    """Learns the shapes of sites from what becomes of a crawl's visits, as they leave the pipelines.

    Before the first request it reads what the database holds of the sites of `sections`. A crawl whose pipelines do not
    clean, or clean with another method than `default`, learns nothing of its pages; one that does not store begins with
    nothing.
    """

    def __init__(self, crawler: Crawler, sections: Callable[[], Sequence[str]]) -> None:
        self.shapes = LinkHistory()
        self._crawler = crawler
        self._sections = sections
        crawler.signals.connect(self.recall, signal=signals.spider_opened)
        crawler.signals.connect(self.note, signal=signals.item_scraped)

    async def recall(self) -> None:
        """Learn from the stored pages of the sites. A database that fails ends the crawl, as when it is written."""
        writer: StoreThread | None = context_of(self._crawler).store_thread
        sites = sorted({site_of(url) for url in self._sections()})
        if writer is None or not sites:
            return
        try:
            known = await writer.run(partial(writer.store.outcomes, sites))
        except StoreError as error:
            writer.fail(error)
            return
        for outcome in known:
            self.shapes.learn(outcome.url, is_article=outcome.prose.is_article)
        self._count("recalled", len(known))

    def note(self, item: Any) -> None:
        """Learn from a visit, if it shows whether its page is an article."""
        if not isinstance(item, Visit):
            return
        found = is_article(item.cleaned) if item.cleaned else False if item.outcome in _NEVER_ARTICLES else None
        if found is not None:
            self.shapes.learn(item.url, is_article=found)
            self._count("articles" if found else "no_articles")

    def _count(self, event: str, by: int = 1) -> None:
        assert self._crawler.stats
        self._crawler.stats.inc_value(f"learned/{event}", by)
