"""What a block is compared by: its digest and, unless it is a heading or too short, its fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.blocks import Kind
from cleaning.fingerprint import SCHEMES, digest_terms, fingerprint_terms
from cleaning.terms import terms

if TYPE_CHECKING:
    from cleaning.fingerprint import Weighting
    from crawler.config import Config


@dataclass(frozen=True, slots=True)
class Marks:
    """A text's digest, the number of its unique terms, and its fingerprint; None where it is not compared by it."""

    digest: int
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
        return Marks(digest_terms(sequence), unique, fingerprint)
