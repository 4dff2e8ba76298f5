"""Which URL patterns led to articles, in this crawl and in the pages stored before."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals

from crawler.context import context_of
from crawler.discovery.article_detection import is_article
from crawler.errors import StoreError
from crawler.urls import site_of
from crawler.visit import CleanedPage, Outcome, visit_cleaned
from spiders.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

    from crawler.processing import StoreThread
    from crawler.visit import Visit

_HISTORY_PAGES_MIN = 3
"""Pages of a pattern that must be known before the pattern counts."""

# Limits of the memory: sites, patterns of each site, and pages of each pattern, after which the counts are halved.
_SITES_MAX = 1_000
_PATTERNS_MAX = 500
_PAGES_MAX = 64
# Outcomes of links that do not lead to a page of text.
_NEVER_ARTICLES = frozenset({Outcome.NOT_HTML, Outcome.BINARY, Outcome.EMPTY})


@dataclass(frozen=True, slots=True)
class _PatternCounts:
    """How many pages of a pattern were articles, and how many were not."""

    articles: int = 0
    others: int = 0

    @property
    def pages(self) -> int:
        return self.articles + self.others

    def after(self, *, is_article: bool) -> _PatternCounts:
        """Return the counts after one more page. They are halved regularly, so that a rebuilt site is learned again."""
        half = 2 if self.pages >= _PAGES_MAX else 1
        return _PatternCounts(self.articles // half + is_article, self.others // half + (not is_article))


class LinkHistory:
    """How often the URLs of each pattern led to articles, by site.

    Above the limits, the site and the pattern that were updated least recently are forgotten first.
    """

    def __init__(self, most_sites: int = _SITES_MAX, most_patterns: int = _PATTERNS_MAX) -> None:
        self._most_sites, self._most_patterns = most_sites, most_patterns
        self._sites: OrderedDict[str, OrderedDict[str, _PatternCounts]] = OrderedDict()

    def learn(self, url: str, *, is_article: bool) -> None:
        """Record whether the page at a URL is an article."""
        known = self._sites.setdefault(site_of(url), OrderedDict())
        self._sites.move_to_end(site_of(url))
        pattern = url_pattern(url)
        for name in (pattern.exact, pattern.kind):
            known[name] = known.get(name, _PatternCounts()).after(is_article=is_article)
            known.move_to_end(name)
        for table, most in ((self._sites, self._most_sites), (known, self._most_patterns)):
            while len(table) > most:
                table.popitem(last=False)

    def likelihood(self, url: str) -> float | None:
        """Return the probability that a URL leads to an article, estimated from pages of its site with its pattern.

        The exact pattern is used if it is known, otherwise its kind. None if neither was seen on _HISTORY_PAGES_MIN
        pages. The estimate is never 0 or 1: 3 articles of 3 pages give 0.8, 10 of 10 give 0.92 (Laplace's rule).
        """
        known = self._sites.get(site_of(url), OrderedDict())
        pattern = url_pattern(url)
        for counts in (known.get(pattern.exact), known.get(pattern.kind)):
            if counts is not None and counts.pages >= _HISTORY_PAGES_MIN:
                return (counts.articles + 1) / (counts.pages + 2)
        return None


class LinkHistoryRecorder:
    """Fills a crawl's `history` with the outcomes of its visits as their pages are cleaned.

    Before the first request it reads the stored pages of the sites of `sections`. A crawl without cleaning, or with
    another method than `default`, learns nothing from its pages; a crawl without a database starts with an empty
    history.
    """

    def __init__(self, crawler: Crawler, sections: Callable[[], Sequence[str]]) -> None:
        self.history = LinkHistory()
        self._crawler = crawler
        self._sections = sections
        crawler.signals.connect(self.recall, signal=signals.spider_opened)
        crawler.signals.connect(self.note, signal=visit_cleaned)

    async def recall(self) -> None:
        """Learn from the stored pages of the sites. A database error ends the crawl, as it does when writing."""
        writer: StoreThread | None = context_of(self._crawler).store_thread
        sites = sorted({site_of(url) for url in self._sections()})
        if writer is None or not sites:
            return
        try:
            known = await writer.run(partial(writer.store.page_outcomes, sites))
        except StoreError as error:
            writer.fail(error)
            return
        for outcome in known:
            self.history.learn(outcome.url, is_article=outcome.prose.is_article)
        self._count("recalled", len(known))

    def note(self, visit: Visit) -> None:
        """Learn from a visit, if it shows whether its page is an article."""
        if isinstance(visit.page, CleanedPage):
            verdict: bool | None = is_article(visit.page.cleaned)
        else:
            verdict = False if visit.outcome in _NEVER_ARTICLES else None
        if verdict is not None:
            self.history.learn(visit.url, is_article=verdict)
            self._count("articles" if verdict else "no_articles")

    def _count(self, event: str, by: int = 1) -> None:
        assert self._crawler.stats
        self._crawler.stats.inc_value(f"learned/{event}", by)
