"""Originals with all that repeats them: blocks and their sightings, pages and their mirrors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select

from crawler import urls
from crawler.errors import StoreError
from crawler.storage.contents import at_address, is_template
from crawler.storage.models import block, mirror, page, sighting

if TYPE_CHECKING:
    from sqlalchemy import CompoundSelect, Select
    from sqlalchemy.engine import Connection

# Of one family, so that a notice on a million pages can be looked at.
MOST_MEMBERS = 1_000
_MOST_DIFFERING = 50


@dataclass(frozen=True, slots=True)
class BlockMember:
    """A text of a family as one page has it; `distance` in bits from the original."""

    url: str
    site: str
    distance: int
    text: str
    gone: bool
    template: bool


@dataclass(frozen=True, slots=True)
class BlockFamily:
    """A stored block and its sightings, the oldest first; `size` counts them all, also beyond those listed."""

    block_id: int
    size: int
    original: BlockMember
    sightings: list[BlockMember]


@dataclass(frozen=True, slots=True)
class PageMember:
    """A page that mirrors another, and the texts that only one of the two has, word for word, in reading order."""

    url: str
    site: str
    distance: int
    missing: list[str]
    added: list[str]


@dataclass(frozen=True, slots=True)
class PageFamily:
    """A page and its mirrors, those stored first at the beginning; `size` counts them all."""

    url: str
    site: str
    size: int
    mirrors: list[PageMember]


@dataclass(frozen=True, slots=True)
class Summary:
    """A family in a list: a block's id, or None for a page's; how many repeat it; where it is; how it begins."""

    block_id: int | None
    size: int
    url: str
    text: str


def largest_blocks(connection: Connection, limit: int = 20) -> list[Summary]:
    """Return the blocks with the most sightings, the one with the most first; those without any left out."""
    sizes = _sizes(sighting.c.block_id, limit)
    statement = (
        select(block.c.id, sizes.c.size, page.c.url, block.c.text)
        .join(sizes, sizes.c.id == block.c.id)
        .join(page, page.c.id == block.c.page_id)
        .order_by(sizes.c.size.desc(), block.c.id)
    )
    return [Summary(*row) for row in connection.execute(statement)]


def largest_pages(connection: Connection, limit: int = 20) -> list[Summary]:
    """Return the pages with the most mirrors, the one with the most first; those without any left out."""
    sizes = _sizes(mirror.c.original_id, limit)
    statement = (
        select(sizes.c.size, page.c.url, func.coalesce(page.c.title, ""))
        .join(sizes, sizes.c.id == page.c.id)
        .order_by(sizes.c.size.desc(), page.c.id)
    )
    return [Summary(None, *row) for row in connection.execute(statement)]


def of_block(connection: Connection, block_id: int) -> BlockFamily:
    """Return a block's family; raises StoreError where no block has this id."""
    first = connection.execute(_ORIGINAL, {"block": block_id}).first()
    if first is None:
        raise StoreError(f"there is no block {block_id}; `scrapy duplicates` lists the largest families")
    size = connection.scalar(select(func.count()).where(sighting.c.block_id == block_id)) or 0
    rows = connection.execute(_SIGHTINGS, {"block": block_id})
    return BlockFamily(block_id, size, _block_member(first), [_block_member(row) for row in rows])


def of_page(connection: Connection, url: str) -> PageFamily:
    """Return the family of the page at an address, itself the original or a mirror; StoreError for an unknown one."""
    statement = select(page.c.id, mirror.c.original_id).outerjoin(mirror, mirror.c.page_id == page.c.id)
    found = connection.execute(at_address(statement, url)).first()
    if found is None:
        raise StoreError(f"there is no page {urls.without_credentials(url)}; give its address as it was fetched")
    original_id = found.original_id or found.id
    original = connection.execute(select(page.c.url, page.c.site).where(page.c.id == original_id)).one()
    size = connection.scalar(select(func.count()).where(mirror.c.original_id == original_id)) or 0
    texts = _texts(connection, original_id)
    rows = connection.execute(_MIRRORS, {"page": original_id}).all()
    return PageFamily(original.url, original.site, size, [_page_member(connection, row, texts) for row in rows])


def _sizes(owner: Any, limit: int) -> Any:
    """Return the largest families as a subquery of ids and sizes."""
    counted = select(owner.label("id"), func.count().label("size")).group_by(owner)
    return counted.order_by(func.count().desc(), owner).limit(limit).subquery()


_ORIGINAL: Select[Any] = (
    select(page.c.url, page.c.site, block.c.text, block.c.gone_at, is_template(block))
    .join(page, page.c.id == block.c.page_id)
    .where(block.c.id == bindparam("block"))
)
_SIGHTINGS: Select[Any] = (
    select(
        page.c.url,
        page.c.site,
        sighting.c.distance,
        func.coalesce(sighting.c.text, block.c.text).label("text"),
        sighting.c.gone_at,
        is_template(sighting),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .join(page, page.c.id == sighting.c.page_id)
    .where(sighting.c.block_id == bindparam("block"))
    .order_by(sighting.c.id)
    .limit(MOST_MEMBERS)
)
_MIRRORS: Select[Any] = (
    select(page.c.id, page.c.url, page.c.site, mirror.c.distance)
    .join(mirror, mirror.c.page_id == page.c.id)
    .where(mirror.c.original_id == bindparam("page"))
    .order_by(page.c.id)
    .limit(MOST_MEMBERS)
)
_TEXTS: CompoundSelect[Any] = (
    select(block.c.position, block.c.text)
    .where(block.c.page_id == bindparam("page"), block.c.gone_at.is_(None))
    .union_all(
        select(sighting.c.position, func.coalesce(sighting.c.text, block.c.text))
        .join(block, block.c.id == sighting.c.block_id)
        .where(sighting.c.page_id == bindparam("page"), sighting.c.gone_at.is_(None))
    )
    .order_by("position")
)


def _block_member(row: Any) -> BlockMember:
    bits = getattr(row, "distance", 0)
    return BlockMember(row.url, row.site, bits, row.text, row.gone_at is not None, bool(row.template))


def _page_member(connection: Connection, row: Any, original: list[str]) -> PageMember:
    own = _texts(connection, row.id)
    return PageMember(row.url, row.site, row.distance, _only(original, own), _only(own, original))


def _texts(connection: Connection, page_id: int) -> list[str]:
    """Return what a page shows, what is template included: its fingerprint is of all."""
    return [row.text for row in connection.execute(_TEXTS, {"page": page_id})]


def _only(texts: list[str], others: list[str]) -> list[str]:
    """Return the texts that are not among the others, as many as can be looked at."""
    known = frozenset(others)
    return [text for text in texts if text not in known][:_MOST_DIFFERING]
