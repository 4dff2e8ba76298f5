"""What a crawl learns about which links are articles: from the pages it has read, and from those stored before."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import signals

from crawler.addon import Blocksieve
from crawler.errors import StoreError
from crawler.prose import is_article
from crawler.urls import site
from crawler.visit import Outcome, Visit
from spiders.shapes import Shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

# What a link leads to that is no page of text.
_NO_ARTICLE = frozenset({Outcome.NOT_HTML, Outcome.BINARY, Outcome.EMPTY})


class Experience:
    """Learns the shapes of sites from what becomes of a crawl's visits, as they leave the pipelines.

    Before the first request it reads what the database holds of the sites of `sections`. A crawl whose pipelines do not
    clean, or clean with another method than `default`, learns nothing of its pages; one that does not store begins with
    nothing.
    """

    def __init__(self, crawler: Crawler, sections: Callable[[], Sequence[str]]) -> None:
        self.shapes = Shapes()
        self._crawler = crawler
        self._sections = sections
        crawler.signals.connect(self.recall, signal=signals.spider_opened)
        crawler.signals.connect(self.note, signal=signals.item_scraped)

    async def recall(self) -> None:
        """Learn from the stored pages of the sites. A database that fails ends the crawl, as when it is written."""
        addon = self._crawler.get_addon(Blocksieve)
        writer = addon.writer if addon else None
        sites = sorted({site(url) for url in self._sections()})
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
        found = is_article(item.cleaned) if item.cleaned else False if item.outcome in _NO_ARTICLE else None
        if found is not None:
            self.shapes.learn(item.url, is_article=found)
            self._count("articles" if found else "no_articles")

    def _count(self, event: str, by: int = 1) -> None:
        assert self._crawler.stats
        self._crawler.stats.inc_value(f"learned/{event}", by)
