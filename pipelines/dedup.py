"""Second pipeline: kept blocks get their digest and fingerprint, and meet the page's own earlier blocks.

The stored fingerprints are looked up by the store, in the transaction that inserts: apart, two crawls could both
find nothing and both insert.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cleaning.blocks import Kind
from cleaning.fingerprint import digest_terms, distance, fingerprint_terms
from cleaning.terms import terms
from crawler.config import Config
from crawler.visit import Candidate, Visit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from scrapy.crawler import Crawler

    from cleaning.blocks import Decision


class DedupPipeline:
    """Turns a visit's kept blocks into candidates for the store; what is no visit passes untouched."""

    def __init__(self, config: Config) -> None:
        self._most_bits = config.dedup_distance
        self._fewest_terms = config.fingerprint_min_terms
        self._within_page = config.dedup_scope != "off"

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        terms("stemmer")  # imports it, which takes a second, before the first page and not at it
        return cls(Config.read(crawler.settings))

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit) or item.cleaned is None:
            return item
        kept = (decision for decision in item.cleaned.decisions if decision.kept)
        return replace(item, candidates=tuple(self.candidates(kept)))

    def candidates(self, kept: Iterable[Decision]) -> list[Candidate]:
        """Return the kept decisions as candidates, each with the earlier one of the same page that it repeats."""
        earlier: list[Candidate] = []
        for decision in kept:
            candidate = self._candidate(decision)
            if self._within_page and candidate.terms:
                candidate = self._compared(candidate, earlier)
            earlier.append(candidate)
        return earlier

    def _candidate(self, decision: Decision) -> Candidate:
        sequence = terms(decision.block.text)
        unique = len(set(sequence))
        compared = unique >= self._fewest_terms and decision.block.kind is not Kind.HEADING
        return Candidate(decision, digest_terms(sequence), unique, fingerprint_terms(sequence) if compared else None)

    def _compared(self, candidate: Candidate, earlier: list[Candidate]) -> Candidate:
        for other in earlier:
            if other.repeats is not None:
                continue
            if other.digest == candidate.digest:
                return replace(candidate, repeats=other.decision.block.position)
            if candidate.fingerprint is not None and other.fingerprint is not None:
                bits = distance(candidate.fingerprint, other.fingerprint)
                if bits <= self._most_bits:
                    return replace(candidate, repeats=other.decision.block.position, distance=bits)
        return candidate
