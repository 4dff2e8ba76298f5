"""`scrapy status`: the contents of the database, the queue, and the results of the last crawls."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.config.arguments import RECRAWL
from crawler.health import alerts as alerts_
from crawler.health.conditions import DATABASE
from crawler.health.records import read_alerts
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
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Connection

    from crawler.config import Config
    from crawler.health.records import Alert

_CRAWLS_MAX = 10_000
_SITES_SHOWN = _QUEUES_SHOWN = _HOSTS_SHOWN = 20
_SITE_COLUMNS = ("site", "state", "pages", "blocks", "sightings", "last seen")
_CRAWL_COLUMNS = (
    "crawl",
    "spider",
    "state",
    "started",
    "duration",
    "pages",
    "kept",
    "dropped",
    "refused",
    "left alone",
    "failed",
)


@dataclass(frozen=True, slots=True)
class _SiteStatus:
    """The rows of a site, and the conditions that hold on it."""

    totals: queries.SiteTotals
    alerts: tuple[Alert, ...]

    @property
    def state(self) -> str:
        return alerts_.describe_state(self.alerts)


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
    crawls: list[queries.CrawlReport]
    queues: list[crawls_.CrawlQueue]
    hosts: list[crawls_.HostState]
    due: crawls_.DueCounts


_QUEUE_COLUMNS = ("crawl", "spider", "arguments", "state", "queued", "leased", "until", "processes", "failed")
_HOST_COLUMNS = ("host", "delay", "left alone until", "reason")


class StatusCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--crawls N] [--json] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Show what the database contains and what the last crawls did"

    def long_desc(self) -> str:
        return (
            "Show the conditions of sites that need a person, each as a sentence; the number of pages, blocks and "
            "sightings, in total and by site, sites with a condition first; the location and size of the database; "
            "the last crawls with state, duration, pages, blocks kept and dropped by reason, visits refused by reason, "
            "what was left alone because its publisher asks for it, visits failed by reason. Then the waiting work: "
            "requests of each open crawl, hosts that are paused or slowed down, pages due for a re-crawl."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--crawls", type=int, default=5, metavar="N", help="show the last N crawls (default: 5)")
        parser.add_argument("--json", action="store_true", help="print JSON, with every counter and site")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if not 0 <= opts.crawls <= _CRAWLS_MAX:
            raise UsageError(
                f"--crawls is {opts.crawls}; it takes a number from 0 to {_CRAWLS_MAX:,}", print_help=False
            )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_printing_command(lambda: self._show(opts.crawls, as_json=opts.json))

    def _show(self, crawls: int, *, as_json: bool) -> None:
        with self.database() as engine, read_transaction(engine) as connection:
            status = _status(connection, self.config, crawls)
        if as_json:
            print_json(_as_json(status))
        else:
            _print(status)


def _status(connection: Connection, config: Config, crawls: int) -> _Status:
    now = database_now(connection)
    alerts = read_alerts(connection)
    url = config.database_url
    return _Status(
        database=location_of_url(url),
        schema=schema.MIGRATIONS.head,
        bytes=database_size_bytes(url),
        totals=queries.database_totals(connection),
        sites=_site_statuses(queries.site_totals(connection), alerts),
        moved=queries.moved_sites(connection),
        alerts=alerts,
        crawls=queries.last_crawls(connection, crawls),
        queues=crawls_.crawl_queues(connection, now),
        hosts=crawls_.slow_hosts(connection, now),
        due=crawls_.count_due(connection, now, config.revisits),
    )


def _site_statuses(totals: Sequence[queries.SiteTotals], alerts: Sequence[Alert]) -> list[_SiteStatus]:
    """Return the sites, those with problems first; a site with a problem needs no page to be among them."""
    held: dict[str, list[Alert]] = {}
    for alert in alerts:
        if alert.site != DATABASE:
            held.setdefault(alert.site, []).append(alert)
    without_pages = sorted(held.keys() - {row.site for row in totals})
    rows = [*totals, *(queries.SiteTotals(site, 0, 0, 0, None) for site in without_pages)]
    sites = [_SiteStatus(row, tuple(held.get(row.site, ()))) for row in rows]
    return sorted(sites, key=lambda site: not site.alerts)


def _sentences(status: _Status) -> list[str]:
    """Return the conditions of sites and of the database, and where sites have moved, each as a sentence."""
    moved = [f"{old}: {alerts_.describe_move(new)}" for old, new in status.moved.items()]
    return [*map(alerts_.describe, status.alerts), *moved]


def _as_json(status: _Status) -> dict[str, Any]:
    crawls = [
        asdict(crawl)
        | {"seconds": crawl.seconds, "pages": crawl.pages, "kept": crawl.kept, "dropped": crawl.dropped}
        | {"duplicates": crawl.duplicates, "refused": crawl.refused, "failed": crawl.failed}
        | {"left_alone": crawl.left_alone}
        for crawl in status.crawls
    ]
    sites = [
        asdict(site.totals) | {"state": site.state, "sentences": [alerts_.describe(alert) for alert in site.alerts]}
        for site in status.sites
    ]
    return asdict(status) | {"crawls": crawls, "sites": sites, "sentences": _sentences(status)}


def _print(status: _Status) -> None:
    out, totals = make_console(), status.totals
    out.print(Text(f"{printable(status.database)}  {status.bytes / 1e6:,.1f} MB  schema {status.schema}"))
    out.print(
        Text(
            f"{count_of(totals.pages, 'page')} of {count_of(totals.sites, 'site')}, {count_of(totals.blocks, 'block')} "
            f"({totals.gone_blocks:,} gone from their page), {count_of(totals.sightings, 'sighting')}, "
            f"{count_of(totals.near_duplicate_pages, 'near-duplicate page')}, "
            f"{count_of(totals.boilerplate, 'boilerplate text')}, {count_of(totals.crawls, 'crawl')}"
        )
    )
    for sentence in _sentences(status):
        out.print(Text(printable(sentence)), soft_wrap=True)
    if status.sites:
        out.print(make_table("Sites", _SITE_COLUMNS, [_site_row(site) for site in status.sites[:_SITES_SHOWN]]))
    if len(status.sites) > _SITES_SHOWN:
        out.print(Text(f"and {count_of(len(status.sites) - _SITES_SHOWN, 'more site')}: --json lists them"))
    if status.crawls:
        out.print(make_table("Last crawls", _CRAWL_COLUMNS, [_crawl_row(crawl) for crawl in status.crawls]))
    _print_queue(status)


def _print_queue(status: _Status) -> None:
    out, due = make_console(), status.due
    out.print(
        Text(
            f"Due for a re-crawl: {count_of(due.pages, 'page')} and {count_of(due.sections, 'section')}. "
            f"Retired: {count_of(due.retired_pages, 'page')} and {count_of(due.retired_sections, 'section')}."
        )
    )
    for title, columns, rows, most in (
        ("Queue", _QUEUE_COLUMNS, [_queue_row(queue) for queue in status.queues], _QUEUES_SHOWN),
        ("Hosts", _HOST_COLUMNS, [_host_row(host) for host in status.hosts], _HOSTS_SHOWN),
    ):
        if rows:
            out.print(make_table(title, columns, rows[:most]))
        if len(rows) > most:
            out.print(Text(f"and {len(rows) - most:,} more: --json lists them"))


def _site_row(site: _SiteStatus) -> list[object]:
    totals = site.totals
    return [totals.site, site.state, totals.pages, totals.blocks, totals.sightings, format_time(totals.last_seen)]


def _crawl_row(report: queries.CrawlReport) -> list[object]:
    state = report.state if report.reason is None else f"{report.state}: {report.reason}"
    duration = None if report.seconds is None else f"{report.seconds:,.0f} s"
    reasons = [format_counters(counts) for counts in (report.dropped, report.refused, report.left_alone, report.failed)]
    return [report.id, report.spider, state, format_time(report.started), duration, report.pages, report.kept, *reasons]


def _arguments(arguments: Mapping[str, Any]) -> str:
    """Return a spider's arguments in one line; the value of RECRAWL means nothing to a reader."""
    pairs = [f"{name}={value}" for name, value in arguments.items() if not name.startswith("_")]
    return ", ".join([*pairs, *["recrawl"] * (RECRAWL in arguments)]) or "-"


def _queue_row(queue: crawls_.CrawlQueue) -> list[object]:
    return [
        queue.crawl_id,
        queue.spider,
        _arguments(queue.arguments),
        queue.state,
        queue.queued,
        queue.leased,
        format_time(queue.leased_until),
        queue.processes,
        format_counters(dict(queue.failed)),
    ]


def _host_row(host: crawls_.HostState) -> list[object]:
    return [host.host, f"{host.delay:.1f} s", format_time(host.paused_until), host.reason]
