"""What a run of `scrapy recrawl` is to do: which pages and sections, in which order, and by which crawls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.misc import build_from_crawler, load_object

from crawler import schedule
from crawler.mask import MASK
from crawler.storage import due
from crawler.storage.frontier import Wanted
from crawler.storage.revisits import REVISITED, Origin
from crawler.urls import host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from sqlalchemy.engine import Connection

    from crawler.config import Config
    from crawler.storage.due import Revisit, Way


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked for: what is due or all, of a site or of all, at most so many (None: all)."""

    only_due: bool = False
    site: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The pages and sections of one spider with the same arguments (secrets masked), in the order of their visits.

    A group without any is a re-crawl that has not come to its end.
    """

    spider: str
    arguments: Mapping[str, str]
    ways: tuple[Way, ...] = field(default=())

    @property
    def masked(self) -> list[str]:
        """The names of arguments that are not stored in full, since they are or have secrets."""
        return [name for name, value in self.arguments.items() if MASK in value]

    def fault(self, spider: type[Spider] | None, given: Mapping[str, str]) -> str | None:
        """Return why it cannot be crawled with a spider (None: there is none), None where it can."""
        if spider is None:
            return f"there is no spider {self.spider!r} any more"
        if missing := [name for name in self.masked if name not in given]:
            again = " ".join(f"-a {name}=VALUE" for name in missing)
            return f"secrets among the arguments of {self.spider!r} are not stored: give them again, {again}"
        called = {way.callback or "parse" for way in self.ways}
        if lost := sorted(name for name in called if not callable(getattr(spider, name, None))):
            return f"the spider {self.spider!r} has no {', '.join(lost)} any more"
        return None

    def filled(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the arguments with those given in the place of the masked ones."""
        return {name: given[name] if name in self.masked else value for name, value in self.arguments.items()}

    def requests(self, crawler: Crawler) -> list[tuple[Revisit, Wanted]]:
        """Return the request of each page and section, with the key that a crawler of the spider gives it."""
        fingerprinter = build_from_crawler(load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler)
        return [
            (way.revisit, _request(way, fingerprinter.fingerprint(Request(way.revisit.url)).hex(), -rank))
            for rank, way in enumerate(self.ways)
        ]


def choose(connection: Connection, choice: Choice, config: Config, now: datetime) -> list[Revisit]:
    """Return what is to be visited, the most worthwhile first; without `only_due`, the oldest visit first.

    First of all is what a sitemap that is believed says has changed.
    """
    budget = _budget(connection, choice, config, now)
    if not choice.only_due:
        return due.every(connection, choice.site)[:budget]
    waiting = {one.history.key: one for one in due.due(connection, now, choice.site)}
    announced = [one for one in waiting.values() if one.announced][:budget]
    left = len(waiting) if budget is None else budget - len(announced)
    others = [one for one in waiting.values() if not one.announced]
    found = [schedule.due(one.history, one.next_visit or now, config.revisits) for one in others]
    return announced + [waiting[one.history.key] for one in schedule.choose(found, left, now)]


def groups(connection: Connection, revisits: Sequence[Revisit]) -> list[Group]:
    """Return the crawls to be made, that of the most worthwhile page first; unfinished ones last."""
    found: dict[str, Group] = {}
    ways: dict[str, list[Way]] = {}
    for way in due.ways(connection, revisits):
        key = _key(way.spider, way.arguments)
        found.setdefault(key, Group(way.spider, way.arguments))
        ways.setdefault(key, []).append(way)
    for row in due.unfinished(connection):
        origin = Origin.of(row.spider, row.arguments)
        found.setdefault(_key(row.spider, origin.arguments), Group(row.spider, origin.arguments))
    return [Group(group.spider, group.arguments, tuple(ways.get(key, ()))) for key, group in found.items()]


def _budget(connection: Connection, choice: Choice, config: Config, now: datetime) -> int | None:
    """Return how many may be visited now: the least of what is asked for and what is left of a day's budget."""
    left = max(0, config.revisit_budget - due.spent(connection, now)) if config.revisit_budget else None
    return min((number for number in (choice.limit, left) if number is not None), default=None)


def _key(spider: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([spider, dict(arguments)], sort_keys=True)


def _request(way: Way, key: str, priority: int) -> Wanted:
    url = way.revisit.url
    return Wanted(
        key=key,
        url=url,
        host=host(url),
        headers=way.headers,
        callback=way.callback,
        cb_kwargs=way.cb_kwargs,
        meta={**way.meta, REVISITED: way.revisit.history.key},
        priority=priority,
    )
