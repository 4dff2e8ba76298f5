"""First item pipeline: clean the page of each visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawler.processing import CleanStep
from crawler.visit import Visit, visit_cleaned

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class CleanPipeline:
    """Cleans visits and sends the signal `visit_cleaned` for each; other items pass unchanged."""

    def __init__(self, crawler: Crawler, step: CleanStep) -> None:
        self._crawler = crawler
        self._step = step

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, CleanStep.from_crawler(crawler))

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit):
            return item
        visit = await self._step.clean(item)
        self._step.count(visit)
        self._crawler.signals.send_catch_log(visit_cleaned, visit=visit)
        return visit

    def close_spider(self) -> None:
        self._step.close()
