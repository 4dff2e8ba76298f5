"""Store the visits of crawls, a batch in one transaction: read what it needs, decide in memory, write what changed.

The check for stored duplicates and the insertion of new blocks are one transaction, under locks on everything that the
check can find. So no two crawls store the same text twice.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import delete, false, select

from cleaning.fingerprint import SCHEMES
from crawler.storage import crawls, due, pages, queries, reclean, requests
from crawler.storage.addresses import PageAddresses
from crawler.storage.boilerplate import MIN_SHARE, BoilerplateBounds
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import RetryingWriter, backend_of, open_engine, write_transaction
from crawler.storage.locks import (
    NotReadError,
    UnlockedPageError,
    block_keys,
    lock,
    lock_all,
    page_fingerprint_keys,
    page_key,
)
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.pages import PageAbsence, PageOrigin, PageSource
from crawler.storage.request_ends import acknowledge_visits, empty_visits, follow, pause_hosts, queued_again
from crawler.storage.schema import check_fingerprint_scheme, keep_settings, prepare_schema
from crawler.storage.state import ShownPage, Wants, read_state
from crawler.storage.tables import crawl, page
from crawler.storage.visits import (
    PagePresence,
    PageState,
    SavedVisit,
    VisitDecisions,
    find_absence,
    requested_url,
    wants_of,
)
from crawler.urls import host_of, site_of, url_key, without_credentials
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.fingerprint import Weighting
    from crawler.config import Config
    from crawler.discovery.feeds import FeedEntry
    from crawler.schedule import RevisitBounds
    from crawler.storage.backend import CrawlFileLock
    from crawler.storage.crawls import CrawlEnd, JoinedCrawl
    from crawler.storage.due import KnownPage
    from crawler.storage.pages import ImportedPage, PageRecord
    from crawler.storage.queries import PageOutcome, StoredItem
    from crawler.storage.reclean import PageToReclean, RecleanedPage, RecleanJob
    from crawler.storage.state import State
    from crawler.visit import ProcessedPage, Visit

_Result = TypeVar("_Result")

_PROMISE_EVERY_SECONDS = crawls.QUEUELESS_PROMISE_SECONDS / 4


class Store:
    """A database of blocks, open for one writer; `origin` is that of the crawl it has joined."""

    def __init__(
        self,
        engine: Engine,
        *,
        rules: DuplicateRules = DuplicateRules(),  # noqa: B008 — frozen
        boilerplate: BoilerplateBounds = BoilerplateBounds(),  # noqa: B008 — frozen
        keep_html: bool = True,
        weighting: Weighting = "modified",
        writer: RetryingWriter | None = None,
    ) -> None:
        self.engine = engine
        self.origin: PageOrigin | None = None
        self._policy = CrawlPolicy()
        self._crawl_lock: CrawlFileLock | None = None
        self._next_promise: float | None = None  # of a crawl without a queue
        self._writer = writer or RetryingWriter()
        self._presence = PagePresence()
        self._rules = rules
        self._bounds = boilerplate
        self._keep_html = keep_html
        self._scheme = SCHEMES[weighting]

    @classmethod
    def open(cls, config: Config) -> Store:
        """Return the store at DATABASE_URL, with its tables created if it is empty.

        Raises StoreError if the database cannot be opened or written, has another schema, or holds fingerprints of
        another scheme.
        """
        engine = open_engine(config.database_url)
        try:
            prepare_schema(engine)
            _check_writable(engine)
            check_fingerprint_scheme(engine, SCHEMES[config.fingerprint_weighting])
        except BaseException:
            engine.dispose()
            raise
        return cls(
            engine,
            rules=DuplicateRules(config.dedup_scope, config.dedup_distance),
            boilerplate=BoilerplateBounds(config.boilerplate_min_pages, MIN_SHARE),
            keep_html=config.keep_html,
            weighting=config.fingerprint_weighting,
            writer=RetryingWriter(config.database_wait_seconds),
        )

    def keep_settings(self, config: Config) -> str | None:
        """Let the database keep its settings for later commands; return a sentence if some change."""
        return keep_settings(self.engine, config.database_settings)

    def close(self) -> None:
        """Close the connections; the store cannot be used afterwards."""
        if self._crawl_lock is not None:
            self._crawl_lock.close()
        self.engine.dispose()

    def join_crawl(
        self, spider: str, arguments: Mapping[str, Any], policy: CrawlPolicy, *, fresh: bool = False
    ) -> JoinedCrawl:
        """Return the open crawl of this spider and these arguments; begin one if there is none, or if `fresh`.

        On SQLite, requests that a dead process had leased are free again at once.
        """
        self._policy = policy
        self.origin = None if policy.is_replay else PageOrigin.of(spider, arguments, policy.settings)
        command_settings = policy.command_settings
        joined = self.write(
            lambda connection: crawls.join_crawl(connection, spider, arguments, fresh=fresh, settings=command_settings)
        )
        self._crawl_lock = backend_of(self.engine).lock_crawl(self.engine, joined.crawl_id)
        if self._crawl_lock is not None and self._crawl_lock.alone:
            self.write(
                lambda connection: requests.end_lost_leases(
                    connection, joined.crawl_id, requests.database_now(connection), policy.max_attempts
                )
            )
        return joined

    def begin_crawl(self, spider: str, arguments: Mapping[str, Any], policy: CrawlPolicy = CrawlPolicy()) -> int:  # noqa: B008 — frozen
        """Begin a crawl whose requests are not in the database, and return its id."""
        self._policy = policy
        self._next_promise = monotonic() + _PROMISE_EVERY_SECONDS
        return self.write(lambda connection: crawls.begin_crawl(connection, spider, arguments))

    def end_crawl(self, crawl_id: int, reason: str, totals: Mapping[str, Any], *, finished: bool = True) -> CrawlEnd:
        """Record that this process leaves a crawl, why, with its totals, and whether nothing is left to do."""

        def end(connection: Connection) -> CrawlEnd:
            due.forget_addresses(connection, datetime.now(UTC))
            return crawls.end_crawl(connection, crawl_id, reason, totals, finished=finished)

        return self.write(end)

    def write(self, work: Callable[[Connection], _Result]) -> _Result:
        """Run the work in a transaction of its own and return its result; wait for a server that is away."""
        if self._crawl_lock is not None:
            self._crawl_lock.check()
        return self._writer.write(self.engine, work)

    def save(self, crawl_id: int, visits: Sequence[Visit]) -> list[SavedVisit]:
        """Store a batch of visits, all or none, and return the result of each, in order.

        Raises StoreError if the database is full, read-only, damaged, locked or away for too long.
        """
        policy = self._policy
        source = PageSource(crawl_id, self._scheme, policy.revisits, self.origin, policy.options_hash, policy.settings)
        return self._save_pairs(crawl_id, [(visit, pages.page_record(visit, source)) for visit in visits])

    def save_imported(self, crawl_id: int, imported: Sequence[ImportedPage]) -> list[SavedVisit]:
        """Store a batch of pages that `scrapy batch` has cleaned, as `save` stores visits."""
        policy = self._policy
        source = PageSource(crawl_id, self._scheme, policy.revisits, None, policy.options_hash, policy.settings)
        return self._save_pairs(
            crawl_id, [(imported_page.visit, imported_page.record(source)) for imported_page in imported]
        )

    def _save_pairs(self, crawl_id: int, pairs: Sequence[tuple[Visit, PageRecord | None]]) -> list[SavedVisit]:
        return self._write_locked(
            lambda connection, everything: self._save(connection, crawl_id, pairs, everything=everything)
        )

    def _write_locked(
        self, save: Callable[[Connection, bool], list[SavedVisit]], *, everything: bool = False
    ) -> list[SavedVisit]:
        """Save a batch under its own locks or, if it turns out to change a page that it has not locked, under all."""
        try:
            saved = self.write(lambda connection: save(connection, everything))
        except UnlockedPageError:
            if everything:
                raise
            return self._write_locked(save, everything=True)
        self._presence.add(saved)
        return saved

    def _save(
        self,
        connection: Connection,
        crawl_id: int,
        pairs: Sequence[tuple[Visit, PageRecord | None]],
        *,
        everything: bool,
    ) -> list[SavedVisit]:
        visits = [visit for visit, _ in pairs]
        absences = [absence for visit, record in pairs if (absence := find_absence(visit, record))]
        walled = _find_walled(connection, crawl_id, visits)
        absences += walled
        # Lock everything that the batch looks up or inserts, or the whole database.
        alone = self._lock(connection, absences, self._lock_keys(pairs), everything=everything)
        # If another process has taken over a request, its visit is lost.
        lost = acknowledge_visits(connection, visits, self._policy)
        self._promise_work(connection, crawl_id)
        kept = [(visit, record) for visit, record in pairs if visit.lease_token not in lost]

        def decide(decisions: VisitDecisions) -> list[SavedVisit]:
            saved = [decisions.save(visit, record) for visit, record in kept]
            for absence in walled:
                decisions.record_absence(absence)
            return saved

        wants = wants_of(kept, absences, may_retire=alone)
        state, results = self._decide(connection, wants, decide, absences, alone=alone)
        state.write(connection, self._rules, self._bounds)
        due.record_empty_visits(connection, empty_visits(kept, self._policy))
        # What gave no page since the last one may have met the wall too.
        due.forget_hidden(connection, {site_of(visit.url) for visit in visits if visit.outcome is Outcome.WALL})
        requests.fail_walled(connection, crawl_id, [answer.asked for visit in visits for answer in visit.walled])
        kept_visits = [visit for visit, _ in kept]
        not_due = follow(connection, crawl_id, kept_visits, self._policy)
        refused = pause_hosts(connection, crawl_id, kept_visits, self._policy)
        left = iter(results)
        saved = [SavedVisit(visit.url, PageState.LOST) if visit.lease_token in lost else next(left) for visit in visits]
        return list(_with_requests(saved, visits, not_due, refused, self._policy))

    def _decide(
        self,
        connection: Connection,
        wants: Wants,
        decide: Callable[[VisitDecisions], _Result],
        absences: Sequence[PageAbsence] = (),
        *,
        alone: bool,
    ) -> tuple[State, _Result]:
        """Return what a batch has changed in memory, and its result; read again what the decisions turn out to need."""
        # On SQLite one transaction writes at a time.
        may_move = alone or self.engine.dialect.name == "sqlite"
        while True:
            state = read_state(connection, wants, self._rules)
            decisions = VisitDecisions(
                state=state,
                addresses=PageAddresses(state, may_move),
                policy=self._policy,
                origin=self.origin,
                presence=self._presence,
                absences=absences,
                alone=alone,
                keep_html=self._keep_html,
            )
            try:
                return state, decide(decisions)
            except NotReadError as missing:
                wants.add(missing)

    def _promise_work(self, connection: Connection, crawl_id: int) -> None:
        """Record from time to time that a crawl without a queue still runs; for others, leases record it."""
        if self._next_promise is not None and monotonic() >= self._next_promise:
            crawls.promise_work(connection, crawl_id)
            self._next_promise = monotonic() + _PROMISE_EVERY_SECONDS

    def save_recleaned(
        self, recleaned: Sequence[RecleanedPage], record_progress: Callable[[Connection], None] | None
    ) -> list[SavedVisit]:
        """Replace the last visits of pages that were cleaned again; return the result of each, in order.

        `record_progress` runs in the same transaction. If it is None, nothing is stored, but the results are the same.
        """

        def work(connection: Connection) -> list[SavedVisit]:
            lock(
                connection,
                chain.from_iterable(
                    self._page_lock_keys(recleaned_page.page, recleaned_page) for recleaned_page in recleaned
                ),
            )
            wants = Wants()
            for result in recleaned:
                wants.contents.add(result.page.key)
                wants.shown.append(ShownPage(result.page.key, result.page.site, result.blocks, result.fingerprint))
            state, saved = self._decide(
                connection,
                wants,
                lambda decisions: [decisions.save_recleaned(result) for result in recleaned],
                alone=False,
            )
            if record_progress is not None:
                state.write(connection, self._rules, self._bounds)
                record_progress(connection)
            return saved

        return self.write(work)

    def end_reclean(self, job: RecleanJob) -> None:
        """Record that a job is complete: the next run of the same job starts from the first page."""

        def work(connection: Connection) -> None:
            lock_all(connection)
            if self._rules.beyond_page:
                reclean.update_near_duplicates(connection, self._rules)
            reclean.update_recleaned_sections(connection, job)
            reclean.end_reclean(connection, job)

        self.write(work)

    def record_absences(self, absences: Sequence[PageAbsence]) -> list[SavedVisit]:
        """Record pages whose requests were redirected elsewhere; return the result of each, in order."""
        return self._write_locked(
            lambda connection, everything: self._record_absences(connection, absences, everything=everything)
        )

    def _record_absences(
        self, connection: Connection, absences: Sequence[PageAbsence], *, everything: bool
    ) -> list[SavedVisit]:
        targets = (url_key(absence.moved_to) for absence in absences if absence.moved_to is not None)
        keys = [page_key(key) for key in (*(absence.key for absence in absences), *targets)]
        alone = self._lock(connection, absences, keys, everything=everything)

        def decide(decisions: VisitDecisions) -> list[SavedVisit]:
            return [
                SavedVisit(absence.url, PageState.NONE, moved=1)
                if decisions.addresses.move_absent(absence)
                else decisions.record_absence(absence)
                for absence in absences
            ]

        wants = wants_of((), absences, may_retire=alone)
        state, saved = self._decide(connection, wants, decide, absences, alone=alone)
        state.write(connection, self._rules, self._bounds)
        redirected = [due.EmptyVisit(absence.key, due.REDIRECTED, absence.visit_time) for absence in absences]
        due.record_empty_visits(connection, redirected)
        return saved

    def absent_keys(self, keys: Collection[str]) -> set[str]:
        """Return the keys where nothing was found lately, as `pages.absent_keys` does."""
        now = datetime.now(UTC)
        return self.read(lambda connection: pages.absent_keys(connection, keys, now))

    def known_pages(self, keys: Sequence[str]) -> dict[str, KnownPage]:
        """Return the keys that are known, as `due.known_pages` does."""
        now = datetime.now(UTC)
        return self.read(lambda connection: due.known_pages(connection, keys, now, self._policy.revisits))

    def take_sitemaps(self, listed: Sequence[FeedEntry], most: int) -> list[FeedEntry]:
        """Return the sitemaps of an index to read in this run, and record that they are read."""
        return self.write(lambda connection: due.take_sitemaps(connection, listed, most, datetime.now(UTC)))

    def record_known_sitemap(self, url: str) -> None:
        """Record that all entries of a sitemap are known."""
        self.write(lambda connection: due.record_known_sitemap(connection, url))

    def stored_item(self, visit: Visit) -> StoredItem | None:
        """Return the stored item of the page that a visit found not modified; None if no page is stored."""
        key = pages.visit_key(visit, None)
        url = requested_url(visit)
        return self.read(lambda connection: queries.read_stored_item(connection, key, url))

    def page_outcomes(self, sites: Sequence[str]) -> list[PageOutcome]:
        """Return the newest stored pages of these sites, with the amount of running text on each."""
        return self.read(lambda connection: queries.page_outcomes(connection, sites))

    def read(self, work: Callable[[Connection], _Result]) -> _Result:
        """Run work that only reads, and return its result; wait for a server that is away."""
        return self._writer.read(self.engine, work)

    def stop_waiting(self) -> None:
        """Stop waiting for a database that is away: further work fails at once. Any thread may call it."""
        self._writer.stop_waiting()

    def _lock(
        self,
        connection: Connection,
        absences: Sequence[PageAbsence],
        keys: Iterable[int],
        *,
        everything: bool = False,
    ) -> bool:
        """Lock the keys, or everything if `everything` or a page may be retired; return True for everything."""
        if not everything and not _may_retire(connection, absences, self._policy.revisits):
            lock(connection, keys)
            return False
        lock_all(connection)
        return True

    def _lock_keys(self, pairs: Sequence[tuple[Visit, PageRecord | None]]) -> Iterator[int]:
        """Yield the lock keys of everything that a batch looks up or inserts."""
        for visit, record in pairs:
            yield page_key(pages.visit_key(visit, record))
            yield from map(page_key, visit.moved_from)
            if record is not None:
                yield page_key(record.own_key)
                yield from self._page_lock_keys(record, record.page)

    def _page_lock_keys(
        self, record: PageRecord | PageToReclean, cleaned: ProcessedPage | RecleanedPage
    ) -> Iterator[int]:
        yield page_key(record.key)
        if self._rules.beyond_page:
            yield from block_keys(cleaned.blocks)
            yield from page_fingerprint_keys(cleaned.fingerprint)


def _check_writable(engine: Engine) -> None:
    """Run a DELETE that deletes nothing, so that a read-only database fails before the crawl starts."""
    with write_transaction(engine) as connection:
        connection.execute(delete(crawl).where(false()))


def _with_requests(
    saved: Sequence[SavedVisit],
    visits: Sequence[Visit],
    not_due: frozenset[str],
    refused: Mapping[str, int],
    policy: CrawlPolicy,
) -> Iterator[SavedVisit]:
    """Yield each result with its effect on requests: the visit's own, its children, and those of its host.

    A key and a host count at their first visit.
    """
    left = set(not_due)
    hosts = dict(refused)
    for result, visit in zip(saved, visits, strict=True):
        mine = left.intersection(record.key for record in visit.requests)
        left -= mine
        count = hosts.pop(host_of(visit.url), 0) if visit.pause_evidence else 0
        yield replace(result, not_due=len(mine), refused=count, queued_again=queued_again(visit, policy))


def _find_walled(connection: Connection, crawl_id: int, visits: Sequence[Visit]) -> list[PageAbsence]:
    """Return the pages that were stored of a wall before a second address showed that it is one."""
    times = {without_credentials(answer.url): visit.at for visit in visits for answer in visit.walled}
    if not times:
        return []
    sites = {site_of(url) for url in times}
    stored = select(page.c.url_key, page.c.url).where(
        page.c.site.in_(sites),
        page.c.url.in_(times),
        page.c.crawl_id == crawl_id,
        page.c.visits == 1,
        page.c.retired_at.is_(None),
    )
    return [
        PageAbsence(row.url_key, row.url, times[row.url], for_good=True, withdrawn=True)
        for row in connection.execute(stored)
    ]


def _may_retire(connection: Connection, absences: Sequence[PageAbsence], bounds: RevisitBounds) -> bool:
    """Return True if one of the absences may retire its page; retiring needs the locks of all pages."""
    if not absences:
        return False
    keys = {absence.key: absence.for_good for absence in absences}
    active = select(page.c.url_key, page.c.misses).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    rows = connection.execute(active)
    return any(keys[row.url_key] or row.misses + 1 >= bounds.most_misses for row in rows)
