"""First item pipeline: clean the page of each visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawler.processing import CleanStep
from crawler.visit import Visit

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class CleanPipeline:
    """Cleans visits; other items pass unchanged."""

    def __init__(self, step: CleanStep) -> None:
        self._step = step

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(CleanStep.from_crawler(crawler))

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit):
            return item
        visit = await self._step.clean(item)
        self._step.count(visit)
        return visit

    def close_spider(self) -> None:
        self._step.close()
