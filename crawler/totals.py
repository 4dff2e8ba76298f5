"""A crawl's counts: which are stored with it, and whether in equals out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cleaning.blocks import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CRAWL_ID = "store/crawl_id"
"""The stat with the crawl's number in the database."""
QUEUED = "frontier/queued"
"""The stat with how many requests stood in the database's queue when they were counted last."""

# Stats of the moment, which are nothing to add up.
_NO_COUNTERS = frozenset({CRAWL_ID, QUEUED})
_STORED_PREFIXES = (
    "visit/",
    "blocks/",
    "page/",
    "dedup/",
    "store/",
    "replay/",
    "ezine/",
    "section/",
    "clean/",
    "brake/",
    "frontier/",
    "recrawl/",
)


def totals(stats: Mapping[str, Any]) -> dict[str, int | str]:
    """Return the counters that are kept with the crawl's row."""
    return {
        name: value
        for name, value in sorted(stats.items())
        if name.startswith(_STORED_PREFIXES) and isinstance(value, int | str) and name not in _NO_COUNTERS
    }


def queued(stats: Mapping[str, Any]) -> int:
    """Return how many requests wait in the crawl's queue: in the database, or in memory where there is no frontier."""
    if QUEUED in stats:
        return _count(stats, QUEUED)
    return _count(stats, "scheduler/enqueued") - _count(stats, "scheduler/dequeued")


def imbalances(stats: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each pair of counts that should be equal and is not; nothing where all is well."""
    seen = _count(stats, "blocks/seen")
    decided = sum(_count(stats, f"blocks/{reason}") for reason in Reason)
    if seen != decided:
        yield f"{seen} blocks were seen, but {decided} kept or dropped for a reason"
    pages = _count(stats, "clean/pages")
    written = sum(_count(stats, f"store/pages_{event}") for event in ("new", "changed", "unchanged", "failed", "lost"))
    if pages != written:
        yield f"{pages} pages were cleaned, but {written} stored, failed or lost"
    kept = _count(stats, "blocks/kept")
    placed = sum(_count(stats, name) for name in ("store/blocks_new", "store/blocks_refreshed", *_DUPLICATES))
    if kept != placed and not (_count(stats, "store/pages_failed") or _count(stats, "store/pages_lost")):
        yield f"{kept} blocks were kept, but {placed} stored, refreshed, duplicates or template"


_DUPLICATES = ("dedup/exact", "dedup/near", "dedup/template")


def _count(stats: Mapping[str, Any], name: str) -> int:
    return int(stats.get(name, 0))
