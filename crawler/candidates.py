"""The kept blocks of a page on their way to the store: each compared with the earlier ones of the same page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cleaning.neighbours import Neighbours
from crawler.visit import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cleaning.blocks import Decision
    from crawler.fingerprints import Marker, Marks


@dataclass(frozen=True, slots=True)
class Marked:
    """A cleaned page as the store takes it: its kept blocks, and the whole page's fingerprint (None: too few terms)."""

    candidates: tuple[Candidate, ...]
    fingerprint: int | None


def mark(decisions: Iterable[Decision], marker: Marker, most_bits: int | None) -> Marked:
    """Return the page of these decisions with its marks, compared as `find_candidates` does."""
    kept = [decision for decision in decisions if decision.kept]
    marks = [marker.marks(decision.block.text, decision.block.kind) for decision in kept]
    return Marked(tuple(find_candidates(kept, marks, most_bits)), marker.page(marks))


def find_candidates(kept: Iterable[Decision], marks: Iterable[Marks], most_bits: int | None) -> list[Candidate]:
    """Return kept decisions, with the marks of their texts, as candidates.

    Each says which earlier one it repeats, by digest or within `most_bits` of its fingerprint; none does where that is
    None.
    """
    found: list[Candidate] = []
    earlier = None if most_bits is None else _Earlier(most_bits)
    for decision, its in zip(kept, marks, strict=True):
        candidate = Candidate(decision, its.digest, its.terms, its.fingerprint)
        found.append(earlier.compared(candidate) if earlier and candidate.terms else candidate)
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
