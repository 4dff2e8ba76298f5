"""Second item pipeline: fingerprint the page of each visit and compare its blocks with one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawler.processing import FingerprintStep
from crawler.visit import Visit

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class DedupPipeline:
    """Fingerprints visits; other items pass unchanged."""

    def __init__(self, step: FingerprintStep) -> None:
        self._step = step

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(FingerprintStep.from_crawler(crawler))

    def process_item(self, item: Any) -> Any:
        return self._step.fingerprint(item) if isinstance(item, Visit) else item
