"""What sitemaps say of pages, and whether it was right. The caller owns the transaction.

A spider that reads a sitemap hands each `<lastmod>` on with the page's request, as `meta={"lastmod": "2026-03-01"}`. It
is kept with the page until the next visit, which shows whether it was right; where the host's were right often enough
(`crawler.schedule.believes`), a page that is said to have changed is due at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.schedule import Trust, lastmod_says, moment, says
from crawler.storage.batches import batched
from crawler.storage.models import page, sitemap_trust
from crawler.storage.revisits import LASTMOD, is_repeatable, target
from crawler.urls import host

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import date, datetime
    from typing import Any

    from sqlalchemy.engine import Connection, Row

    from crawler.storage.frontier import Wanted
    from crawler.storage.pages import StoredPage

_LONGEST = 40  # characters of a date and time with its zone
_KEEP = update(page).where(page.c.id == bindparam("page")).values(lastmod=bindparam("said"))


@dataclass(frozen=True, slots=True)
class Proof:
    """A visit to a page of which a sitemap had said something."""

    host: str
    said: bool
    changed: bool


def read(lastmod: object) -> date | None:
    """Return the date, or date and time, that a `<lastmod>` names; None for one that names none."""
    return moment(lastmod) if isinstance(lastmod, str) and len(lastmod.strip()) <= _LONGEST else None


def prove(stored: StoredPage, *, changed: bool) -> Proof | None:
    """Return what a visit to a page shows of its sitemap; None where that has said nothing since the last one."""
    said = says(read(stored.lastmod), stored.history.last_seen)
    return None if said is None else Proof(host(stored.url), said, changed)


def announced(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> set[int]:
    """Return the ids of those pages of which a sitemap that is believed says that they changed since they were seen.

    The rows have columns `id`, `url`, `last_seen` and `lastmod` of pages.
    """
    told = [(row, host(row.url)) for row in rows if row.lastmod]
    trusts = _trusts(connection, {name for _, name in told})
    return {row.id for row, name in told if lastmod_says(trusts.get(name, Trust()), read(row.lastmod), row.last_seen)}


def learn(connection: Connection, proofs: Sequence[Proof]) -> None:
    """Note what visits have shown."""
    names = sorted({proof.host for proof in proofs})
    if not names:
        return
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    new = insert(sitemap_trust).on_conflict_do_nothing(index_elements=["host"])
    connection.execute(new, [{"host": name, "right": 0, "wrong": 0} for name in names])
    trusts = _trusts(connection, names, lock=True)
    for proof in proofs:
        trusts[proof.host] = trusts[proof.host].learned(proof.said, changed=proof.changed)
    for name in names:
        values = {"right": trusts[name].right, "wrong": trusts[name].wrong}
        connection.execute(update(sitemap_trust).where(sitemap_trust.c.host == name).values(values))


def note(connection: Connection, wanted: Sequence[Wanted], now: datetime) -> None:
    """Keep what sitemaps say of the requests' pages; those that changed, by one that is believed, are due now."""
    said = {target(one): one.meta[LASTMOD] for one in wanted if is_repeatable(one) and read(one.meta.get(LASTMOD))}
    pages = {row.id: row.url_key for part in batched(list(said)) for row in _free(connection, part)}
    if not pages:
        return
    connection.execute(_KEEP, [{"page": row_id, "said": said[key]} for row_id, key in pages.items()])
    for part in batched(list(pages)):
        columns = select(page.c.id, page.c.url, page.c.last_seen, page.c.lastmod)
        waiting = connection.execute(columns.where(page.c.id.in_(part), page.c.next_visit > now)).all()
        changed = announced(connection, waiting)
        connection.execute(update(page).where(page.c.id.in_(changed)).values(next_visit=now))


def _free(connection: Connection, keys: Sequence[str]) -> Iterator[Row[int, str]]:
    """Give id and key of the stored pages with these keys, locked; without those that are being visited just now."""
    live = select(page.c.id, page.c.url_key).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    yield from connection.execute(live.order_by(page.c.id).with_for_update(skip_locked=True))


def _trusts(connection: Connection, names: Collection[str], *, lock: bool = False) -> dict[str, Trust]:
    columns = select(sitemap_trust).where(sitemap_trust.c.host.in_(names)).order_by(sitemap_trust.c.host)
    statement = columns.with_for_update() if lock else columns
    return {row.host: Trust(row.right, row.wrong) for row in connection.execute(statement)} if names else {}
