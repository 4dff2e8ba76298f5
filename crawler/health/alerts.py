"""Alerts: tell a webhook and a command which conditions of sites have begun, and which are over.

The crawl's end stores the conditions (`HealthStep`); the extension sends them once everything is stored. An alert
that could not be sent is sent at the end of the next crawl.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import subprocess
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawler.config import Config, config_of
from crawler.errors import CrawlerError, StoreError
from crawler.health import records
from crawler.health.conditions import DATABASE, Condition, SiteTally, judge_database, judge_site
from crawler.health.records import Alert
from crawler.storage.database import location_of_url, opened_engine, write_transaction
from crawler.storage.requests import database_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Self

    from scrapy.crawler import Crawler
    from sqlalchemy.engine import Connection

    from crawler.health.conditions import Finding, SiteCounts, SiteCrawl
    from crawler.storage.store import Store
    from crawler.storage.visits import SavedVisit
    from crawler.visit import Visit

logger = logging.getLogger(__name__)

_PAYLOAD_VERSION = 1
"""Increased when a name of the JSON is removed or changes its meaning, but not when one is added."""

HEALTHY = "ok"
"""The state of a site without conditions."""

_ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
# For each attempt to post, and for the command: the crawl waits for it before it ends.
_SECONDS = 10.0
_MAX_SHOWN_CHARS = 200


class HealthStep:
    """Counts the visits and transactions of a crawl, and judges its sites at the end."""

    def __init__(self, config: Config) -> None:
        self._tally = SiteTally()
        self._max_refused_share = config.max_refused_share
        self._seconds: list[float] = []
        self._began = time.monotonic()

    def add_transaction(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def add_visit(self, visit: Visit, saved: SavedVisit) -> None:
        self._tally.add(visit, saved)

    def add_unasked(self, requests: Mapping[tuple[str, str], int]) -> None:
        self._tally.add_unasked(requests)

    def record(self, store: Store, crawl_id: int, targets: AbstractSet[str]) -> dict[str, list[Finding]]:
        """Store the counts and the conditions; return the findings by site. The crawl was of the `targets`.

        Processes of a crawl that end together wait for each other only while the rows are written. The counts are
        committed before any are read, so the last of the processes judges what all have met.
        """
        counts = self._tally.counts
        now = store.read(database_now)
        began = now - timedelta(seconds=time.monotonic() - self._began)
        earlier_runs = store.read(lambda connection: records.read_earlier_runs(connection, crawl_id, counts, began))
        store.write(lambda connection: records.add_counts(connection, crawl_id, counts, now))
        findings = store.read(lambda connection: self._judge(connection, now, earlier_runs, targets))
        database = judge_database(self._seconds)
        if database is not None:
            findings[DATABASE] = [database]

        store.write(lambda connection: records.record_findings(connection, findings, now))
        return findings

    def _judge(
        self, connection: Connection, now: datetime, earlier_runs: Mapping[str, SiteCrawl], targets: AbstractSet[str]
    ) -> dict[str, list[Finding]]:
        counts = self._tally.counts
        since: dict[str, dict[Condition, datetime]] = {}
        for alert in records.read_alerts(connection, counts):
            since.setdefault(alert.site, {})[alert.condition] = alert.since
        return {
            site: judge_site(
                _with_runs(crawls, counts[site], earlier_runs.get(site)),
                now,
                since.get(site, {}),
                max_refused_share=self._max_refused_share,
                walled=self._tally.walled[site],
                is_target=site in targets,
            )
            for site, crawls in records.read_crawls(connection, counts).items()
        }


def _with_runs(crawls: Sequence[SiteCrawl], counts: SiteCounts, earlier_run: SiteCrawl | None) -> list[SiteCrawl]:
    """Return the crawls of a site with this run of a continued crawl as the latest: it has these counts alone.

    What an earlier run met, perhaps yesterday, does not show how the site is now.
    """
    if earlier_run is None:
        return [*crawls]
    others = [crawl for crawl in crawls if crawl.crawl_id != earlier_run.crawl_id]
    return [replace(earlier_run, ended=crawls[0].ended, counts=counts), earlier_run, *others]


class AlertExtension:
    """Extension that sends alerts at the end of a crawl, after its last batch is stored."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._config = config
        crawler.signals.connect(self._send, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = config_of(crawler)
        if not (config.alert_webhook or config.alert_command):
            raise NotConfigured
        return cls(crawler, config)

    async def _send(self) -> None:
        # In a thread: other crawls of this process go on meanwhile.
        result = await asyncio.to_thread(_send_alerts, self._config)
        for name, number in (("alerts/sent", result.sent), ("alerts/failed", len(result.failures))):
            if number:
                self._crawler.stats.inc_value(name, number)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The number of alerts that were sent, and a sentence for each failed webhook or command."""

    sent: int
    failures: tuple[str, ...] = ()


def _send_alerts(config: Config) -> Delivery:
    """Send the alerts that were not sent yet; log the failures, and leave them to the next crawl."""
    try:
        with opened_engine(config.database_url, must_exist=True) as engine:
            return _send_claimed(config, lambda work: _write(engine, work))
    except StoreError as error:
        logger.error("No alert was sent: %s", error)  # noqa: TRY400 — a traceback adds nothing
        return Delivery(0, (str(error),))


def _write(engine: Any, work: Callable[[Connection], Any]) -> Any:
    with write_transaction(engine) as connection:
        return work(connection)


def _send_claimed(config: Config, write: Callable[[Callable[[Connection], Any]], Any]) -> Delivery:
    alerts: list[Alert] = write(lambda connection: records.claim_alerts(connection, database_now(connection)))
    if not alerts:
        return Delivery(0)
    failures = deliver(alerts, config)
    for failure in failures:
        logger.error("%s; the next crawl tries again", failure)
    if failures:
        write(lambda connection: records.release_alerts(connection, alerts, database_now(connection)))
    return Delivery(0 if failures else len(alerts), tuple(failures))


def deliver(alerts: Sequence[Alert], config: Config) -> list[str]:
    """Send the alerts on each way that is configured; return a sentence for each way that failed."""
    body = json.dumps(payload(alerts, location_of_url(config.database_url))).encode()
    failures = []
    for value, send in ((config.alert_webhook, _post), (config.alert_command, _run)):
        try:
            if value:
                send(value, body, _SECONDS)
        except AlertError as error:
            failures.append(str(error))
    return failures


class AlertError(CrawlerError):
    """An alert was not delivered."""


def payload(alerts: Sequence[Alert], database: str) -> dict[str, Any]:
    """Return the JSON of alerts; `text` is for chats that show nothing else."""
    lines = [describe(alert) for alert in alerts]
    return {
        "version": _PAYLOAD_VERSION,
        "text": "\n".join(lines),
        "database": database,
        "alerts": [
            {
                "site": alert.site,
                "condition": alert.condition.value,
                "state": "over" if alert.ended else "begun",
                "since": alert.since.isoformat(timespec="seconds"),
                "ended": alert.ended.isoformat(timespec="seconds") if alert.ended else None,
                "sentence": alert.sentence,
            }
            for alert in alerts
        ],
    }


def sample_alert() -> Alert:
    """Return an alert that shows whether alerts arrive."""
    now = datetime.now(UTC)
    return Alert("test.example", Condition.SILENT, now, "this is a test: no site is in trouble", now)


def describe(alert: Alert) -> str:
    """Return an alert as a sentence that begins with its site."""
    if alert.ended:
        return f"{alert.site}: over: {_words(alert)} (since {describe_moment(alert.since)})"
    return f"{alert.site}: {describe_condition(alert)}"


def describe_condition(alert: Alert) -> str:
    """Return a condition as words: since when it holds, and why."""
    return f"{_words(alert)} since {describe_moment(alert.since)}: {alert.sentence}"


def describe_moment(moment: datetime) -> str:
    """Return a time in UTC as words, to the minute."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def describe_move(site: str) -> str:
    """Return the sentence about a site whose pages have moved to another site."""
    return f"its pages have moved to {site}"


def describe_state(alerts: Sequence[Alert]) -> str:
    """Return the state of a site with these conditions, in a word or two."""
    return ", ".join(map(_words, alerts)) or HEALTHY


def _words(alert: Alert) -> str:
    return alert.condition.value.replace("_", " ")


def _post(url: str, body: bytes, seconds: float) -> None:
    """Post the JSON, and try again after an error of the network or the server. Raises AlertError."""
    request = Request(url, body, {"Content-Type": "application/json", "User-Agent": "blocksieve"})  # noqa: S310 — http or https: the setting is checked
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with urlopen(request, timeout=seconds):  # noqa: S310 — as above
                return
        except HTTPError as error:
            fault = f"it answered with status {error.code}"
            may_pass = error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS
        except (OSError, URLError, ValueError) as error:
            fault, may_pass = str(getattr(error, "reason", error)) or type(error).__name__, True
        if not may_pass or attempt == _ATTEMPTS:
            break
        time.sleep(_PAUSE_SECONDS * attempt)
    # The path is often a secret.
    parts = urlsplit(url)
    raise AlertError(
        f"ALERT_WEBHOOK at {parts.scheme}://{parts.hostname} got no alert after {attempt} attempts: {fault}"
    )


def _run(command: str, body: bytes, seconds: float) -> None:
    """Run the command with the JSON on its standard input. Raises AlertError."""
    words = shlex.split(command)
    try:
        done = subprocess.run(words, input=body, capture_output=True, timeout=seconds, check=False)  # noqa: S603 — the operator's own command
    except subprocess.TimeoutExpired as error:
        raise AlertError(f"ALERT_COMMAND {words[0]} was ended after {seconds:g} seconds") from error
    except OSError as error:
        raise AlertError(f"ALERT_COMMAND {words[0]} could not be run: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:_MAX_SHOWN_CHARS]
        raise AlertError(f"ALERT_COMMAND {words[0]} ended with exit code {done.returncode}: {said}")
