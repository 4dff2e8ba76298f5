"""The visits of a run of `scrapy recrawl`: the pages and sections, their order, and the crawls that visit them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.misc import build_from_crawler, load_object

from cleaning import METHODS
from crawler import schedule
from crawler.config import Config, config_of
from crawler.config.arguments import RECRAWL
from crawler.redact import REDACTED
from crawler.storage import due
from crawler.storage.pages import REVISIT_KEY, PageOrigin
from crawler.storage.tables import page, section
from crawler.terminal import count_of
from crawler.urls import host_of
from crawler.visit import METHOD_META_KEY, RequestRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from sqlalchemy.engine import Connection

    from crawler.storage.due import Revisit, RevisitRequest


@dataclass(frozen=True, slots=True)
class RecrawlChoice:
    """Which pages to revisit: due ones or all, of one site or all, and at most how many (None: no limit).

    If `pages` or `sections` have addresses, only the pages and sections there; no unfinished re-crawl is continued.
    """

    only_due: bool = False
    site: str | None = None
    limit: int | None = None
    pages: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    @property
    def has_addresses(self) -> bool:
        return bool(self.pages or self.sections)


@dataclass(frozen=True, slots=True)
class RecrawlGroup:
    """The pages and sections to revisit by one spider with the same arguments (secrets redacted), in visiting order.

    All of them were read with these `settings`. An empty group continues an unfinished re-crawl.
    """

    spider: str
    arguments: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    revisits: tuple[RevisitRequest, ...] = field(default=())

    @property
    def main_host(self) -> str:
        """The host of most pages and sections; without any, the host of the argument `url`, or ""."""
        hosts = Counter(host_of(revisit.revisit.url) for revisit in self.revisits)
        return hosts.most_common(1)[0][0] if hosts else host_of(self.arguments.get("url", ""))

    @property
    def redacted(self) -> list[str]:
        """The names of arguments that were stored without their secrets."""
        return [name for name, value in self.arguments.items() if REDACTED in value]

    def fault(self, spider: type[Spider] | None, command_arguments: Mapping[str, str]) -> str | None:
        """Return why this spider class cannot crawl the group (None: the spider is missing); None if it can."""
        if spider is None:
            return f"the spider {self.spider!r} no longer exists"
        if missing := [name for name in self.redacted if name not in command_arguments]:
            again = " ".join(f"-a {name}=VALUE" for name in missing)
            return f"the secrets in the arguments of {self.spider!r} are not stored; pass them again: {again}"
        called = {request.callback or "parse" for request in self.revisits}
        if lost := sorted(name for name in called if not callable(getattr(spider, name, None))):
            return f"the spider {self.spider!r} no longer has {', '.join(lost)}"
        return None

    def method_fault(self, command_settings: Mapping[str, Any]) -> str | None:
        """Return why the pages cannot be cleaned as before; None if the method exists or another one is given."""
        method = self.settings.get("CLEANING_METHOD", "default")
        if "CLEANING_METHOD" in command_settings or method in METHODS:
            return None
        return f"the method {method!r} no longer exists; -s CLEANING_METHOD=NAME chooses another"

    def filled(self, command_arguments: Mapping[str, str]) -> dict[str, str]:
        """Return the arguments, with the given values for the redacted ones, and RECRAWL."""
        own = {
            name: command_arguments[name] if name in self.redacted else value for name, value in self.arguments.items()
        }
        return own | {RECRAWL: json.dumps(dict(self.settings), sort_keys=True)}

    def requests(self, crawler: Crawler) -> Iterator[tuple[Revisit, RequestRecord]]:
        """Yield the request of each page and section, in the order of the keys that the spider's crawler gives them."""
        method = config_of(crawler).cleaning_method
        fingerprinter = build_from_crawler(load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler)
        urls = (way.revisit.url for way in self.revisits)
        keys = sorted((fingerprinter.fingerprint(Request(url)).hex(), rank) for rank, url in enumerate(urls))
        for key, rank in keys:
            way = self.revisits[rank]
            yield way.revisit, _revisit_request(way, method, key, -rank)

    def without_revisits(self) -> Self:
        """Return the group once its pages are queued, so that they are freed while the crawl runs."""
        return replace(self, revisits=())


@dataclass(frozen=True, slots=True)
class ChosenRevisits:
    """The pages and sections that a run visits, and the number of addresses that it leaves because of a bound."""

    revisits: list[Revisit]
    left: int
    bound: str  # in words


def describe_left(chosen: ChosenRevisits, choice: RecrawlChoice) -> str:
    """Return the sentence about the addresses that a run leaves, and how the others are visited."""
    sentence = f"{count_of(chosen.left, 'stored address')} {'is' if chosen.left == 1 else 'are'} left: {chosen.bound}"
    if choice.has_addresses and not choice.only_due:
        return sentence  # the same command would begin with the same addresses
    order = "" if choice.only_due else ", the oldest visit first"
    return f"{sentence}; the same command goes on with {'it' if chosen.left == 1 else 'them'}{order}"


def choose_revisits(connection: Connection, choice: RecrawlChoice, config: Config, now: datetime) -> ChosenRevisits:
    """Return the pages to visit: changes announced by a trusted sitemap first, then by expected gain.

    Without `only_due` the order is that of the last visits, the oldest first.
    """
    budget = _remaining_budget(connection, choice, config, now)
    if choice.has_addresses:
        candidates = _addressed_revisits(connection, choice, now)
        revisits = candidates[:budget]
        number = len(candidates)
    elif choice.only_due:
        candidates = due.due_revisits(connection, now, config.revisits, choice.site)
        revisits = _most_worthwhile(candidates, budget, config, now)
        number = due.count_due_revisits(connection, now, config.revisits, choice.site)
    else:
        candidates = due.all_revisits(connection, choice.site)
        revisits = candidates[:budget]
        number = due.count_all_revisits(connection, choice.site)
    return ChosenRevisits(revisits, number - len(revisits), _bound(choice, config, budget, len(candidates)))


def _bound(choice: RecrawlChoice, config: Config, budget: int | None, candidates: int) -> str:
    """Return what bounds a run, in words."""
    if budget is None or budget >= candidates:
        return f"a run visits at most {due.REVISITS_MAX:,} pages and as many sections"
    if budget == choice.limit:
        return f"--limit is {choice.limit:,}"
    return f"REVISIT_BUDGET is {config.revisit_budget:,} for 24 hours"


def _most_worthwhile(candidates: Sequence[Revisit], budget: int | None, config: Config, now: datetime) -> list[Revisit]:
    waiting = {revisit.history.key: revisit for revisit in candidates}
    announced = [revisit for revisit in waiting.values() if revisit.announced][:budget]
    left = len(waiting) if budget is None else budget - len(announced)
    others = [revisit for revisit in waiting.values() if not revisit.announced]
    due_pages = [
        schedule.due_page(revisit.history, min(revisit.next_visit or now, now), config.revisits) for revisit in others
    ]
    return announced + [waiting[due_page.history.key] for due_page in schedule.choose_due_pages(due_pages, left, now)]


def group_revisits(
    connection: Connection, revisits: Sequence[Revisit], *, with_unfinished: bool = True
) -> list[RecrawlGroup]:
    """Return the crawls to run, in the order of their first page; with `with_unfinished`, unfinished re-crawls last.

    Pages that were read by different settings are visited by different crawls.
    """
    groups: dict[str, RecrawlGroup] = {}
    by_crawl: dict[str, list[RevisitRequest]] = {}
    for request in due.revisit_requests(connection, revisits):
        group = RecrawlGroup(request.spider, request.arguments, request.settings)
        groups.setdefault(_crawl_key(group), group)
        by_crawl.setdefault(_crawl_key(group), []).append(request)
    for row in due.open_recrawls(connection) if with_unfinished else ():
        origin = PageOrigin.of(row.spider, row.arguments, json.loads(row.arguments[RECRAWL]))
        group = RecrawlGroup(row.spider, origin.arguments, origin.settings)
        groups.setdefault(_crawl_key(group), group)
    return [replace(group, revisits=tuple(by_crawl.get(key, ()))) for key, group in groups.items()]


def _addressed_revisits(connection: Connection, choice: RecrawlChoice, now: datetime) -> list[Revisit]:
    """Return the sections and pages at the chosen addresses, each once. Raises QueryError for an unknown address."""
    revisits = {
        (table.name, revisit.row_id): revisit
        for table, addresses in ((section, choice.sections), (page, choice.pages))
        for address in addresses
        for revisit in due.revisits_at(connection, table, address)
    }
    return [
        revisit
        for revisit in revisits.values()
        if not choice.only_due or (revisit.next_visit is not None and revisit.next_visit <= now)
    ]


def _remaining_budget(connection: Connection, choice: RecrawlChoice, config: Config, now: datetime) -> int | None:
    """Return how many pages may be visited now: the limit, or the rest of the day's budget if that is less."""
    left = max(0, config.revisit_budget - due.count_recent_visits(connection, now)) if config.revisit_budget else None
    return min((number for number in (choice.limit, left) if number is not None), default=None)


def _crawl_key(group: RecrawlGroup) -> str:
    return json.dumps([group.spider, dict(group.arguments), dict(group.settings)], sort_keys=True)


def _revisit_request(request: RevisitRequest, method: str, key: str, priority: int) -> RequestRecord:
    url = request.revisit.url
    # The page may have been cleaned again by another method than its request names.
    method_meta = {METHOD_META_KEY: method} if METHOD_META_KEY in request.meta else {}
    return RequestRecord(
        key=key,
        url=url,
        host=host_of(url),
        headers=request.headers,
        callback=request.callback,
        cb_kwargs=request.cb_kwargs,
        meta={**request.meta, **method_meta, REVISIT_KEY: request.revisit.history.key},
        priority=priority,
    )
