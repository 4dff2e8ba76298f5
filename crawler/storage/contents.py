"""What the database knows of one page: its HTML, the texts that stand for its kept blocks, what it mirrors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, null, or_, select

from crawler import urls
from crawler.storage.models import block, mirror, page, recurrence, sighting
from crawler.storage.pages import html

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import CompoundSelect, Select
    from sqlalchemy.engine import Connection


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text of a page as it is stored: a block of its own, or a sighting of the block of the page at `url`.

    `distance` is in bits, None for a block of its own; `template` tells whether many pages of the site show it.
    """

    block_id: int
    text: str
    distance: int | None
    url: str
    template: bool


@dataclass(frozen=True, slots=True)
class Original:
    """The page that a mirror is nearly the same as, and by how many bits they differ."""

    url: str
    distance: int


@dataclass(frozen=True, slots=True)
class Contents:
    """A stored page. `html` is None where it was not kept; `texts` are those that it shows now, in reading order.

    `gone` counts the texts that it showed at earlier visits only. `retired` is when it was found to be gone itself.
    """

    url: str
    site: str
    method: str
    options_hash: int | None
    encoding: str | None
    first_seen: datetime
    last_seen: datetime
    visits: int
    retired: datetime | None
    html: bytes | None
    mirrors: Original | None
    texts: tuple[StoredText, ...]
    gone: int


def read_contents(connection: Connection, url: str) -> Contents | None:
    """Return what is stored of the page at an address, as fetched or canonical; None for an unknown one."""
    found = connection.execute(at_address(_PAGE, url)).first()
    if found is None:
        return None
    key = {"page": found.id}
    row = connection.execute(_MIRRORED, key).first()
    return Contents(
        url=found.url,
        site=found.site,
        method=found.method,
        options_hash=found.options_hash,
        encoding=found.encoding,
        first_seen=found.first_seen,
        last_seen=found.last_seen,
        visits=found.visits,
        retired=found.retired_at,
        html=None if found.html is None else html(found.html),
        mirrors=None if row is None else Original(row.url, row.distance),
        texts=tuple(
            StoredText(text.block_id, text.text, text.distance, text.url, bool(text.template))
            for text in connection.execute(_TEXTS, key)
        ),
        gone=sum(connection.scalar(count, key) or 0 for count in _GONE),
    )


def at_address(statement: Select[Any], url: str) -> Select[Any]:
    """Return the statement for the page at an address, as fetched or canonical; the page of that key comes first."""
    plain, key = urls.without_credentials(url), urls.url_key(url)
    return statement.where(or_(page.c.url_key == key, page.c.url == plain)).order_by(page.c.url_key != key)


def is_template(table: Any) -> Any:
    """Return the condition, as column `template`, that many pages of the joined page's site show the table's text."""
    return (
        select(recurrence.c.digest)
        .where(
            recurrence.c.site == page.c.site,
            recurrence.c.digest == table.c.digest,
            recurrence.c.template_at.is_not(None),
        )
        .exists()
        .label("template")
    )


_PAGE = select(
    page.c.id,
    page.c.url,
    page.c.site,
    page.c.method,
    page.c.options_hash,
    page.c.encoding,
    page.c.first_seen,
    page.c.last_seen,
    page.c.visits,
    page.c.retired_at,
    page.c.html,
)
_MIRRORED = (
    select(page.c.url, mirror.c.distance)
    .join(mirror, mirror.c.original_id == page.c.id)
    .where(mirror.c.page_id == bindparam("page"))
)
_HOME = page.alias("home")  # of the block that is sighted
_TEXTS: CompoundSelect[Any] = (
    select(
        block.c.id.label("block_id"),
        block.c.position,
        block.c.text,
        null().label("distance"),
        page.c.url,
        is_template(block),
    )
    .join(page, page.c.id == block.c.page_id)
    .where(block.c.page_id == bindparam("page"), block.c.gone_at.is_(None))
    .union_all(
        select(
            sighting.c.block_id,
            sighting.c.position,
            func.coalesce(sighting.c.text, block.c.text),
            sighting.c.distance,
            _HOME.c.url,
            is_template(sighting),
        )
        .join(page, page.c.id == sighting.c.page_id)
        .join(block, block.c.id == sighting.c.block_id)
        .join(_HOME, _HOME.c.id == block.c.page_id)
        .where(sighting.c.page_id == bindparam("page"), sighting.c.gone_at.is_(None))
    )
    .order_by("position")
)
_GONE = [
    select(func.count()).where(table.c.page_id == bindparam("page"), table.c.gone_at.is_not(None))
    for table in (block, sighting)
]
