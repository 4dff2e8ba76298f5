"""Write what a page's comparison with its earlier visits says: blocks, sightings, what is kept and what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cleaning.fingerprint import distance
from crawler.storage import rows
from crawler.storage.index import Entry
from crawler.storage.originals import find_originals
from crawler.storage.rows import Sighted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from crawler.storage.compare import Comparison, Original
    from crawler.storage.index import FingerprintIndex
    from crawler.storage.rows import Home
    from crawler.storage.rules import Rules
    from crawler.visit import Candidate


class BlockWriter:
    """Writes the blocks of pages; which are duplicates of stored ones the rules say."""

    def __init__(self, index: FingerprintIndex, rules: Rules) -> None:
        self._index = index
        self._rules = rules

    def candidates(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Return the candidates as the rules see them: where nothing is a duplicate, none repeats another."""
        if self._rules.scope != "off":
            return candidates
        return [replace(one, repeats=None, distance=0) for one in candidates]

    def write(self, connection: Connection, home: Home, comparison: Comparison) -> list[Sighted]:
        """Store what is new as blocks or sightings, refresh what is kept; return the new sightings."""
        found = self._find(connection, home, [one for one in comparison.new if one.repeats is None])
        known = {one.candidate.decision.block.position for one in found}
        fresh = [one for one in comparison.new if one.repeats is None and one.decision.block.position not in known]
        blocks = rows.add_blocks(connection, home, fresh)
        self._index.add(
            connection,
            [Entry(one.fingerprint, one.block_id) for one in blocks.values() if one.fingerprint is not None],
        )
        kept = _kept_blocks(comparison)
        targets = blocks | _kept_targets(comparison, kept)
        targets |= {one.candidate.decision.block.position: one.original for one in found}
        sighted = found + _repeated(comparison.new, targets)
        rows.refresh(connection, home, comparison.kept, kept)
        rows.add_sightings(connection, home, sighted)
        rows.mark_gone(connection, home, comparison.missing)
        return sighted

    def _find(self, connection: Connection, home: Home, new: list[Candidate]) -> list[Sighted]:
        if not self._rules.beyond_page:
            return []
        return find_originals(connection, self._index, home, new, within_site=self._rules.scope == "site")


def _kept_blocks(comparison: Comparison) -> dict[int, Original]:
    """Return the page's own kept blocks, as they read now, by id."""
    return {
        each.earlier.row_id: replace(each.earlier.original, text=each.text)
        for each in comparison.kept
        if not each.earlier.is_sighting
    }


def _kept_targets(comparison: Comparison, kept: Mapping[int, Original]) -> dict[int, Original]:
    """Return, by position, the block that each kept row is or is a sighting of."""
    return {
        each.candidate.decision.block.position: kept.get(each.earlier.original.block_id, each.earlier.original)
        for each in comparison.kept
    }


def _repeated(new: Iterable[Candidate], targets: dict[int, Original]) -> list[Sighted]:
    """Return the blocks that repeat one of their own page as sightings of that, or of what that is a sighting of."""
    sighted = []
    for one in new:
        if one.repeats is not None:
            original = targets[one.repeats]
            targets[one.decision.block.position] = original
            sighted.append(_repeat(one, original))
    return sighted


def _repeat(one: Candidate, original: Original) -> Sighted:
    bits = one.distance
    if one.fingerprint is not None and original.fingerprint is not None:
        bits = distance(one.fingerprint, original.fingerprint)
    return Sighted(one, original, bits, exact=one.digest == original.digest)
