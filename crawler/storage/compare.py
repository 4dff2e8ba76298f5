"""Compare a visit's blocks with those the page held at its earlier visits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.fingerprint import digest_terms
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawler.visit import Candidate

# The digest of every block without terms ("* * *"): such blocks are the same only letter for letter.
NO_TERMS = digest_terms([])


@dataclass(frozen=True, slots=True)
class Original:
    """A stored block, as its sightings need it."""

    block_id: int
    text: str
    digest: int
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class Earlier:
    """A row of the page's earlier visits: a block, whose `original` is itself, or a sighting of another one."""

    row_id: int
    is_sighting: bool
    original: Original
    position: int
    digest: int
    text: str
    gone: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A candidate that the page held before, as the row `earlier`."""

    candidate: Candidate
    earlier: Earlier

    @property
    def text(self) -> str:
        """How the block reads now."""
        return self.candidate.decision.block.text


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of a page: each candidate is kept or new, each earlier row kept or missing."""

    kept: tuple[Kept, ...]
    new: tuple[Candidate, ...]
    missing: tuple[Earlier, ...]
    changed: bool


def compare(candidates: Sequence[Candidate], earlier: Sequence[Earlier]) -> Comparison:
    """Return which candidates the page held before, each earlier row serving one of them.

    The same is a text with the same terms. Rows gone before are among `earlier`, and may come back, but are not
    missing again. The page has changed if the digests of its blocks in reading order have.
    """
    pools = _Pools(earlier)
    matches = [(candidate, pools.take(candidate)) for candidate in candidates]
    found = [Kept(candidate, row) for candidate, row in matches if row is not None]
    matched = _without_lost_originals(found, earlier)
    served = {kept.candidate.decision.block.position for kept in matched}
    used = {_identity(kept.earlier) for kept in matched}
    live = [row for row in earlier if not row.gone]
    return Comparison(
        kept=tuple(matched),
        new=tuple(one for one in candidates if one.decision.block.position not in served),
        missing=tuple(row for row in live if _identity(row) not in used),
        changed=[one.digest for one in candidates] != [row.digest for row in sorted(live, key=_position)],
    )


def same_terms(one: str, other: str) -> bool:
    """Tell whether two texts of the same digest really have the same terms; without any, they must be equal."""
    return one == other or (terms(one) == terms(other) != [])


class _Pools:
    """The earlier rows by what they say, those still live and those further up first."""

    def __init__(self, earlier: Iterable[Earlier]) -> None:
        self._rows: dict[tuple[int, str, bool], deque[Earlier]] = {}
        for row in sorted(earlier, key=lambda row: (row.gone, row.position)):
            self._rows.setdefault(_key(row.digest, row.text, is_sighting=row.is_sighting), deque()).append(row)

    def take(self, candidate: Candidate) -> Earlier | None:
        """Return a row with the candidate's terms and use it up: a sighting for a repeat, otherwise a block first."""
        text = candidate.decision.block.text
        repeats = candidate.repeats is not None
        for is_sighting in (repeats, not repeats):
            rows = self._rows.get(_key(candidate.digest, text, is_sighting=is_sighting))
            if rows and same_terms(rows[0].text, text):
                return rows.popleft()
        return None


def _without_lost_originals(kept: list[Kept], earlier: Sequence[Earlier]) -> list[Kept]:
    """Leave out sightings of a block of this very page that is on it no more: what they say becomes a block."""
    own = {row.row_id for row in earlier if not row.is_sighting}
    lost = own - {each.earlier.row_id for each in kept if not each.earlier.is_sighting}
    return [each for each in kept if not (each.earlier.is_sighting and each.earlier.original.block_id in lost)]


def _key(digest: int, text: str, *, is_sighting: bool) -> tuple[int, str, bool]:
    return (digest, text if digest == NO_TERMS else "", is_sighting)


def _identity(row: Earlier) -> tuple[bool, int]:
    return (row.is_sighting, row.row_id)


def _position(row: Earlier) -> int:
    return row.position
