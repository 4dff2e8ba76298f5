"""One block: where it stands and what nearly repeats it; and families: texts and pages that repeat one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from crawler.errors import NotStoredError
from crawler.reading.text_diff import diff_words
from crawler.storage.near_duplicates import FINGERPRINT_INDEXES
from crawler.storage.queries import is_boilerplate, largest_block_groups, largest_page_groups
from crawler.storage.tables import block, page, sighting
from crawler.web.records import BlockAnswer, DiffWords, Families, Family, NearBlock, PageLink, Repetition
from crawler.web.snapshot import CUT, ROWS

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from crawler.web.records import BlockQuestion, Nothing
    from crawler.web.snapshot import DatabaseSnapshot

_NEAR_MAX = 20
_PLACES = 1_000
# Shorter texts, such as "Yes" in a table, are repeated most and tell least.
_FAMILY_WORDS = 5
_PAGE = (page.c.id.label("page_id"), page.c.url, page.c.title)
_COPIED = ("id", "text", "kind", "site", "position", "path", "words", "score", "priority", "first_seen", "last_seen")
_SELECT_BLOCK = select(
    *(block.c[name] for name in _COPIED),
    block.c.fingerprint,
    block.c.gone_at,
    page.c.language,
    *_PAGE,
    is_boilerplate(block),
).join(page, page.c.id == block.c.page_id)


def read_block(snapshot: DatabaseSnapshot, question: BlockQuestion) -> BlockAnswer:
    """Return a block; raises NotStoredError if no block has this id."""
    connection = snapshot.connection
    row = connection.execute(_SELECT_BLOCK.where(block.c.id == question.block)).first()
    if row is None:
        raise NotStoredError(f"there is no block {question.block} in the database")
    counted = select(func.count()).where(sighting.c.block_id == row.id)
    return BlockAnswer(
        **{name: getattr(row, name) for name in _COPIED},
        language=row.language,
        page=_page_link(row, 0),
        fingerprint=None if row.fingerprint is None else f"{row.fingerprint:016x}",
        gone=row.gone_at,
        boilerplate=bool(row.boilerplate),
        places=connection.scalar(counted) or 0,
        repetitions=_repetitions(connection, row),
        near=_near_blocks(connection, row),
    )


def _repetitions(connection: Connection, original: Any) -> list[Repetition]:
    """Return the pages of the first places that repeat a block, each with its different texts."""
    columns = (sighting.c.text, sighting.c.distance, sighting.c.gone_at, *_PAGE, is_boilerplate(sighting))
    repeated = select(*columns).join(page, page.c.id == sighting.c.page_id)
    rows = connection.execute(repeated.where(sighting.c.block_id == original.id).order_by(sighting.c.id).limit(_PLACES))
    alike: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        alike.setdefault((row.page_id, row.text, row.gone_at is None, bool(row.boilerplate)), []).append(row)
    return [
        Repetition(
            page=_page_link(row, row.distance),
            words=_difference(original.text, row.text),
            gone=row.gone_at is not None,
            boilerplate=bool(row.boilerplate),
            times=len(more) + 1,
        )
        for row, *more in list(alike.values())[:CUT]
    ]


def _near_blocks(connection: Connection, original: Any) -> list[NearBlock]:
    """Return the stored blocks whose fingerprints are near, the nearest first."""
    if original.fingerprint is None:
        return []
    lookup = FINGERPRINT_INDEXES[connection.dialect.name]().lookup(connection, [original.fingerprint])
    bits = {match.owner_id: match.distance for match in lookup.matches if match.owner_id != original.id}
    nearest = sorted(bits, key=lambda block_id: (bits[block_id], block_id))[:_NEAR_MAX]
    rows = connection.execute(_SELECT_BLOCK.where(block.c.id.in_(nearest)))
    near = [
        NearBlock(
            block=row.id,
            distance=bits[row.id],
            page=_page_link(row, bits[row.id]),
            words=_difference(original.text, row.text),
        )
        for row in rows
    ]
    return sorted(near, key=lambda neighbour: (neighbour.distance, neighbour.block))


def _difference(original: str, text: str | None) -> list[DiffWords]:
    if text is None or text == original:
        return []
    return [DiffWords(change=part.change.value, text=part.text) for part in diff_words(original, text)]


def _page_link(row: Any, distance: int) -> PageLink:
    return PageLink(id=row.page_id, url=row.url, title=row.title, distance=distance)


def read_families(snapshot: DatabaseSnapshot, _question: Nothing) -> Families:
    """Return the texts of some length and the pages that are repeated most; all repetitions are counted for that."""
    return Families(
        blocks=[_family(group) for group in largest_block_groups(snapshot.connection, ROWS, _FAMILY_WORDS)],
        pages=[_family(group) for group in largest_page_groups(snapshot.connection, ROWS)],
        counted=snapshot.now,
    )


def _family(group: Any) -> Family:
    return Family(block=group.block_id, size=group.size, url=group.url, text=group.text)
