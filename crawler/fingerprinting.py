"""Fingerprint a cleaned page: the digest and fingerprint of each kept block and of the page, compared within the page.

Nothing here needs Scrapy or a database, so that cleaning workers can run it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cleaning.blocks import Kind
from cleaning.fingerprint import SCHEMES, NearFingerprints, digest_terms, fingerprint_terms
from cleaning.terms import terms
from crawler.visit import FingerprintedBlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cleaning.blocks import Decision
    from cleaning.fingerprint import Weighting
    from crawler.config import Config


@dataclass(frozen=True, slots=True)
class BlockKeys:
    """A text's digest, its terms and how many are unique, its fingerprint; None where it is not compared by it."""

    digest: int
    sequence: Sequence[str]
    terms: int
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class Fingerprinter:
    """Gives blocks their marks, all of one scheme."""

    weighting: Weighting = "modified"
    fewest_terms: int = 20

    @classmethod
    def of(cls, config: Config) -> Fingerprinter:
        """Return the marker that the settings ask for."""
        return cls(config.fingerprint_weighting, config.fingerprint_min_terms)

    @property
    def scheme(self) -> str:
        """Return what the fingerprints depend on, as stored with each page."""
        return SCHEMES[self.weighting]

    def marks(self, text: str, kind: Kind) -> BlockKeys:
        """Return the marks of a block's text; a heading, and a text of too few unique terms, has no fingerprint."""
        sequence = terms(text)
        unique = len(set(sequence))
        compared = unique >= self.fewest_terms and kind is not Kind.HEADING
        fingerprint = fingerprint_terms(sequence, weighting=self.weighting) if compared else None
        return BlockKeys(digest_terms(sequence), sequence, unique, fingerprint)

    def page(self, blocks: Iterable[BlockKeys]) -> int | None:
        """Return the fingerprint of a page that keeps these blocks, in order; None where it has too few unique terms.

        Of all their terms as one sequence: a handful of digests would turn over at one changed block.
        """
        sequence = [term for block in blocks for term in block.sequence]
        if len(set(sequence)) < self.fewest_terms:
            return None
        return fingerprint_terms(sequence, weighting=self.weighting)


@dataclass(frozen=True, slots=True)
class FingerprintedPage:
    """A cleaned page as the store takes it: its kept blocks, and the whole page's fingerprint (None: too few terms)."""

    candidates: tuple[FingerprintedBlock, ...]
    fingerprint: int | None


def fingerprint_page(
    decisions: Iterable[Decision], marker: Fingerprinter, max_distance: int | None
) -> FingerprintedPage:
    """Return the page of these decisions with its marks, compared as `find_candidates` does."""
    kept = [decision for decision in decisions if decision.kept]
    marks = [marker.marks(decision.block.text, decision.block.kind) for decision in kept]
    return FingerprintedPage(tuple(compare_within_page(kept, marks, max_distance)), marker.page(marks))


def compare_within_page(
    kept: Iterable[Decision], marks: Iterable[BlockKeys], max_distance: int | None
) -> list[FingerprintedBlock]:
    """Return kept decisions, with the marks of their texts, as candidates.

    Each says which earlier one it repeats, by digest or within `max_distance` of its fingerprint; none does where
    that is
    None.
    """
    found: list[FingerprintedBlock] = []
    earlier = None if max_distance is None else _EarlierBlocks(max_distance)
    for decision, its in zip(kept, marks, strict=True):
        candidate = FingerprintedBlock(decision, its.digest, its.terms, its.fingerprint)
        found.append(earlier.compared(candidate) if earlier and candidate.terms else candidate)
    return found


class _EarlierBlocks:
    """The blocks of the page so far that repeat none, by digest and by fingerprint."""

    def __init__(self, max_distance: int) -> None:
        self._by_digest: dict[int, FingerprintedBlock] = {}
        self._by_fingerprint: NearFingerprints[FingerprintedBlock] = NearFingerprints(max_distance)

    def compared(self, candidate: FingerprintedBlock) -> FingerprintedBlock:
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
