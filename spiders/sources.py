"""What the spider `news` can be asked for."""

from __future__ import annotations

from dataclasses import dataclass

from cleaning.options import nearest
from crawler.arguments import argument, read_count
from spiders.listing import ListingArguments

SOURCES = ("sections", "feeds", "sitemaps", "saved")
_USUAL = SOURCES[:3]
_MOST_DAYS = 36_500


def read_sources(text: str) -> tuple[str, ...]:
    """Return the kinds of places at which articles are looked for."""
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in SOURCES:
            raise ValueError(f"there is no source {name!r}; {nearest(name, SOURCES)}")
    if not names:
        raise ValueError(f"it takes some of {', '.join(SOURCES)}, with commas between")
    return names


def read_days(text: str) -> int:
    """Return a number of days."""
    if not (text.isascii() and text.isdecimal()) or int(text[:9]) > _MOST_DAYS:
        raise ValueError(f"it takes a number of days, at most {_MOST_DAYS}")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsArguments(ListingArguments):
    site: str = argument(str, "names of portals with commas between, all, or hosts that are in no table")
    sources: tuple[str, ...] = argument(read_sources, "where articles are looked for", _USUAL)
    depth: int = argument(read_count, "levels of sections below a home page, where no table names sections", 1)
    articles: int = argument(read_count, "articles of each site that are asked for, in one run", 1_000)
    age: int | None = argument(read_days, "articles older than so many days are left out, as with since", None)
    seconds: int | None = argument(read_count, "time after which the crawl stops; the same command goes on", None)
