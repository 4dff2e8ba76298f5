"""The comparison of a page with its earlier visits.

`keep_decisions` comes first: a text that the publisher has not touched is kept or dropped as before. Then
`compare_blocks` says of each kept block whether it is kept, new, missing, or a repeat of another one.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cleaning.blocks import KEPT, Reason
from cleaning.fingerprint import NearFingerprints
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Sequence

    from cleaning.blocks import Decision
    from cleaning.page_fingerprint import FingerprintedBlock


# A trained score this far from an even chance is beyond doubt. Measured on 300 pages and on versions of them that lack
# a tenth of the paragraphs: of the 119 texts of both that are decided otherwise, two remain; where four fifths are
# missing, 142 of 593. Of these texts, all with scores above .8 are main text, and one in twenty-five below .2.
_DOUBT = 0.3
# What dropped these blocks is not a matter of their scores.
_CERTAIN_REASONS = frozenset({Reason.HIDDEN, Reason.EMPTY, Reason.TRUNCATED, Reason.PAGE_DUPLICATE, Reason.TAUGHT})


@dataclass(frozen=True, slots=True)
class EarlierDecisions:
    """What the last visit to a page decided: the texts that it kept, and whether it saw the same bytes.

    `read_texts` returns all texts that the page had then, also the dropped ones; it is called only if it matters.
    """

    kept: Counter[str]
    same_bytes: bool
    read_texts: Callable[[], Collection[str]]


def keep_decisions(
    decisions: Sequence[Decision], earlier: EarlierDecisions, taught: Container[int]
) -> tuple[Decision, ...]:
    """Return the decisions of a visit, with those of the earlier one about the texts that both saw.

    Scores are probabilities, unless the bytes are the same. A decision stays unless the score now is beyond doubt, or
    its block is hidden, repeated or decided by the site's model (positions in `taught`). The same bytes leave no doubt.
    """
    left = Counter(earlier.kept)
    turned: dict[int, Reason] = {}
    dropped, added = [], []
    for number, decision in enumerate(decisions):
        if not decision.kept:
            dropped.append(number)
        elif left[decision.block.text]:
            left[decision.block.text] -= 1
        else:
            added.append(number)
    for number in dropped:
        decision = decisions[number]
        is_open = decision.reason not in _CERTAIN_REASONS and decision.block.position not in taught
        if left[decision.block.text] and is_open and (earlier.same_bytes or decision.score > 0.5 - _DOUBT):
            left[decision.block.text] -= 1
            turned[number] = KEPT
    doubtful = [
        number
        for number in added
        if decisions[number].block.position not in taught
        and (earlier.same_bytes or decisions[number].score < 0.5 + _DOUBT)
    ]
    if doubtful:
        texts = earlier.read_texts()
        turned |= {number: Reason.LOW_SCORE for number in doubtful if decisions[number].block.text in texts}
    return tuple(
        replace(decision, reason=turned[number]) if number in turned else decision
        for number, decision in enumerate(decisions)
    )


@dataclass(frozen=True, slots=True)
class OriginalBlock:
    """A stored block, with the columns that its sightings need."""

    block_id: int
    text: str
    digest: int
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class EarlierRow:
    """A row of the page's earlier visits: a block, which is its own `original`, or a sighting of another block."""

    row_id: int
    is_sighting: bool
    original: OriginalBlock
    position: int
    digest: int
    text: str
    gone: bool
    shown: tuple[object, ...] = ()
    """Where and how the last visit showed it: what `crawler.storage.blocks` writes of each visit beside the text."""


@dataclass(frozen=True, slots=True)
class KeptBlock:
    """A candidate that an earlier visit found too, as the row `earlier`."""

    candidate: FingerprintedBlock
    earlier: EarlierRow

    @property
    def position(self) -> int:
        """The position of the block at this visit."""
        return self.candidate.position

    @property
    def text(self) -> str:
        """The text of the block at this visit."""
        return self.candidate.text


@dataclass(frozen=True, slots=True)
class PageComparison:
    """A visit compared with the earlier ones: each candidate is kept or new, each earlier row kept or missing.

    With `lost_text`, the page no longer shows the text of a missing row, not even in a block that was dropped.
    """

    kept: tuple[KeptBlock, ...]
    new: tuple[FingerprintedBlock, ...]
    missing: tuple[EarlierRow, ...]
    changed: bool
    lost_text: bool = False


def compare_blocks(
    candidates: Sequence[FingerprintedBlock],
    earlier: Sequence[EarlierRow],
    max_distance: int,
    page_texts: Callable[[], Container[str]] = frozenset,
) -> PageComparison:
    """Compare a visit's candidates with the page's earlier rows; each row matches at most one candidate.

    Texts with the same terms match. Rows that are gone may match and come back, but are not missing again. New
    candidates within `max_distance` bits of a kept block repeat it, even where they stand above it. The page has
    changed if the digests of its blocks, in reading order, have; a missing block does not count if its text is still
    one of the `page_texts`, all texts that the page shows.
    """
    if not earlier:
        return PageComparison((), tuple(candidates), (), changed=bool(candidates))
    kept = _match_rows(candidates, earlier, max_distance)
    positions = {kept_block.position for kept_block in kept}
    used = {_row_identity(kept_block.earlier) for kept_block in kept}
    live = sorted((row for row in earlier if not row.gone), key=lambda row: row.position)
    missing = tuple(row for row in live if _row_identity(row) not in used)
    texts = page_texts() if missing else frozenset()
    dropped = {_row_identity(row) for row in missing if row.text in texts}
    live_digests = [row.digest for row in live if _row_identity(row) not in dropped]
    new = [candidate for candidate in candidates if candidate.position not in positions]
    return PageComparison(
        kept=tuple(kept),
        new=tuple(_repeat_kept_blocks(new, kept, max_distance)),
        missing=missing,
        changed=[candidate.digest for candidate in candidates] != live_digests,
        lost_text=len(dropped) < len(missing),
    )


def _match_rows(
    candidates: Sequence[FingerprintedBlock], earlier: Sequence[EarlierRow], max_distance: int
) -> list[KeptBlock]:
    """Match candidates with earlier rows, and again without the rows that cannot be kept, until all can.

    A block that is gone does not come back if the page shows a duplicate of it. A sighting of the page's own block does
    not stay if the page no longer shows that block: its text becomes a block.
    """
    rows = earlier
    while True:
        pools = _EarlierPools(rows)
        matches = [(candidate, pools.take(candidate)) for candidate in candidates]
        kept_blocks = [KeptBlock(candidate, row) for candidate, row in matches if row is not None]
        refused = _repeated_revivals(kept_blocks, max_distance)
        orphans = _orphaned_sightings(kept_blocks, earlier)
        if not (refused or orphans):
            return kept_blocks
        digests = {kept_block.earlier.digest for kept_block in refused}
        dropped = {_row_identity(kept_block.earlier) for kept_block in (*refused, *orphans)}
        kept = {_row_identity(kept_block.earlier) for kept_block in kept_blocks} - dropped
        rows = [
            row
            for row in rows
            if (identity := _row_identity(row)) not in dropped
            and (row.is_sighting or not row.gone or row.digest not in digests or identity in kept)
        ]


def _orphaned_sightings(kept_blocks: Sequence[KeptBlock], earlier: Iterable[EarlierRow]) -> list[KeptBlock]:
    """Return the matched sightings of the page's own blocks that no candidate matches."""
    own = {row.row_id for row in earlier if not row.is_sighting}
    lost = own - {kept_block.earlier.row_id for kept_block in kept_blocks if not kept_block.earlier.is_sighting}
    return [
        kept_block
        for kept_block in kept_blocks
        if kept_block.earlier.is_sighting and kept_block.earlier.original.block_id in lost
    ]


def _repeated_revivals(kept_blocks: Iterable[KeptBlock], max_distance: int) -> list[KeptBlock]:
    """Return the blocks that were gone and duplicate another matched block; live blocks stay before gone ones."""
    blocks = [kept_block for kept_block in kept_blocks if not kept_block.earlier.is_sighting]
    if all(kept_block.candidate.repeats is None for kept_block in blocks):
        return []
    on_page, refused = _PageBlocks(max_distance), []
    for kept_block in sorted(blocks, key=lambda kept_block: kept_block.earlier.gone):
        if kept_block.earlier.gone and on_page.find(kept_block.candidate) is not None:
            refused.append(kept_block)
        else:
            on_page.add(kept_block.candidate)
    return refused


def _repeat_kept_blocks(
    new: list[FingerprintedBlock], kept: Iterable[KeptBlock], max_distance: int
) -> list[FingerprintedBlock]:
    """Make new candidates repeat the kept blocks that they duplicate.

    Within a page, the first text is the original. If a later one is already a stored block, the first must repeat it.
    The candidates that repeated the first then repeat any block of the page that is near enough, or none.
    """
    own = [kept_block.candidate for kept_block in kept if not kept_block.earlier.is_sighting]
    if all(candidate.repeats is None for candidate in own):
        return new
    on_page = _PageBlocks(max_distance)
    for candidate in own:
        on_page.add(candidate)
    regrouped, moved = [], set()
    for candidate in new:
        if candidate.repeats is not None and candidate.repeats not in moved:
            regrouped.append(candidate)
        elif repeat := on_page.find(candidate):
            moved.add(candidate.position)
            regrouped.append(repeat)
        else:
            on_page.add(candidate)
            regrouped.append(replace(candidate, repeats=None, distance=0))
    return regrouped


class _PageBlocks:
    """The candidates that are blocks of the page, by terms and by fingerprint."""

    def __init__(self, max_distance: int) -> None:
        self._by_digest: dict[int, FingerprintedBlock] = {}
        self._by_fingerprint: NearFingerprints[FingerprintedBlock] = NearFingerprints(max_distance)

    def add(self, candidate: FingerprintedBlock) -> None:
        if candidate.digest in self._by_digest:
            return
        self._by_digest[candidate.digest] = candidate
        if candidate.fingerprint is not None:
            self._by_fingerprint.add(candidate.fingerprint, candidate)

    def find(self, candidate: FingerprintedBlock) -> FingerprintedBlock | None:
        """Return the candidate as a repeat of the block that it duplicates; None if it duplicates no block."""
        same = self._by_digest.get(candidate.digest)
        if same is not None and same_terms(same.text, candidate.text):
            return replace(candidate, repeats=same.position, distance=0)
        near = None if candidate.fingerprint is None else self._by_fingerprint.nearest(candidate.fingerprint)
        return near and replace(candidate, repeats=near.item.position, distance=near.bits)


def same_terms(text: str, other: str) -> bool:
    """Return True if two texts with the same digest have the same terms; texts without terms must be equal."""
    return text == other or (terms(text) == terms(other) != [])


# The rows that a candidate takes first, as (is_sighting, gone). A repeat that revived a sighting while its own block is
# live would lose that block.
_ORDER_OF_REPEATS = ((True, False), (False, False), (True, True), (False, True))
_ORDER_OF_OTHERS = ((False, False), (False, True), (True, False), (True, True))


class _EarlierPools:
    """The earlier rows by content and state; those higher on the page come first."""

    def __init__(self, earlier: Iterable[EarlierRow]) -> None:
        self._rows: dict[tuple[int, bool, bool], deque[EarlierRow]] = {}
        for row in sorted(earlier, key=lambda row: row.position):
            self._rows.setdefault((row.digest, row.is_sighting, row.gone), deque()).append(row)

    def take(self, candidate: FingerprintedBlock) -> EarlierRow | None:
        """Remove and return a row with the candidate's terms: first a sighting for a repeat, otherwise a block."""
        text = candidate.text
        for state in _ORDER_OF_OTHERS if candidate.repeats is None else _ORDER_OF_REPEATS:
            rows = self._rows.get((candidate.digest, *state))
            if rows and same_terms(rows[0].text, text):
                return rows.popleft()
        return None


def _row_identity(row: EarlierRow) -> tuple[bool, int]:
    return (row.is_sighting, row.row_id)
