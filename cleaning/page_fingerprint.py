"""Fingerprint cleaned pages: kept blocks and whole pages get the keys that find their duplicates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

# The dataclasses below are sent between processes by their annotations, so these are needed at runtime.
from cleaning.blocks import Decision, Kind, kept_decisions
from cleaning.fingerprint import SCHEMES, NearFingerprints, Weighting, fingerprint_terms, text_digest
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cleaning.blocks import Block


@dataclass(frozen=True, slots=True)
class BlockKeys:
    """The keys by which a block's text is compared, with its `terms` in order and the number of different ones.

    `fingerprint` is None for a text that is compared by `digest` only.
    """

    digest: int
    terms: Sequence[str]
    unique_terms: int
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class FingerprintedBlock:
    """A kept block with the keys that it is compared by.

    `unique_terms` counts its different terms. `fingerprint` is None for a heading and for a block of too few unique
    terms: both match other blocks by `digest` only. `repeats` is the position of the earlier block of the same page
    that this one duplicates, and `distance` the number of bits in which their fingerprints differ.
    """

    decision: Decision
    digest: int
    unique_terms: int
    fingerprint: int | None
    repeats: int | None = None
    distance: int = 0

    @property
    def block(self) -> Block:
        return self.decision.block

    @property
    def position(self) -> int:
        return self.decision.block.position

    @property
    def text(self) -> str:
        return self.decision.block.text


@dataclass(frozen=True, slots=True)
class PageFingerprint:
    """The kept blocks of a page with their keys, and the fingerprint of the page; None if it has too few terms."""

    blocks: tuple[FingerprintedBlock, ...]
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class Fingerprinter:
    """Fingerprints blocks and pages, all in one scheme.

    A text of fewer than `min_terms` unique terms gets no fingerprint. Blocks of one page are near-duplicates within
    `max_distance` bits; None compares no blocks.
    """

    weighting: Weighting = "modified"
    min_terms: int = 20
    max_distance: int | None = 3

    @property
    def scheme(self) -> str:
        """The name of what fingerprints depend on; it is stored with each page."""
        return SCHEMES[self.weighting]

    def fingerprint(self, decisions: Iterable[Decision]) -> PageFingerprint:
        """Return the kept blocks among these decisions, in order, with their keys and the page's fingerprint."""
        kept = kept_decisions(decisions)
        return self.compare(kept, [self.block_keys(decision.block.text, decision.block.kind) for decision in kept])

    def compare(self, kept: Sequence[Decision], keys: Sequence[BlockKeys]) -> PageFingerprint:
        """Return the same, given the kept blocks of a page, in order, and the keys of each."""
        blocks = (
            FingerprintedBlock(decision, block_keys.digest, block_keys.unique_terms, block_keys.fingerprint)
            for decision, block_keys in zip(kept, keys, strict=True)
        )
        return PageFingerprint(tuple(self._compare(blocks)), self.page_fingerprint(keys))

    def block_keys(self, text: str, kind: Kind) -> BlockKeys:
        """Return the keys of a block's text."""
        sequence = terms(text)
        unique = len(set(sequence))
        comparable = unique >= self.min_terms and kind is not Kind.HEADING
        fingerprint = fingerprint_terms(sequence, weighting=self.weighting) if comparable else None
        return BlockKeys(text_digest(text, sequence), sequence, unique, fingerprint)

    def page_fingerprint(self, blocks: Iterable[BlockKeys]) -> int | None:
        """Return the fingerprint of a page that keeps these blocks, in order; None if it has too few unique terms.

        It is made of the terms of all blocks as one sequence. A fingerprint of the few block digests would change
        completely with one changed block.
        """
        sequence = [term for block in blocks for term in block.terms]
        if len(set(sequence)) < self.min_terms:
            return None
        return fingerprint_terms(sequence, weighting=self.weighting)

    def _compare(self, blocks: Iterable[FingerprintedBlock]) -> Iterable[FingerprintedBlock]:
        """Return the blocks; each says which earlier one it repeats."""
        return blocks if self.max_distance is None else map(_EarlierBlocks(self.max_distance).compare, blocks)


class _EarlierBlocks:
    """The blocks of the page so far that repeat no other, by digest and by fingerprint."""

    def __init__(self, max_distance: int) -> None:
        self._by_digest: dict[int, FingerprintedBlock] = {}
        self._by_fingerprint: NearFingerprints[FingerprintedBlock] = NearFingerprints(max_distance)

    def compare(self, block: FingerprintedBlock) -> FingerprintedBlock:
        """Return the block with the earlier one that it repeats. A block without an earlier one is added."""
        same = self._by_digest.get(block.digest)
        if same is not None and (block.unique_terms or same.text == block.text):
            return replace(block, repeats=same.position)
        if block.fingerprint is not None:
            near = self._by_fingerprint.nearest(block.fingerprint)
            if near is not None:
                return replace(block, repeats=near.item.position, distance=near.bits)
            self._by_fingerprint.add(block.fingerprint, block)
        self._by_digest[block.digest] = block
        return block
