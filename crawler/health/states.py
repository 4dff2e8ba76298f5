"""The state of each site in a word and a sentence, for `scrapy status` and the web page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from crawler.health import alerts as alerts_
from crawler.health import records
from crawler.health.conditions import DATABASE, FAILING_CONDITIONS
from crawler.storage import queries
from crawler.storage.tables import site as stored_site
from crawler.terminal import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.health.conditions import SiteCrawl
    from crawler.health.records import Alert, SiteHealth

MOVED = "moved"
UNANSWERED = "no answer"
"""The latest crawl got no answer that could be used, but had too few visits for a condition."""
UNKNOWN = "not judged"
"""No crawl of the site has been counted."""

# A site is failing if its crawls have not done what they are for.
_FAILING_STATES = frozenset({UNANSWERED, *(condition.value.replace("_", " ") for condition in FAILING_CONDITIONS)})


@dataclass(frozen=True, slots=True)
class SiteState:
    """The state of a site: a word, since when, and a sentence without its full stop.

    `crawls` are those of the site, the latest first. A site that is neither healthy nor unknown `needs_look`, and one
    whose crawls have not done what they are for `is_failing`.
    """

    site: str
    state: str
    since: datetime | None
    sentence: str
    health: SiteHealth
    crawls: Sequence[SiteCrawl]

    @property
    def needs_look(self) -> bool:
        return self.state not in {alerts_.HEALTHY, UNKNOWN}

    @property
    def is_failing(self) -> bool:
        return not _FAILING_STATES.isdisjoint(self.state.split(", "))


def read_states(connection: Connection, now: datetime) -> list[SiteState]:
    """Return the state of each site that is stored, was crawled or has a condition, by name."""
    held: dict[str, list[Alert]] = {}
    for alert in records.read_alerts(connection):
        held.setdefault(alert.site, []).append(alert)
    crawls = records.read_crawls(connection)
    answered = {site for site, site_crawls in crawls.items() if any(crawl.counts.answered for crawl in site_crawls)}
    stored = set(connection.scalars(select(stored_site.c.site).where(stored_site.c.pages > 0)))
    # A link to a host that never answered makes no site.
    sites = (stored | held.keys() | answered) - {DATABASE}
    moved = queries.moved_sites(connection)
    return [_state(site, crawls.get(site, ()), held.get(site, ()), moved.get(site), now) for site in sorted(sites)]


def read_state(connection: Connection, site: str, now: datetime) -> SiteState:
    """Return the state of one site."""
    crawls = records.read_crawls(connection, [site]).get(site, [])
    moved = None if crawls == [] else queries.moved_site(connection, site)
    return _state(site, crawls, records.read_alerts(connection, [site]), moved, now)


def _state(
    site: str, crawls: Sequence[SiteCrawl], alerts: Iterable[Alert], moved_to: str | None, now: datetime
) -> SiteState:
    health = records.health_of(crawls, alerts, now)
    if health.alerts:
        since = min(alert.since for alert in health.alerts)
        sentence = "; ".join(map(alerts_.describe_condition, health.alerts))
        return SiteState(site, alerts_.describe_state(health.alerts), since, sentence, health, crawls)
    if moved_to is not None:
        return SiteState(site, MOVED, None, alerts_.describe_move(moved_to), health, crawls)
    if health.unanswered_since is not None:
        return SiteState(
            site, UNANSWERED, health.unanswered_since, describe_silence(health.unanswered_since), health, crawls
        )
    if health.last_success is None:
        return SiteState(site, UNKNOWN, None, "no crawl of this site has been counted", health, crawls)
    answered = f"answered {alerts_.describe_moment(health.last_success)}"
    sentence = f"{answered}; {count_of(health.pages_7_days, 'page')} new or changed in 7 days"
    return SiteState(site, alerts_.HEALTHY, None, sentence, health, crawls)


def describe_silence(since: datetime) -> str:
    """Return the sentence about a site whose crawls get no usable answer, but had too few visits for a condition."""
    return f"no answer since {alerts_.describe_moment(since)}"
