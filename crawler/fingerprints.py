"""What blocks and pages are compared by: digests and, unless they are headings or too short, fingerprints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.blocks import Kind
from cleaning.fingerprint import SCHEMES, digest_terms, fingerprint_terms
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cleaning.fingerprint import Weighting
    from crawler.config import Config


@dataclass(frozen=True, slots=True)
class Marks:
    """A text's digest, its terms and how many are unique, its fingerprint; None where it is not compared by it."""

    digest: int
    sequence: Sequence[str]
    terms: int
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class Marker:
    """Gives blocks their marks, all of one scheme."""

    weighting: Weighting = "modified"
    fewest_terms: int = 20

    @classmethod
    def of(cls, config: Config) -> Marker:
        """Return the marker that the settings ask for."""
        return cls(config.fingerprint_weighting, config.fingerprint_min_terms)

    @property
    def scheme(self) -> str:
        """Return what the fingerprints depend on, as stored with each page."""
        return SCHEMES[self.weighting]

    def marks(self, text: str, kind: Kind) -> Marks:
        """Return the marks of a block's text; a heading, and a text of too few unique terms, has no fingerprint."""
        sequence = terms(text)
        unique = len(set(sequence))
        compared = unique >= self.fewest_terms and kind is not Kind.HEADING
        fingerprint = fingerprint_terms(sequence, weighting=self.weighting) if compared else None
        return Marks(digest_terms(sequence), sequence, unique, fingerprint)

    def page(self, blocks: Iterable[Marks]) -> int | None:
        """Return the fingerprint of a page that keeps these blocks, in order; None where it has too few unique terms.

        Of all their terms as one sequence: a handful of digests would turn over at one changed block.
        """
        sequence = [term for block in blocks for term in block.sequence]
        if len(set(sequence)) < self.fewest_terms:
            return None
        return fingerprint_terms(sequence, weighting=self.weighting)
