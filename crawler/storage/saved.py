"""What became of visits, for whoever saved them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawler.storage.compare import Comparison
    from crawler.storage.rows import Sighted
    from crawler.visit import Visit


class PageState(StrEnum):
    """What a visit meant for its page; a closed set, counted under these words."""

    NONE = "none"
    """The visit had no page, and none was stored at its address."""
    LOST = "lost"
    """The request had been given to another process meanwhile; the visit was not stored."""
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_MODIFIED = "not_modified"
    """It was not read: its server, or the same body, said that it is what it was."""
    MISSED = "missed"
    """It was not found there; it is looked for again, later each time."""
    RETIRED = "retired"
    """It was not found too often, or is gone for good: so are its blocks."""
    PUT_OFF = "put_off"
    """Nothing was learned of it."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a visit: its candidates are stored + refreshed + exact + near + template.

    `refreshed` counts blocks and sightings that the page held before, `revived` those of them that had been gone,
    `exact` and `near` new sightings, `template` new ones of texts that were template on the site before, `gone` rows
    that the page held at its last visit and does not any more; `mirrors` is 1 if the page became a mirror. `spared`
    counts children of a re-crawl that are not due.
    """

    url: str
    state: PageState
    page_id: int | None = None
    stored: int = 0
    refreshed: int = 0
    revived: int = 0
    exact: int = 0
    near: int = 0
    template: int = 0
    gone: int = 0
    mirrors: int = 0
    spared: int = 0


def counted(base: Saved, comparison: Comparison, sighted: Sequence[Sighted], template: frozenset[int]) -> Saved:
    """Return what became of a page's candidates, with the new sightings and the texts that were template before."""
    dropped = sum(one.digest in template for one in comparison.new)
    shown = [one for one in sighted if one.candidate.digest not in template]
    exact = sum(one.exact for one in shown)
    return replace(
        base,
        stored=len(comparison.new) - dropped - len(shown),
        refreshed=len(comparison.kept),
        revived=sum(each.earlier.gone for each in comparison.kept),
        exact=exact,
        near=len(shown) - exact,
        template=dropped,
        gone=len(comparison.missing),
    )


def with_spared(saved: Sequence[Saved], visits: Sequence[Visit], spared: frozenset[str]) -> Iterator[Saved]:
    """Give each visit's result with the number of its children that are spared; a key counts where it comes first."""
    left = set(spared)
    for result, visit in zip(saved, visits, strict=True):
        mine = left.intersection(wanted.key for wanted in visit.requests)
        left -= mine
        yield replace(result, spared=len(mine))
