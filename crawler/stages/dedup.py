"""Second stage: kept blocks and their page get digests and fingerprints, and meet the page's own earlier blocks.

The stored fingerprints are looked up by the store, in the transaction that inserts: apart, two crawls could both
find nothing and both insert.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cleaning.terms import terms
from crawler.config import Config
from crawler.fingerprinting import Fingerprinter, fingerprint_page
from crawler.visit import Visit

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class DedupPipeline:
    """Turns a visit's kept blocks into candidates for the store; what is no visit passes untouched."""

    def __init__(self, config: Config) -> None:
        self._most_bits = None if config.dedup_scope == "off" else config.dedup_distance
        self._marker = Fingerprinter.of(config)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        terms("stemmer")  # imports it, which takes a second, before the first page and not at it
        return cls(Config.read(crawler.settings))

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit) or item.cleaned is None:
            return item
        marked = fingerprint_page(item.cleaned.decisions, self._marker, self._most_bits)
        return replace(item, candidates=marked.candidates, fingerprint=marked.fingerprint)
