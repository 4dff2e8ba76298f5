"""First pipeline: a fetched page becomes blocks with decisions."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cleaning import PageError, clean
from cleaning.language import load_model
from crawler.config import Config
from crawler.errors import SetupError
from crawler.visit import PAGE_FAULTS, Outcome, Visit

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from cleaning import CleanPage

logger = logging.getLogger(__name__)


class CleanPipeline:
    """Cleans each visit that has a page; what is no visit passes untouched."""

    def __init__(self, method: str, options: dict[str, Any], stats: StatsCollector) -> None:
        self._method = method
        self._options = options
        self._stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = Config.read(crawler.settings)
        _load_language_model()
        assert crawler.stats
        return cls(config.cleaning_method, dict(config.cleaning_options), crawler.stats)

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit) or item.fetched is None:
            return item
        try:
            cleaned = clean(item.fetched.tree, method=self._method, **self._options)
        except PageError as error:
            return self._failed(item, PAGE_FAULTS[error.cause], str(error))
        except Exception as error:
            # The one broad except of the project: a page that breaks cleaning must not end the crawl.
            logger.exception("Cleaning failed on %s", item.url)
            return self._failed(item, Outcome.CLEANING_FAILED, repr(error))
        self._count(cleaned)
        return replace(item, cleaned=replace(cleaned, metadata=item.fetched.stated.filled_from(cleaned.metadata)))

    def _failed(self, visit: Visit, outcome: Outcome, error: str) -> Visit:
        """The visit was counted as a page; it is none. A callback that failed stays counted as that."""
        if visit.outcome is not Outcome.PAGE:
            return replace(visit, fetched=None)
        self._stats.inc_value(f"visit/{Outcome.PAGE}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        return replace(visit, outcome=outcome, error=error, fetched=None)

    def _count(self, cleaned: CleanPage) -> None:
        self._stats.inc_value("clean/pages")
        self._stats.inc_value("blocks/seen", len(cleaned.decisions))
        for reason, count in cleaned.counts().items():
            self._stats.inc_value(f"blocks/{reason}", count)
        for oddity in cleaned.oddities:
            self._stats.inc_value(f"page/{oddity}")


def _load_language_model() -> None:
    """Load it now: a full disk is found before the crawl, and the first page does not wait."""
    try:
        load_model()
    except OSError as error:
        raise SetupError(
            f"the language model cannot be unpacked in {tempfile.gettempdir()}: {error.strerror}; "
            "free some 30 MB there, or name another folder in the environment variable TMPDIR"
        ) from error
