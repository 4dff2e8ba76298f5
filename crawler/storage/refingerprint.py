"""Make the digests and fingerprints of all stored blocks, sightings and pages anew, after the scheme has changed.

A page's rows and its scheme are written in one transaction: so the pages' schemes are all the state there is, and a
run after one that was killed goes on where that ended. Until all is done no crawl accepts the database.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, update

from cleaning.blocks import Kind
from cleaning.fingerprint import distance
from crawler.storage import lineage
from crawler.storage.engine import reading, writing
from crawler.storage.index import INDEXES, MAX_DISTANCE, Entry
from crawler.storage.locks import lock_all
from crawler.storage.mirrors import Mirrors
from crawler.storage.models import block, page, sighting
from crawler.storage.rules import Rules
from crawler.storage.templates import add_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import BindParameter
    from sqlalchemy.engine import Connection, Engine

    from crawler.fingerprints import Marker, Marks

_PAGES = 50  # in one transaction

_OF_PAGES: BindParameter[int] = bindparam("pages", expanding=True)
_BLOCKS = select(block.c.id, block.c.text, block.c.kind, block.c.fingerprint).where(block.c.page_id.in_(_OF_PAGES))
_SIGHTINGS = (
    select(
        sighting.c.id,
        sighting.c.kind,
        sighting.c.distance,
        func.coalesce(sighting.c.text, block.c.text).label("text"),
        block.c.text.label("original_text"),
        block.c.kind.label("original_kind"),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .where(sighting.c.page_id.in_(_OF_PAGES))
)
_TEXTS = (
    select(block.c.page_id, block.c.position, block.c.kind, block.c.text)
    .where(block.c.page_id.in_(_OF_PAGES), block.c.gone_at.is_(None))
    .union_all(
        select(sighting.c.page_id, sighting.c.position, sighting.c.kind, func.coalesce(sighting.c.text, block.c.text))
        .join(block, block.c.id == sighting.c.block_id)
        .where(sighting.c.page_id.in_(_OF_PAGES), sighting.c.gone_at.is_(None))
    )
    .order_by("page_id", "position")
)
_MARKS: dict[str, Any] = {
    "digest": bindparam("new_digest"),
    "fingerprint": bindparam("new_fingerprint"),
    "changed": bindparam("mark"),  # other digests, other templates
}
_UPDATE_BLOCK = update(block).where(block.c.id == bindparam("row")).values(_MARKS)
_UPDATE_SIGHTING = (
    update(sighting).where(sighting.c.id == bindparam("row")).values(_MARKS | {"distance": bindparam("bits")})
)


def refingerprint(engine: Engine, marker: Marker, report: Callable[[str], None]) -> int:
    """Bring all pages of another scheme to the marker's and return how many there were; tell `report` how far it is."""
    others = page.c.scheme != marker.scheme
    with reading(engine) as connection:
        total = connection.scalar(select(func.count()).select_from(page).where(others)) or 0
    done = 0
    while True:
        with writing(engine) as connection:
            lock_all(connection)
            pages = connection.scalars(select(page.c.id).where(others).limit(_PAGES)).all()
            if not pages:
                return done
            _renew(connection, marker, pages)
        done += len(pages)
        report(f"{done:,} of {max(total, done):,} pages have new fingerprints")


def _renew(connection: Connection, marker: Marker, pages: Sequence[int]) -> None:
    """Bring pages, with all that is theirs, to the marker's scheme."""
    concerned, changes = select(page.c.id).where(page.c.id.in_(pages)), lineage.begin(connection)
    add_texts(connection, concerned, -1)
    _renew_blocks(connection, marker, pages, changes.mark)
    _renew_sightings(connection, marker, pages, changes.mark)
    add_texts(connection, concerned, +1)
    _renew_pages(connection, marker, pages)
    for one in pages:
        changes.touch(one)
    changes.settle()


def _renew_pages(connection: Connection, marker: Marker, pages: Sequence[int]) -> None:
    mirrors = Mirrors(connection.dialect.name, Rules())
    texts: dict[int, list[Marks]] = defaultdict(list)
    for shown in connection.execute(_TEXTS, {"pages": pages}):
        texts[shown.page_id].append(marker.marks(shown.text, Kind(shown.kind)))
    stored = select(page.c.id, page.c.page_fingerprint).where(page.c.id.in_(pages))
    for one in connection.execute(stored).all():
        new = marker.page(texts[one.id])
        mirrors.renew(connection, one.id, one.page_fingerprint, new)
        values = {"scheme": marker.scheme, "page_fingerprint": new}
        connection.execute(update(page).where(page.c.id == one.id).values(values))


def _renew_blocks(connection: Connection, marker: Marker, pages: Sequence[int], mark: int) -> None:
    index = INDEXES[connection.dialect.name](MAX_DISTANCE)
    blocks = connection.execute(_BLOCKS, {"pages": pages}).all()
    marks = [marker.marks(one.text, Kind(one.kind)) for one in blocks]
    index.remove(connection, [Entry(one.fingerprint, one.id) for one in blocks if one.fingerprint is not None])
    rows = [
        {"row": one.id, "new_digest": new.digest, "new_fingerprint": new.fingerprint, "mark": mark}
        for one, new in zip(blocks, marks, strict=True)
    ]
    if rows:
        connection.execute(_UPDATE_BLOCK, rows)
    index.add(connection, [Entry(bits, row["row"]) for row in rows if (bits := row["new_fingerprint"]) is not None])


def _renew_sightings(connection: Connection, marker: Marker, pages: Sequence[int], mark: int) -> None:
    rows = [_renewed(marker, one) | {"mark": mark} for one in connection.execute(_SIGHTINGS, {"pages": pages})]
    if rows:
        connection.execute(_UPDATE_SIGHTING, rows)


def _renewed(marker: Marker, row: Any) -> dict[str, Any]:
    """Return a sighting's new values; its original may be on a page still to be done, so both texts are read."""
    marks = marker.marks(row.text, Kind(row.kind))
    original = marker.marks(row.original_text, Kind(row.original_kind))
    bits = row.distance
    if marks.fingerprint is not None and original.fingerprint is not None:
        bits = distance(marks.fingerprint, original.fingerprint)
    return {"row": row.id, "new_digest": marks.digest, "new_fingerprint": marks.fingerprint, "bits": bits}
