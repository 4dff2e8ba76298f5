"""Which stored block, of any page, a new block duplicates."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from crawler.storage.batches import batched
from crawler.storage.compare import Original, same_terms
from crawler.storage.models import block
from crawler.storage.rows import Sighted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import Connection

    from crawler.storage.index import FingerprintIndex, Match
    from crawler.storage.rows import Home
    from crawler.visit import Candidate

_COLUMNS = select(block.c.id, block.c.page_id, block.c.site, block.c.digest, block.c.fingerprint, block.c.text)
_BY_DIGEST = _COLUMNS.where(
    block.c.digest.in_(bindparam("digests", expanding=True)), block.c.site == bindparam("of_site")
)
_BY_ID = _COLUMNS.where(block.c.id.in_(bindparam("ids", expanding=True)))


@dataclass(frozen=True, slots=True)
class _Stored:
    page_id: int
    site: str
    original: Original


def find_originals(
    connection: Connection, index: FingerprintIndex, home: Home, candidates: Iterable[Candidate], *, within_site: bool
) -> list[Sighted]:
    """Return those of a page's new blocks that duplicate a stored block of another page, with the nearest one.

    Of several as near, the one stored first. Blocks with a fingerprint are found by it (the same terms have the
    same one); all are found by digest within their site. Blocks without terms, and blocks of the page itself, are
    duplicates of nothing.
    """
    wanted = [one for one in candidates if one.terms]
    matches = index.lookup(connection, [one.fingerprint for one in wanted if one.fingerprint is not None])
    near = _by_id(connection, [match.owner_id for match in matches])
    same = _by_digest(connection, home.site, [one.digest for one in wanted])
    options = _Options(matches, near, same)
    found = []
    for one in wanted:
        others = [
            (bits, stored)
            for bits, stored in options.of(one)
            if stored.page_id != home.page_id and not (within_site and stored.site != home.site)
        ]
        if others:
            bits, stored = min(others, key=lambda option: (option[0], option[1].original.block_id))
            found.append(Sighted(one, stored.original, bits, exact=_is_exact(one, stored.original)))
    return found


class _Options:
    """The stored blocks near a candidate, each with its distance."""

    def __init__(self, matches: Iterable[Match], near: dict[int, _Stored], same: Iterable[_Stored]) -> None:
        self._near: dict[int, list[tuple[int, _Stored]]] = defaultdict(list)
        self._same: dict[int, list[_Stored]] = defaultdict(list)
        for match in matches:
            self._near[match.query].append((match.distance, near[match.owner_id]))
        for stored in same:
            self._same[stored.original.digest].append(stored)

    def of(self, candidate: Candidate) -> list[tuple[int, _Stored]]:
        near = [] if candidate.fingerprint is None else self._near.get(candidate.fingerprint, [])
        same = self._same.get(candidate.digest, [])
        return [*near, *((0, stored) for stored in same if _is_exact(candidate, stored.original))]


def _is_exact(candidate: Candidate, original: Original) -> bool:
    return candidate.digest == original.digest and same_terms(candidate.decision.block.text, original.text)


def _by_id(connection: Connection, ids: Sequence[int]) -> dict[int, _Stored]:
    rows = (row for some in batched(ids) for row in connection.execute(_BY_ID, {"ids": list(some)}))
    return {row.id: _stored(row) for row in rows}


def _by_digest(connection: Connection, site: str, digests: Sequence[int]) -> list[_Stored]:
    return [
        _stored(row)
        for some in batched(digests)
        for row in connection.execute(_BY_DIGEST, {"digests": list(some), "of_site": site})
    ]


def _stored(row: Any) -> _Stored:
    return _Stored(row.page_id, row.site, Original(row.id, row.text, row.digest, row.fingerprint))
