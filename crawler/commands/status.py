"""`scrapy status`: the contents of the database, the queue, and the results of the last crawls."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.config.arguments import describe_arguments
from crawler.health import alerts as alerts_
from crawler.health.conditions import DATABASE
from crawler.health.records import read_alerts
from crawler.health.states import MOVED, UNKNOWN, SiteState, read_states
from crawler.storage import crawls as crawls_
from crawler.storage import queries, schema
from crawler.storage.database import database_size_bytes, location_of_url, read_transaction
from crawler.storage.requests import database_now
from crawler.terminal import (
    count_of,
    expect_no_arguments,
    format_counters,
    format_time,
    make_console,
    make_table,
    print_json,
    printable,
    run_printing_command,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rich.console import Console
    from sqlalchemy.engine import Connection

    from crawler.config import Config
    from crawler.health.records import Alert

_CRAWLS_MAX = 10_000
_SITES_SHOWN = _QUEUES_SHOWN = _HOSTS_SHOWN = 20
_TABLE_WIDTH = 120
"""Narrower terminals show cards instead of tables."""
_SITE_COLUMNS = ("site", "pages", "blocks", "sightings", "last seen", "state")
_CRAWL_COLUMNS = (
    "crawl",
    "spider",
    "state",
    "started",
    "took",
    "new",
    "changed",
    "unchanged",
    "kept",
    "dropped",
    "refused",
    "left alone",
    "failed",
)


@dataclass(frozen=True, slots=True)
class _SiteStatus:
    """The rows of a site, its state, and the sentence about a site that needs a look."""

    totals: queries.SiteTotals
    state: str
    sentence: str | None


@dataclass(frozen=True, slots=True)
class _Status:
    """Everything that the command prints."""

    database: str
    schema: str
    bytes: int
    totals: queries.DatabaseTotals
    sites: list[_SiteStatus]
    moved: dict[str, str]
    alerts: list[Alert]
    sentences: list[str]
    crawls: list[queries.CrawlReport]
    queues: list[crawls_.CrawlQueue]
    hosts: list[crawls_.HostState]
    due: crawls_.DueCounts


# Visits that neither brought a page or links nor went wrong.
_OTHER_OUTCOMES = ("not_found", "robots", "no_page")
_USEFUL_OUTCOMES = frozenset({"new", "changed", "unchanged", "read", "section"})
_QUEUE_COLUMNS = ("crawl", "spider", "arguments", "state", "queued", "leased", "until", "processes", "failed")
_HOST_COLUMNS = ("host", "delay", "left alone until", "reason")


class StatusCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--crawls N] [--details] [--json] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Show what the database contains and what the last crawls did"

    def long_desc(self) -> str:
        return (
            "Show the conditions of sites that need a person, each as a sentence; the number of pages, blocks and "
            "sightings, in total and by site, sites with a condition first; the location and size of the database; "
            "the last crawls with state, duration, pages by what was found of them, blocks kept and dropped, visits "
            "refused, what was left alone because its publisher asks for it, visits failed. Then the waiting work: "
            "requests of each open crawl, hosts that are paused or slowed down, pages due for a re-crawl. A terminal "
            f"of at least {_TABLE_WIDTH} columns shows a line for each site and crawl, a narrower one a few lines."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--crawls", type=int, default=5, metavar="N", help="show the last N crawls (default: 5)")
        parser.add_argument("--details", action="store_true", help="show the arguments of each crawl and all reasons")
        parser.add_argument("--json", action="store_true", help="print JSON, with every counter and site")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if not 0 <= opts.crawls <= _CRAWLS_MAX:
            raise UsageError(
                f"--crawls is {opts.crawls}; it takes a number from 0 to {_CRAWLS_MAX:,}", print_help=False
            )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_printing_command(lambda: self._show(opts))

    def _show(self, opts: argparse.Namespace) -> None:
        with self.database() as engine, read_transaction(engine) as connection:
            status = _status(connection, self.config, opts.crawls)
        if opts.json:
            print_json(_as_json(status))
        else:
            _print(status, make_console(), details=opts.details)


def _status(connection: Connection, config: Config, crawls: int) -> _Status:
    now = database_now(connection)
    alerts = read_alerts(connection)
    states = read_states(connection, now)
    url = config.database_url
    return _Status(
        database=location_of_url(url),
        schema=schema.MIGRATIONS.head,
        bytes=database_size_bytes(url),
        totals=queries.database_totals(connection),
        sites=_site_statuses(queries.site_totals(connection), states),
        moved=queries.moved_sites(connection),
        alerts=alerts,
        sentences=_sentences(states, alerts),
        crawls=queries.last_crawls(connection, crawls),
        queues=crawls_.crawl_queues(connection, now),
        hosts=crawls_.slow_hosts(connection, now),
        due=crawls_.count_due(connection, now, config.revisits),
    )


def _site_statuses(totals: Sequence[queries.SiteTotals], states: Sequence[SiteState]) -> list[_SiteStatus]:
    """Return the sites, those with problems first; a site with a problem needs no page to be among them."""
    by_site = {state.site: state for state in states}
    named = {row.site for row in totals}
    without_pages = [state.site for state in states if state.needs_look and state.state != MOVED]
    rows = [*totals, *(queries.SiteTotals(site, 0, 0, 0, None) for site in without_pages if site not in named)]
    sites = [_site_status(row, by_site.get(row.site)) for row in rows]
    return sorted(sites, key=lambda site: site.sentence is None)


def _site_status(totals: queries.SiteTotals, state: SiteState | None) -> _SiteStatus:
    if state is None:  # all its pages are retired, and no crawl of it was counted
        return _SiteStatus(totals, UNKNOWN, None)
    return _SiteStatus(totals, state.state, f"{state.site}: {state.sentence}" if state.needs_look else None)


def _sentences(states: Sequence[SiteState], alerts: Sequence[Alert]) -> list[str]:
    """Return the sentences about sites that need a look, about the database, and about sites that have moved."""
    about = {state.site: state for state in states if state.needs_look}
    held = [f"{site}: {state.sentence}" for site, state in about.items() if state.state != MOVED]
    database = [alerts_.describe(alert) for alert in alerts if alert.site == DATABASE]
    moved = [f"{site}: {state.sentence}" for site, state in about.items() if state.state == MOVED]
    return [*held, *database, *moved]


def _as_json(status: _Status) -> dict[str, Any]:
    crawls = [
        asdict(crawl)
        | {"seconds": crawl.seconds, "pages": crawl.pages, "kept": crawl.kept, "dropped": crawl.dropped}
        | {
            "page_states": crawl.page_states,
            "duplicates": crawl.duplicates,
            "refused": crawl.refused,
            "failed": crawl.failed,
        }
        | {"left_alone": crawl.left_alone}
        for crawl in status.crawls
    ]
    sites = [
        asdict(site.totals) | {"state": site.state, "sentences": [site.sentence] if site.sentence else []}
        for site in status.sites
    ]
    return asdict(status) | {"crawls": crawls, "sites": sites}


def _print(status: _Status, out: Console, *, details: bool) -> None:
    totals, is_wide = status.totals, out.width >= _TABLE_WIDTH
    out.print(Text(f"{printable(status.database)}  {status.bytes / 1e6:,.1f} MB  schema {status.schema}"))
    out.print(
        Text(
            f"{count_of(totals.pages, 'page')} of {count_of(totals.sites, 'site')}, {count_of(totals.blocks, 'block')} "
            f"({totals.gone_blocks:,} gone from their page), {count_of(totals.sightings, 'sighting')}, "
            f"{count_of(totals.near_duplicate_pages, 'near-duplicate page')}, "
            f"{count_of(totals.boilerplate, 'boilerplate text')}, {count_of(totals.crawls, 'crawl')}"
        )
    )
    for sentence in status.sentences:
        out.print(Text(printable(sentence)), soft_wrap=True)
    sites = status.sites[:_SITES_SHOWN]
    if is_wide and sites:
        out.print(make_table("Sites", _SITE_COLUMNS, map(_site_row, sites)))
    elif sites:
        _print_cards(out, "Sites", map(_site_card, sites))
    if len(status.sites) > _SITES_SHOWN:
        out.print(Text(f"and {count_of(len(status.sites) - _SITES_SHOWN, 'more site')}: --json lists them"))
    if is_wide and not details and status.crawls:
        out.print(make_table("Last crawls", _CRAWL_COLUMNS, map(_crawl_row, status.crawls)))
    elif status.crawls:
        _print_cards(out, "Last crawls", (_crawl_card(crawl, details=details) for crawl in status.crawls))
    _print_queue(status, out, is_wide=is_wide)


def _print_queue(status: _Status, out: Console, *, is_wide: bool) -> None:
    due = status.due
    out.print(
        Text(
            f"Due for a re-crawl: {count_of(due.pages, 'page')} and {count_of(due.sections, 'section')}. "
            f"Retired: {count_of(due.retired_pages, 'page')} and {count_of(due.retired_sections, 'section')}."
        )
    )
    queues, hosts = status.queues[:_QUEUES_SHOWN], status.hosts[:_HOSTS_SHOWN]
    if is_wide and queues:
        out.print(make_table("Queue", _QUEUE_COLUMNS, map(_queue_row, queues)))
    elif queues:
        _print_cards(out, "Queue", map(_queue_card, queues))
    if hosts:
        out.print(make_table("Hosts", _HOST_COLUMNS, map(_host_row, hosts)))
    for name, number in (("crawl", len(status.queues) - len(queues)), ("host", len(status.hosts) - len(hosts))):
        if number:
            out.print(Text(f"and {count_of(number, f'more {name}')}: --json lists them"))


def _print_cards(out: Console, title: str, cards: Iterable[Sequence[Text]]) -> None:
    """Print cards: the first line of each begins at the margin, the others are indented."""
    out.print(Text(title, "bold"))
    for first, *lines in cards:
        out.print(first)
        for line in lines:
            out.print(Padding(line, (0, 0, 0, 2)))


def _site_row(site: _SiteStatus) -> list[object]:
    totals = site.totals
    return [totals.site, totals.pages, totals.blocks, totals.sightings, _minute(totals.last_seen), _site_state(site)]


def _site_state(site: _SiteStatus) -> Text:
    return Text(printable(site.state), "red" if site.sentence else "green")


def _site_card(site: _SiteStatus) -> list[Text]:
    totals = site.totals
    facts = [count_of(totals.pages, "page"), count_of(totals.blocks, "block"), count_of(totals.sightings, "sighting")]
    facts += [f"last seen {_minute(totals.last_seen)}"] if totals.last_seen else []
    return [Text(printable(totals.site), "bold").append("  ").append_text(_site_state(site)), Text(", ".join(facts))]


def _crawl_state(report: queries.CrawlReport) -> Text:
    """Return the state of a crawl; it is red if the crawl met no page, yellow if it was refused or stopped."""
    reason = report.reason if report.reason != report.state else None
    state = f"{report.state}: {reason}" if reason else report.state
    if report.outcomes and _USEFUL_OUTCOMES.isdisjoint(report.outcomes):
        return Text(printable(state), "red")
    return Text(printable(state), "yellow" if report.refused or reason or not report.finished else "green")


def _crawl_row(report: queries.CrawlReport) -> list[object]:
    states = [report.page_states.get(state, 0) for state in ("new", "changed", "unchanged")]
    sums = [sum(counts.values()) for counts in (report.dropped, report.refused, report.left_alone, report.failed)]
    started = _minute(report.started)
    return [report.id, report.spider, _crawl_state(report), started, _seconds(report), *states, report.kept, *sums]


def _crawl_card(report: queries.CrawlReport, *, details: bool) -> list[Text]:
    first = Text(f"crawl {report.id}  {printable(report.spider)}  ", "bold").append_text(_crawl_state(report))
    first.append(f"  {_minute(report.started)}, {_seconds(report) or 'not ended'}", "default not bold")
    dropped = _words(report.dropped)
    blocks = f"{report.kept:,} kept, {sum(report.dropped.values()):,} dropped"
    facts = {
        "arguments": describe_arguments(report.arguments) if details else "",
        "pages": ", ".join(f"{number:,} {state}" for state, number in report.page_states.items()) or str(report.pages),
        "blocks": (f"{blocks}: {dropped}" if details and dropped else blocks) if report.kept or dropped else "",
        "duplicates": _words(report.duplicates) if details else "",
        "refused": _words(report.refused),
        "left alone": _words(report.left_alone),
        "other": _words({name: report.outcomes[name] for name in _OTHER_OUTCOMES if name in report.outcomes}),
        "failed": _words(report.failed),
    }
    return [first, *(Text(f"{name}: {printable(fact)}") for name, fact in facts.items() if fact)]


def _words(counts: Mapping[str, int]) -> str:
    return format_counters({name.replace("_", " "): number for name, number in counts.items()}) if counts else ""


def _seconds(report: queries.CrawlReport) -> str | None:
    return None if report.seconds is None else f"{report.seconds:,.0f} s"


def _minute(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _queue_row(queue: crawls_.CrawlQueue) -> list[object]:
    return [
        queue.crawl_id,
        queue.spider,
        describe_arguments(queue.arguments) or "-",
        queue.state,
        queue.queued,
        queue.leased,
        format_time(queue.leased_until),
        queue.processes,
        format_counters(dict(queue.failed)),
    ]


def _queue_card(queue: crawls_.CrawlQueue) -> list[Text]:
    waiting = f"{queue.queued:,} queued, {queue.leased:,} leased"
    if queue.leased_until is not None:
        waiting += f" until {format_time(queue.leased_until)} by {count_of(queue.processes, 'process')}"
    facts = [describe_arguments(queue.arguments), waiting if queue.queued or queue.leased else ""]
    facts += [f"failed: {_words(queue.failed)}"] if queue.failed else []
    first = Text(f"crawl {queue.crawl_id}  {printable(queue.spider)}  ", "bold")
    first.append(queue.state, "default not bold")
    return [first, *(Text(printable(fact)) for fact in facts if fact not in {"", "-"})]


def _host_row(host: crawls_.HostState) -> list[object]:
    return [host.host, f"{host.delay:.1f} s", format_time(host.paused_until), host.reason]
