"""Whether the table's values are where its evidence says that they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from crawler.portals.saved import is_page, names_host
from crawler.urls import host as host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.portals.portal import Portal
    from crawler.portals.saved import SavedPage, SavedPages

CHECKED = ("host", "home", "hosts", "sections", "feeds", "sitemaps", "articles", "language")
"""Columns that say something of a site; the others say how to treat it."""

# A page that is no article itself proves a pattern by linking to so many.
_LEAST_LINKS = 3


class State(StrEnum):
    """How a column stands; a closed set."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    """No evidence is named."""
    WRONG = "wrong"
    """The evidence is missing, or does not say so."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of a column of a portal; `detail` says what is wrong."""

    portal: str
    column: str
    state: State
    detail: str = ""


def check(portal: Portal, saved: SavedPages) -> list[Finding]:
    """Return a finding for each column that the portal has a value in."""
    return [_checked(portal, column, saved) for column in CHECKED if getattr(portal, column)]


def _checked(portal: Portal, column: str, saved: SavedPages) -> Finding:
    names = portal.evidence.get(column)
    if names is None:
        return Finding(portal.name, column, State.UNPROVEN)
    pages = {name: saved.page(name, portal.start) for name in names if is_page(name)}
    texts = {name: saved.document(name) for name in names if not is_page(name)}
    missing = [name for name, found in (pages | texts).items() if found is None]
    if missing:
        return Finding(portal.name, column, State.WRONG, f"there is no {missing[0]}")
    read = [page for page in pages.values() if page]
    problem = next(_problems(portal, column, read, [text for text in texts.values() if text]), None)
    return Finding(portal.name, column, State.WRONG if problem else State.PROVEN, problem or "")


def _problems(portal: Portal, column: str, pages: list[SavedPage], texts: list[str]) -> Iterator[str]:
    if column == "articles":
        yield from _pattern_problems(portal, pages)
    elif column == "language":
        yield from (f"the text of {page.url} is in {page.language}" for page in pages if not _speaks(page, portal))
    elif column in {"host", "hosts"}:
        for name in [portal.host] if column == "host" else portal.hosts:
            if not any(_shows_host(page, name) for page in pages) and not any(names_host(text, name) for text in texts):
                yield f"{name} is not named there"
    else:
        value = getattr(portal, column)
        for url in [value] if isinstance(value, str) else value:
            if not any(_shows(page, url) for page in pages) and not any(url in text for text in texts):
                yield f"{url} is not named there"


def _pattern_problems(portal: Portal, pages: list[SavedPage]) -> Iterator[str]:
    pattern = portal.articles
    assert pattern is not None  # it is checked
    for page in pages:
        if pattern.search(page.url) or sum(bool(pattern.search(url)) for url in page.links) >= _LEAST_LINKS:
            continue
        yield f"it finds neither {page.url or 'the page'} nor {_LEAST_LINKS} of its links"
    yield from (
        f"it finds {url}, which is no article" for url in (portal.start, *portal.sections) if pattern.search(url)
    )


def _speaks(page: SavedPage, portal: Portal) -> bool:
    return page.language is not None and page.language.partition("-")[0] == portal.language.partition("-")[0]


def _shows_host(page: SavedPage, name: str) -> bool:
    return any(host_of(url) == name for url in (page.url, *page.links))


def _shows(page: SavedPage, url: str) -> bool:
    return _bare(url) in {_bare(one) for one in (page.url, *page.links)}


def _bare(url: str) -> str:
    return url.strip().rstrip("/").lower()
