"""Which pages are mirrors: nearly the same, as a whole, as a page stored before under another address.

A mirror is a sighting of that page: one row in `mirror`. Its blocks are stored as any page's: sightings where they
duplicate stored ones, blocks of its own where they differ, so that nothing of it is lost. Only pages that mirror none
are in the index of page fingerprints; so no page mirrors a mirror, and a page that has mirrors becomes none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, exists, insert, select, update

from cleaning.fingerprint import distance
from crawler.storage.index import INDEXES, MAX_DISTANCE, OF_PAGES, Entry
from crawler.storage.models import mirror, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection, RowMapping

    from crawler.storage.index import FingerprintIndex, Match
    from crawler.storage.rows import Home
    from crawler.storage.rules import Rules

_STANDING = select(
    select(mirror.c.original_id).where(mirror.c.page_id == bindparam("page")).scalar_subquery().label("original_id"),
    exists().where(mirror.c.original_id == bindparam("page")).label("has_mirrors"),
)
_OF_SITE = select(page.c.id).where(page.c.id.in_(bindparam("ids", expanding=True)), page.c.site == bindparam("of_site"))
_MOVE = update(mirror).where(mirror.c.page_id == bindparam("page")).values(distance=bindparam("bits"))
_REMOVE = delete(mirror).where(mirror.c.page_id == bindparam("page"))


@dataclass(frozen=True, slots=True)
class Standing:
    """What a page was before this visit: its fingerprint, the page that it mirrors, whether others mirror it."""

    fingerprint: int | None = None
    original_id: int | None = None
    has_mirrors: bool = False

    @property
    def indexed(self) -> int | None:
        """The fingerprint that the index has of it."""
        return self.fingerprint if self.original_id is None else None


class Mirrors:
    """Finds mirrors among the pages of a database."""

    def __init__(self, dialect: str, rules: Rules) -> None:
        self._index: FingerprintIndex = INDEXES[dialect](rules.most_bits, OF_PAGES)
        self._rules = rules

    def standing(self, connection: Connection, page_id: int, fingerprint: int | None) -> Standing:
        """Return what a stored page with this fingerprint is."""
        row = connection.execute(_STANDING, {"page": page_id}).one()
        return Standing(fingerprint, row.original_id, bool(row.has_mirrors))

    def place(self, connection: Connection, home: Home, fingerprint: int | None, before: Standing) -> bool:
        """Note what a page is from this visit on, and tell whether it became a mirror by it.

        It mirrors the page with the nearest fingerprint, of several as near the one stored first. One that mirrors
        none and reads as before stays what it is.
        """
        if before.original_id is None and fingerprint is not None and fingerprint == before.fingerprint:
            return False
        nearest = None if before.has_mirrors else self._nearest(connection, home, fingerprint)
        self._reindex(connection, home.page_id, before.indexed, fingerprint if nearest is None else None)
        _write(connection, home, nearest, before.original_id)
        return nearest is not None and before.original_id is None

    def remove(self, connection: Connection, pages: Select[int]) -> None:
        """Forget the selected pages, which are about to be deleted.

        Of the mirrors that they leave, the one stored first is an original from then on, and those near it mirror it.
        """
        heirs = connection.execute(_heirs(pages)).mappings().all()
        gone = select(page.c.id, page.c.page_fingerprint).where(page.c.id.in_(pages))
        entries = [Entry(row[1], row[0]) for row in connection.execute(gone) if row[1] is not None]
        self._index.remove(connection, entries)
        connection.execute(delete(mirror).where(mirror.c.page_id.in_(pages) | mirror.c.original_id.in_(pages)))
        self._settle(connection, heirs)

    def renew(self, connection: Connection, page_id: int, old: int | None, new: int | None) -> None:
        """Give a page a fingerprint of another scheme; what it mirrors then is seen at its next visit."""
        if self.standing(connection, page_id, old).original_id is None:
            self._reindex(connection, page_id, old, new)
        elif new is None:
            connection.execute(_REMOVE, {"page": page_id})

    def _nearest(self, connection: Connection, home: Home, fingerprint: int | None) -> Match | None:
        if fingerprint is None or not self._rules.beyond_page:
            return None
        found = [one for one in self._index.lookup(connection, [fingerprint]) if one.owner_id != home.page_id]
        if found and self._rules.scope == "site":
            ids = [one.owner_id for one in found]
            here = set(connection.scalars(_OF_SITE, {"ids": ids, "of_site": home.site}))
            found = [one for one in found if one.owner_id in here]
        return min(found, key=lambda one: (one.distance, one.owner_id), default=None)

    def _reindex(self, connection: Connection, page_id: int, old: int | None, new: int | None) -> None:
        if old != new:
            self._index.remove(connection, _entries(page_id, old))
            self._index.add(connection, _entries(page_id, new))

    def _settle(self, connection: Connection, heirs: Iterable[RowMapping]) -> None:
        """Make each page a mirror of one before it, where one is near, or an original."""
        originals: list[RowMapping] = []
        for heir in heirs:
            near = [
                (bits, one["id"])
                for one in originals
                if (bits := distance(one["page_fingerprint"], heir["page_fingerprint"])) <= MAX_DISTANCE
            ]
            if near:
                bits, original_id = min(near)
                values = {"page_id": heir["id"], "original_id": original_id, "distance": bits}
                connection.execute(insert(mirror), values | {"first_seen": heir["first_seen"]})
            else:
                originals.append(heir)
                self._index.add(connection, _entries(heir["id"], heir["page_fingerprint"]))


def _heirs(pages: Select[int]) -> Select[tuple[int, int, object]]:
    """Select the mirrors, of pages about to be deleted, that stay themselves."""
    return (
        select(page.c.id, page.c.page_fingerprint, mirror.c.first_seen)
        .join(mirror, mirror.c.page_id == page.c.id)
        .where(mirror.c.original_id.in_(pages), mirror.c.page_id.not_in(pages))
        .order_by(page.c.id)
    )


def _entries(page_id: int, fingerprint: int | None) -> Sequence[Entry]:
    return [] if fingerprint is None else [Entry(fingerprint, page_id)]


def _write(connection: Connection, home: Home, nearest: Match | None, former: int | None) -> None:
    """Write what a page mirrors now, where it mirrored the page `former` before."""
    if nearest is not None and nearest.owner_id == former:
        connection.execute(_MOVE, {"page": home.page_id, "bits": nearest.distance})
        return
    if former is not None:
        connection.execute(_REMOVE, {"page": home.page_id})
    if nearest is not None:
        values = {"page_id": home.page_id, "original_id": nearest.owner_id, "distance": nearest.distance}
        connection.execute(insert(mirror), values | {"first_seen": home.at})
