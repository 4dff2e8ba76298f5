"""Second stage: kept blocks and their page get digests and fingerprints, and meet the page's own earlier blocks.

The stored fingerprints are looked up by the store, in the transaction that inserts: apart, two crawls could both
find nothing and both insert.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cleaning.neighbours import Neighbours
from cleaning.terms import terms
from crawler.config import Config
from crawler.fingerprints import Marker
from crawler.visit import Candidate, Visit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from scrapy.crawler import Crawler

    from cleaning.blocks import Decision
    from crawler.fingerprints import Marks


class DedupPipeline:
    """Turns a visit's kept blocks into candidates for the store; what is no visit passes untouched."""

    def __init__(self, config: Config) -> None:
        self._most_bits = config.dedup_distance
        self._marker = Marker.of(config)
        self._within_page = config.dedup_scope != "off"

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        terms("stemmer")  # imports it, which takes a second, before the first page and not at it
        return cls(Config.read(crawler.settings))

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit) or item.cleaned is None:
            return item
        kept = [decision for decision in item.cleaned.decisions if decision.kept]
        marks = [self._marker.marks(decision.block.text, decision.block.kind) for decision in kept]
        found = self._candidates(kept, marks)
        return replace(item, candidates=tuple(found), fingerprint=self._marker.page(marks))

    def _candidates(self, kept: Iterable[Decision], marks: Iterable[Marks]) -> list[Candidate]:
        """Return the kept decisions as candidates, each with the earlier one of the same page that it repeats."""
        found: list[Candidate] = []
        earlier = _Earlier(self._most_bits)
        for decision, its in zip(kept, marks, strict=True):
            candidate = Candidate(decision, its.digest, its.terms, its.fingerprint)
            if self._within_page and candidate.terms:
                candidate = earlier.compared(candidate)
            found.append(candidate)
        return found


class _Earlier:
    """The blocks of the page so far that repeat none, by digest and by fingerprint."""

    def __init__(self, most_bits: int) -> None:
        self._by_digest: dict[int, Candidate] = {}
        self._by_fingerprint: Neighbours[Candidate] = Neighbours(most_bits)

    def compared(self, candidate: Candidate) -> Candidate:
        """Return the candidate, with the block that it repeats; one that repeats none is remembered."""
        same = self._by_digest.get(candidate.digest)
        if same is not None:
            return replace(candidate, repeats=same.decision.block.position)
        if candidate.fingerprint is not None:
            near = self._by_fingerprint.nearest(candidate.fingerprint)
            if near is not None:
                return replace(candidate, repeats=near.item.decision.block.position, distance=near.bits)
            self._by_fingerprint.add(candidate.fingerprint, candidate)
        self._by_digest[candidate.digest] = candidate
        return candidate
