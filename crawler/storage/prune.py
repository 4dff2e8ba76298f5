"""Remove pages for good: by site, by URL, by age. What other pages share lives on there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, insert, not_, or_, select

from crawler import urls
from crawler.errors import StoreError
from crawler.storage import lineage, tokens, traces, triggers
from crawler.storage.compare import Original
from crawler.storage.engine import erasing, reading
from crawler.storage.index import INDEXES, MAX_DISTANCE, Entry
from crawler.storage.locks import lock_all
from crawler.storage.mirrors import Mirrors
from crawler.storage.models import block, page, sighting
from crawler.storage.repoint import SHARED, repoint
from crawler.storage.rules import Rules
from crawler.storage.templates import add_pages
from crawler.storage.tokens import Worded

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, ScalarSelect, Select
    from sqlalchemy.engine import Connection, Engine, RowMapping

    from crawler.storage.index import FingerprintIndex
    from crawler.storage.journal import Journal
    from crawler.storage.traces import Named


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pages: all that match each of the criteria given; at least one must be."""

    site: str | None = None
    url: str | None = None
    last_seen_before: datetime | None = None

    @classmethod
    def of(cls, site: str | None = None, url: str | None = None, older_than_days: int | None = None) -> Selection:
        """Return a selection from what a user types: a domain or a URL of a site, a page's URL, an age in days."""
        domain = None if site is None else urls.site(site if "://" in site else f"http://{site}")
        before = None if older_than_days is None else datetime.now(UTC) - timedelta(days=older_than_days)
        return cls(domain, url, before)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a selection removes; `promoted` counts removed blocks whose text lives on as another page's block.

    `requests` are those of all crawls for the pages, `sections` what is visited again for its links.
    """

    pages: int
    blocks: int
    sightings: int
    promoted: int
    sections: int = 0
    requests: int = 0


def count(engine: Engine, selection: Selection) -> Pruned:
    """Return what `prune` would remove now."""
    with reading(engine) as connection:
        return _count(connection, selection, traces.named(connection, selection, _doomed(selection)))


def prune(engine: Engine, selection: Selection) -> Pruned:
    """Delete the selected pages with their blocks, sightings, HTML and requests, in one transaction; return what went.

    A block with sightings on other pages hands its text on: the oldest live sighting becomes a block of its own
    page, with the text as that page has it, and the others become sightings of that. The mirrors of a page hand on its
    place in the same way. A text that is template no more is seen at the site's next visit. Sections are selected as
    pages are, and a whole site's hosts go with it. A crawl that is at one of the pages just then does not store it.
    """
    index = INDEXES[engine.dialect.name](MAX_DISTANCE)
    with erasing(engine) as connection:
        lock_all(connection)
        changes = lineage.begin(connection)
        names = traces.named(connection, selection, _doomed(selection))
        pruned = _count(connection, selection, names)
        traces.remove(connection, selection, names)
        add_pages(connection, _doomed(selection), -1)
        Mirrors(engine.dialect.name, Rules()).remove(connection, _doomed(selection))
        for block_id in connection.scalars(_bequeathing(selection)).all():
            _promote(connection, index, block_id, selection, changes)
        changes.remove(_doomed(selection))
        _delete(connection, index, selection)
        changes.settle()
        triggers.tidy(connection)
    return pruned


def _condition(selection: Selection) -> ColumnElement[bool]:
    criteria = []
    if selection.site is not None:
        criteria.append(page.c.site == selection.site)
    if selection.url is not None:
        plain = urls.without_credentials(selection.url)
        criteria.append(or_(page.c.url == plain, page.c.url_key == urls.url_key(selection.url)))
    if selection.last_seen_before is not None:
        criteria.append(page.c.last_seen < selection.last_seen_before)
    if not criteria:
        raise StoreError("prune needs a site, a URL or an age; it never removes everything")
    return and_(*criteria)


def _doomed(selection: Selection) -> Select[int]:
    return select(page.c.id).where(_condition(selection))


def _bequeathing(selection: Selection) -> Select[int]:
    """Select the doomed blocks that have sightings on pages that stay."""
    return (
        select(block.c.id)
        .distinct()
        .join(sighting, sighting.c.block_id == block.c.id)
        .where(block.c.page_id.in_(_doomed(selection)), not_(sighting.c.page_id.in_(_doomed(selection))))
        .order_by(block.c.id)
    )


def _count(connection: Connection, selection: Selection, names: Named) -> Pruned:
    def number(column: Any) -> ScalarSelect[int]:
        of_doomed = column.in_(_doomed(selection))
        return select(func.count()).select_from(column.table).where(of_doomed).scalar_subquery()

    promoted = select(func.count()).select_from(_bequeathing(selection).subquery()).scalar_subquery()
    sections = select(func.count()).select_from(traces.sections(selection).subquery()).scalar_subquery()
    counts = select(number(page.c.id), number(block.c.page_id), number(sighting.c.page_id), promoted, sections)
    return replace(Pruned(*connection.execute(counts).one()), requests=len(traces.requests(connection, names)))


def _promote(
    connection: Connection, index: FingerprintIndex, block_id: int, selection: Selection, changes: Journal
) -> None:
    heir, *others = _surviving(connection, block_id, selection)
    values = {name: heir[name] for name in SHARED}
    own = {"site": heir["site"], "text": heir["full_text"], "added": changes.mark, "changed": changes.mark}
    key = connection.execute(insert(block), values | own).inserted_primary_key
    assert key is not None  # one row, always
    tokens.add(connection, [Worded(key[0], heir["full_text"], heir["words"], heir["priority"])])
    connection.execute(delete(sighting).where(sighting.c.id == heir["id"]))
    changes.touch(heir["page_id"])
    if heir["fingerprint"] is not None:
        index.add(connection, [Entry(heir["fingerprint"], key[0])])
    repoint(connection, others, Original(key[0], heir["full_text"], heir["digest"], heir["fingerprint"]))


def _surviving(connection: Connection, block_id: int, selection: Selection) -> list[RowMapping]:
    """Return the sightings that stay, live ones first, then the oldest, each with its page's site and its text."""
    full_text = func.coalesce(sighting.c.text, block.c.text).label("full_text")
    statement = (
        select(sighting, page.c.site, full_text)
        .join(page, page.c.id == sighting.c.page_id)
        .join(block, block.c.id == sighting.c.block_id)
        .where(sighting.c.block_id == block_id, not_(sighting.c.page_id.in_(_doomed(selection))))
        .order_by(sighting.c.gone_at.is_not(None), sighting.c.first_seen, sighting.c.id)
    )
    return list(connection.execute(statement).mappings())


def _delete(connection: Connection, index: FingerprintIndex, selection: Selection) -> None:
    doomed = _doomed(selection)
    fingerprints = select(block.c.fingerprint, block.c.id).where(
        block.c.page_id.in_(doomed), block.c.fingerprint.is_not(None)
    )
    index.remove(connection, [Entry(row.fingerprint, row.id) for row in connection.execute(fingerprints).all()])
    connection.execute(delete(sighting).where(sighting.c.page_id.in_(doomed)))
    connection.execute(delete(block).where(block.c.page_id.in_(doomed)))
    connection.execute(delete(page).where(_condition(selection)))
