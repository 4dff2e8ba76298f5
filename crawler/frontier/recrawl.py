"""What a run of `scrapy recrawl` visits: which pages and sections, in which order, and by which crawls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.misc import build_from_crawler, load_object

from crawler import schedule
from crawler.redact import REDACTED
from crawler.storage import due
from crawler.storage.pages import REVISIT_KEY, PageOrigin
from crawler.urls import host_of
from crawler.visit import RequestRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from sqlalchemy.engine import Connection

    from crawler.config import Config
    from crawler.storage.due import Revisit, RevisitRequest


@dataclass(frozen=True, slots=True)
class RecrawlChoice:
    """What is asked for: what is due or all, of a site or of all, at most so many (None: all)."""

    only_due: bool = False
    site: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class RecrawlGroup:
    """The pages and sections of one spider with the same arguments (secrets masked), in the order of their visits.

    A group without any is a re-crawl that has not come to its end.
    """

    spider: str
    arguments: Mapping[str, str]
    ways: tuple[RevisitRequest, ...] = field(default=())

    @property
    def masked(self) -> list[str]:
        """The names of arguments that are not stored in full, since they are or have secrets."""
        return [name for name, value in self.arguments.items() if REDACTED in value]

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

    def requests(self, crawler: Crawler) -> list[tuple[Revisit, RequestRecord]]:
        """Return the request of each page and section, with the key that a crawler of the spider gives it."""
        fingerprinter = build_from_crawler(load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler)
        return [
            (way.revisit, _revisit_request(way, fingerprinter.fingerprint(Request(way.revisit.url)).hex(), -rank))
            for rank, way in enumerate(self.ways)
        ]


def choose_revisits(connection: Connection, choice: RecrawlChoice, config: Config, now: datetime) -> list[Revisit]:
    """Return what is to be visited, the most worthwhile first; without `only_due`, the oldest visit first.

    First of all is what a sitemap that is believed says has changed.
    """
    budget = _remaining_budget(connection, choice, config, now)
    if not choice.only_due:
        return due.all_revisits(connection, choice.site)[:budget]
    waiting = {one.history.key: one for one in due.due_revisits(connection, now, choice.site)}
    announced = [one for one in waiting.values() if one.announced][:budget]
    left = len(waiting) if budget is None else budget - len(announced)
    others = [one for one in waiting.values() if not one.announced]
    found = [schedule.due_page(one.history, one.next_visit or now, config.revisits) for one in others]
    return announced + [waiting[one.history.key] for one in schedule.choose_due_pages(found, left, now)]


def group_revisits(connection: Connection, revisits: Sequence[Revisit]) -> list[RecrawlGroup]:
    """Return the crawls to be made, that of the most worthwhile page first; unfinished ones last."""
    found: dict[str, RecrawlGroup] = {}
    ways: dict[str, list[RevisitRequest]] = {}
    for way in due.revisit_requests(connection, revisits):
        key = _crawl_key(way.spider, way.arguments)
        found.setdefault(key, RecrawlGroup(way.spider, way.arguments))
        ways.setdefault(key, []).append(way)
    for row in due.open_recrawls(connection):
        origin = PageOrigin.of(row.spider, row.arguments)
        found.setdefault(_crawl_key(row.spider, origin.arguments), RecrawlGroup(row.spider, origin.arguments))
    return [RecrawlGroup(group.spider, group.arguments, tuple(ways.get(key, ()))) for key, group in found.items()]


def _remaining_budget(connection: Connection, choice: RecrawlChoice, config: Config, now: datetime) -> int | None:
    """Return how many may be visited now: the least of what is asked for and what is left of a day's budget."""
    left = max(0, config.revisit_budget - due.count_recent_visits(connection, now)) if config.revisit_budget else None
    return min((number for number in (choice.limit, left) if number is not None), default=None)


def _crawl_key(spider: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([spider, dict(arguments)], sort_keys=True)


def _revisit_request(way: RevisitRequest, key: str, priority: int) -> RequestRecord:
    url = way.revisit.url
    return RequestRecord(
        key=key,
        url=url,
        host=host_of(url),
        headers=way.headers,
        callback=way.callback,
        cb_kwargs=way.cb_kwargs,
        meta={**way.meta, REVISIT_KEY: way.revisit.history.key},
        priority=priority,
    )
