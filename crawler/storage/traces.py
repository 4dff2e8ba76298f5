"""What the frontier knows of pages that are to go for good: their requests, sections, hosts, and who was referred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlalchemy import bindparam, delete, select, true, update

from crawler import urls
from crawler.storage.batches import batched
from crawler.storage.models import host, page, request, section, sitemap_trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.engine import Connection

    from crawler.storage.prune import Selection

_ROWS_AT_ONCE = 10_000
_FORGET = update(request).where(request.c.id == bindparam("row")).values(headers=bindparam("without"))


@dataclass(frozen=True, slots=True)
class Named:
    """The addresses that a selection stands for: of single pages, or of one whole site."""

    keys: frozenset[str]
    paths: frozenset[str]
    site: str | None = None

    def covers(self, url: str) -> bool:
        """Tell whether a URL is one of them, however it is written."""
        if self.site is not None:
            return urls.site(url) == self.site
        # Comparing paths spares nearly all requests the canonical form, which takes ten times as long.
        return _path(url) in self.paths and urls.url_key(url) in self.keys


def named(connection: Connection, selection: Selection, doomed: Select[int]) -> Named:
    """Return what a selection of pages, the doomed ones, names."""
    if selection.site is not None and selection.url is None and selection.last_seen_before is None:
        return Named(frozenset(), frozenset(), selection.site)
    found = connection.execute(select(page.c.url, page.c.url_key).where(page.c.id.in_(doomed)))
    known = {url for row in found for url in row}
    if selection.url is not None and selection.last_seen_before is None:
        known |= {selection.url} if selection.site in {None, urls.site(selection.url)} else set()
    return Named(frozenset(map(urls.url_key, known)), frozenset(map(_path, known)))


def sections(selection: Selection) -> Select[int]:
    """Select the ids of the sections that a selection takes in."""
    criteria: list[ColumnElement[bool]] = [true()]
    if selection.site is not None:
        criteria.append(section.c.site == selection.site)
    if selection.url is not None:
        criteria.append(section.c.url_key == urls.url_key(selection.url))
    if selection.last_seen_before is not None:
        criteria.append(section.c.last_seen < selection.last_seen_before)
    return select(section.c.id).where(*criteria)


def requests(connection: Connection, names: Named) -> list[int]:
    """Return the ids of the requests for what is named, in all crawls."""
    rows = connection.execute(select(request.c.id, request.c.url), execution_options={"yield_per": _ROWS_AT_ONCE})
    return [row.id for row in rows if names.covers(row.url)]


def remove(connection: Connection, selection: Selection, names: Named) -> None:
    """Delete the requests and sections, a whole site's hosts, and the addresses as those that others came from."""
    doomed, forgetting = requests(connection, names), list(_forgetting(connection, names))
    _lock(connection, sorted({*doomed, *(one["row"] for one in forgetting)}))
    if forgetting:
        connection.execute(_FORGET, forgetting)
    for part in batched(doomed):
        connection.execute(delete(request).where(request.c.id.in_(part)))
    connection.execute(delete(section).where(section.c.id.in_(sections(selection))))
    if names.site is not None:
        _remove_hosts(connection, names.site)


def _lock(connection: Connection, ids: Sequence[int]) -> None:
    """Wait for crawls that end these requests just now; in the order in which they lock them themselves."""
    for part in batched(ids):
        connection.execute(select(request.c.id).where(request.c.id.in_(part)).order_by(request.c.id).with_for_update())


def _remove_hosts(connection: Connection, site: str) -> None:
    own = urls.host(f"http://{site}")  # of a site that is an address with a port
    for table in (host, sitemap_trust):
        known = connection.scalars(select(table.c.host)).all()
        for part in batched([name for name in known if name == own or urls.site(f"http://{name}") == site]):
            connection.execute(delete(table).where(table.c.host.in_(part)))


def _forgetting(connection: Connection, names: Named) -> Iterator[dict[str, Any]]:
    """Give the requests that somebody named referred to, with their headers without that."""
    rows = connection.execute(select(request.c.id, request.c.headers), execution_options={"yield_per": _ROWS_AT_ONCE})
    for row in rows:
        without = {name: values for name, values in row.headers.items() if not _refers(name, values, names)}
        if len(without) < len(row.headers):
            yield {"row": row.id, "without": without}


def _refers(name: str, values: Sequence[str], names: Named) -> bool:
    return name.lower() == "referer" and any(names.covers(value) for value in values)


def _path(url: str) -> str:
    """Return the path of a URL, as it is the same in all ways of writing it."""
    return unquote(url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2])
