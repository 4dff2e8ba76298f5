"""Which crawls the sites of a file need now: a first one, or a re-crawl of what is due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import select

from crawler.config.arguments import RECRAWL
from crawler.config.sites import crawl_identity
from crawler.frontier.recrawl import RecrawlChoice, RecrawlGroup, choose_revisits, describe_left, group_revisits
from crawler.storage import due
from crawler.storage.crawls import CrawlState
from crawler.storage.tables import crawl, site_crawl
from crawler.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.config import Config
    from crawler.config.sites import SiteEntry
    from crawler.storage.due import Revisit


@dataclass(frozen=True, slots=True)
class SiteCrawlPlan:
    """A crawl that a site needs: a first one with these arguments, or the re-crawl of a group."""

    name: str
    entry: SiteEntry
    arguments: Mapping[str, str]
    group: RecrawlGroup | None = None


@dataclass(frozen=True, slots=True)
class SitesPlan:
    """The crawls of a run, and the sentence about the addresses that it leaves; None if it leaves none."""

    crawls: list[SiteCrawlPlan]
    left: str | None


def plan_crawls(connection: Connection, sites: Mapping[str, SiteEntry], config: Config, now: datetime) -> SitesPlan:
    """Return the crawls that are due, the first ones in the order of the file, then the re-crawls.

    A first crawl that was interrupted is continued.
    """
    crawls = {
        crawl_identity(entry.spider, arguments): SiteCrawlPlan(name, entry, arguments)
        for name, entry in sites.items()
        for arguments in entry.crawl_arguments
    }
    started, unfinished = _read_started(connection)
    first = [plan for identity, plan in crawls.items() if identity in unfinished or identity not in started]
    choice = RecrawlChoice(only_due=True)
    chosen = choose_revisits(connection, choice, config, now)
    groups = group_revisits(connection, _due_revisits(connection, crawls, chosen.revisits, now))
    again = []
    for group in groups:
        plan = crawls.get(crawl_identity(group.spider, group.arguments))
        if plan is not None and plan not in first:
            again.append(replace(plan, group=replace(group, arguments=plan.arguments)))
    return SitesPlan(first + again, describe_left(chosen, choice) if chosen.left else None)


def _read_started(connection: Connection) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the identities of the crawls that have found something, and of those that are not finished."""
    started = {crawl_identity(row.spider, row.arguments) for row in due.section_origins(connection)}
    unfinished = set()
    for row in connection.execute(select(crawl.c.spider, crawl.c.arguments, crawl.c.state, crawl.c.totals)):
        if RECRAWL in row.arguments:
            continue
        identity = crawl_identity(row.spider, row.arguments)
        if row.totals.get("visit/page"):
            started.add(identity)
        if row.state == CrawlState.OPEN:
            unfinished.add(identity)
    return started, unfinished


def _due_revisits(
    connection: Connection,
    crawls: Mapping[tuple[str, str], SiteCrawlPlan],
    revisits: Sequence[Revisit],
    now: datetime,
) -> list[Revisit]:
    """Return the pages and sections that are due; a section of a site with an interval is due once it has passed."""
    early, late = [], set()
    for request in due.revisit_requests(connection, due.all_sections(connection)):
        plan = crawls.get(crawl_identity(request.spider, request.arguments))
        if plan is None or plan.entry.interval is None:
            continue
        if request.revisit.history.last_seen + plan.entry.interval <= now:
            early.append(request.revisit)
        else:
            late.add(request.revisit.row_id)
    chosen = {revisit.row_id for revisit in revisits if revisit.is_section}
    kept = [revisit for revisit in revisits if not (revisit.is_section and revisit.row_id in late)]
    return [revisit for revisit in early if revisit.row_id not in chosen] + kept


def sites_of(connection: Connection, sites: Mapping[str, SiteEntry]) -> dict[str, set[str]]:
    """Return the registered domains of each site of the file, of all its sections, also the ones that have moved."""
    names = {
        crawl_identity(entry.spider, arguments): name
        for name, entry in sites.items()
        for arguments in entry.crawl_arguments
    }
    domains = {name: {site_of(section) for section in entry.sections} for name, entry in sites.items()}
    for row in due.section_origins(connection):
        name = names.get(crawl_identity(row.spider, row.arguments))
        if name is not None:
            domains[name].add(row.site)
    # A spider that finds its sections itself: the sites that its crawls have met, if none of them gave a section.
    columns = select(crawl.c.spider, crawl.c.arguments, site_crawl.c.site)
    met = columns.join(site_crawl, site_crawl.c.crawl_id == crawl.c.id)
    unknown = {name for name, known in domains.items() if not known}
    for met_row in connection.execute(met) if unknown else ():
        own = {name: value for name, value in met_row.arguments.items() if name != RECRAWL}
        name = names.get(crawl_identity(met_row.spider, own))
        if name in unknown:
            domains[name].add(met_row.site)
    return domains
