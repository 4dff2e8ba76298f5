"""Store the visits of crawls, in one transaction for each batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import bindparam, delete, false, select, update

from cleaning.fingerprint import SCHEMES
from crawler import schedule
from crawler.schedule import RevisitBounds
from crawler.storage import blocks, crawls, database, pages, queries, reclean, requests, schema
from crawler.storage.blocks import BlockWriter, VisitedPage, compare_blocks
from crawler.storage.boilerplate import BoilerplateBounds, BoilerplateChange, BoilerplateCounter
from crawler.storage.database import RetryingWriter, backend_of, open_engine, read_transaction, write_transaction
from crawler.storage.locks import block_keys, lock, lock_all, page_fingerprint_keys, page_key
from crawler.storage.near_duplicates import FINGERPRINT_INDEXES, DuplicateRules, NearDuplicatePages, NearDuplicateState
from crawler.storage.pages import REVISIT_KEY, PageOrigin
from crawler.storage.requests import Ack, RequestState
from crawler.storage.tables import block, crawl, page, section, sighting
from crawler.urls import host_of, url_key, without_credentials
from crawler.visit import MISSING_OUTCOMES, PAUSE_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.fingerprint import Weighting
    from crawler.config import Config
    from crawler.storage.backend import CrawlFileLock
    from crawler.storage.blocks import NewSighting, PageComparison
    from crawler.storage.crawls import JoinedCrawl
    from crawler.storage.pages import PageRecord, StoredPage
    from crawler.storage.queries import PageOutcome
    from crawler.storage.reclean import PageToReclean, RecleanedPage, RecleanJob
    from crawler.visit import LeaseToken, ProcessedPage, Visit


class PageState(StrEnum):
    """What a visit meant for its page; a closed set, counted under these words."""

    NONE = "none"
    """The visit had no page, and none was stored at its address."""
    LOST = "lost"
    """The request had been given to another process meanwhile; the visit was not stored."""
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_MODIFIED = "not_modified"
    """It was not read: its server, or the same body, said that it is what it was."""
    MISSED = "missed"
    """It was not found there; it is looked for again, later each time."""
    RETIRED = "retired"
    """It was not found too often, or is gone for good: so are its blocks."""
    DEFERRED = "deferred"
    """Nothing was learned of it."""


@dataclass(frozen=True, slots=True)
class SavedVisit:
    """What became of a visit: its candidates are stored + refreshed + exact + near + template.

    `refreshed` counts blocks and sightings that the page held before, `revived` those of them that had been gone,
    `exact` and `near` new sightings, `template` new ones of texts that were template on the site before, `gone` rows
    that the page held at its last visit and does not any more; `mirrors` is 1 if the page became a mirror. `spared`
    counts children of a re-crawl that are not due.
    """

    url: str
    state: PageState
    page_id: int | None = None
    stored: int = 0
    refreshed: int = 0
    revived: int = 0
    exact: int = 0
    near: int = 0
    template: int = 0
    gone: int = 0
    mirrors: int = 0
    spared: int = 0


def with_counts(
    base: SavedVisit, comparison: PageComparison, sighted: Sequence[NewSighting], template: frozenset[int]
) -> SavedVisit:
    """Return what became of a page's candidates, with the new sightings and the texts that were template before."""
    dropped = sum(one.digest in template for one in comparison.new)
    shown = [one for one in sighted if one.candidate.digest not in template]
    exact = sum(one.exact for one in shown)
    return replace(
        base,
        stored=len(comparison.new) - dropped - len(shown),
        refreshed=len(comparison.kept),
        revived=sum(each.earlier.gone for each in comparison.kept),
        exact=exact,
        near=len(shown) - exact,
        template=dropped,
        gone=len(comparison.missing),
    )


def with_skipped_counts(
    saved: Sequence[SavedVisit], visits: Sequence[Visit], spared: frozenset[str]
) -> Iterator[SavedVisit]:
    """Give each visit's result with the number of its children that are spared; a key counts where it comes first."""
    left = set(spared)
    for result, visit in zip(saved, visits, strict=True):
        mine = left.intersection(wanted.key for wanted in visit.requests)
        left -= mine
        yield replace(result, spared=len(mine))


# Asked for again, while there are attempts left.
_RETRIED_OUTCOMES = frozenset({Outcome.CALLBACK_FAILED, *PAUSE_OUTCOMES})
# May be another way some day: `scrapy retry --failed` asks for them.
_FAILED_OUTCOMES = frozenset(
    {
        Outcome.ADDRESS,
        Outcome.FORBIDDEN,
        Outcome.HTTP_ERROR,
        Outcome.DOWNLOAD_FAILED,
        Outcome.CLEANING_FAILED,
        Outcome.CLEANING_TIMEOUT,
        Outcome.PIPELINE_FAILED,
    }
)


@dataclass(frozen=True, slots=True)
class CrawlPolicy:
    """How often a request is begun, and for how long a host is left alone that refuses, first and at most (seconds).

    `revisits` bounds the time between two visits to a page. Pages are visited again unless `is_replay`: what a replay
    answers is not what their sites would. `options_hash` is of the options that pages are cleaned with. A re-crawl does
    not follow links to pages that have a time of their own. A replay would answer the same another time: nothing is
    begun again, and no host paused.
    """

    most_attempts: int = 3
    pause_seconds: float = 60.0
    most_pause_seconds: float = 21_600.0
    revisits: RevisitBounds = RevisitBounds()  # noqa: RUF009 — frozen
    is_replay: bool = False
    options_hash: int | None = None
    is_recrawl: bool = False


def acknowledge_visits(connection: Connection, visits: Sequence[Visit], most_attempts: int) -> set[LeaseToken]:
    """End the requests of these visits; return the tickets of those that are another process's by now."""
    endings = [
        _visit_ack(visit, visit.lease_token, most_attempts)
        for visit in visits
        if visit.lease_token and visit.ends_request
    ]
    if not endings:
        return set()
    confirmed = requests.acknowledge_requests(connection, endings, requests.database_now(connection))
    return {each.lease_token for each in endings if each.lease_token.request_id not in confirmed}


def store_children(
    connection: Connection, crawl_id: int, visits: Sequence[Visit], manners: CrawlPolicy
) -> frozenset[str]:
    """Store the visits' children, and leave alone the hosts that refuse; return the keys of those not due."""
    if not any(visit.lease_token for visit in visits):
        return frozenset()
    wanted = [request for visit in visits for request in visit.requests]
    now = requests.database_now(connection)
    spared = pages.keys_not_due(connection, wanted, now) if manners.is_recrawl else frozenset()
    added = requests.add_due_requests(connection, crawl_id, wanted, spared, now)
    pages.record_lastmods(connection, wanted, now)
    refusing = {
        host_of(visit.url): visit.outcome for visit in visits if visit.lease_token and visit.outcome in PAUSE_OUTCOMES
    }
    for name, outcome in () if manners.is_replay else sorted(refusing.items()):
        requests.pause_host(
            connection,
            name,
            now,
            outcome,
            first_seconds=manners.pause_seconds,
            most_seconds=manners.most_pause_seconds,
        )
    served = {
        host_of(visit.url) for visit in visits if visit.lease_token and visit.outcome is Outcome.PAGE
    } - refusing.keys()
    if served:
        requests.reset_refusals(connection, served)
    return added.spared


def ends_request(visit: Visit, most_attempts: int) -> bool:
    """Tell whether a visit is the last of its request."""
    return visit.ends_request and _request_state(visit, most_attempts) is not RequestState.QUEUED


def _visit_ack(visit: Visit, lease_token: LeaseToken, most_attempts: int) -> Ack:
    state = _request_state(visit, most_attempts)
    return Ack(lease_token, state, visit.outcome, error=None if state is RequestState.DONE else visit.error)


def _request_state(visit: Visit, most_attempts: int) -> RequestState:
    if visit.outcome in _RETRIED_OUTCOMES:
        return RequestState.QUEUED if visit.attempts + 1 < most_attempts else RequestState.FAILED
    return RequestState.FAILED if visit.outcome in _FAILED_OUTCOMES else RequestState.DONE


_STATUS_GONE = 410
_STORED_PAGES, _STORED_SECTIONS = (
    select(table.c.url_key).where(table.c.url_key.in_(bindparam("keys", expanding=True))) for table in (page, section)
)
_STORED_KEYS = _STORED_PAGES.union_all(_STORED_SECTIONS)
_REFRESH_LAST_SEEN = [
    update(table)
    .where(table.c.page_id == bindparam("page"), table.c.gone_at.is_(None))
    .values(last_seen=bindparam("at"))
    for table in (block, sighting)
]


@dataclass(frozen=True, slots=True)
class PageAbsence:
    """A page, or section, that was not found at its URL; `for_good` where its server says so."""

    key: str
    url: str
    at: datetime
    for_good: bool = False


def visit_key(visit: Visit, reading: PageRecord | None) -> str:
    """Return the key of what a visit was for."""
    if visit.request is not None and REVISIT_KEY in visit.request.meta:
        return pages.target_key(visit.request)
    return url_key(visit.url) if reading is None else reading.key


def find_absence(visit: Visit, reading: PageRecord | None) -> PageAbsence | None:
    """Return what a visit did not find where it was sought, None where it was found or nothing was learned.

    Where a re-visit found a page of another key, the page that it was for is not there.
    """
    sought = visit_key(visit, reading)
    elsewhere = reading is not None and reading.key != sought and visit.parts == 1
    if not (elsewhere or visit.outcome in MISSING_OUTCOMES):
        return None
    return PageAbsence(sought, _requested_url(visit), visit.at, for_good=visit.status == _STATUS_GONE)


def may_retire(connection: Connection, absences: Sequence[PageAbsence]) -> bool:
    """Tell whether one of them may be the last: then nobody else may write while it is noted."""
    if not absences:
        return False
    keys = {one.key: one.for_good for one in absences}
    found = select(page.c.url_key, page.c.misses).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    rows_found = connection.execute(found)
    return any(keys[row.url_key] or row.misses + 1 >= schedule.RETIRE_MISSES for row in rows_found)


class PageLifecycle:
    """Keeps pages and sections, in the transaction of a batch.

    `alone` tells that nobody else writes meanwhile: only then is a page retired, otherwise at its next miss.
    """

    def __init__(
        self,
        tally: BoilerplateCounter,
        mirrors: NearDuplicatePages,
        manners: CrawlPolicy,
        origin: PageOrigin | None,
        *,
        alone: bool,
    ) -> None:
        self.tally = tally
        self._connection = tally.connection
        self._mirrors = mirrors
        self._manners = manners
        self._origin = origin
        self._alone = alone
        self._proofs: list[pages.SitemapEvidence] = []
        self._nowhere: frozenset[str] = frozenset()

    def foresee(self, visits: Sequence[Visit], readings: Sequence[PageRecord | None]) -> None:
        """Look up, all at once, which visits found nothing at addresses where nothing is stored: most of a crawl's."""
        pairs = list(zip(visits, readings, strict=True))
        empty = {visit_key(visit, None) for visit, reading in pairs if reading is None and not visit.requests}
        made = {visit_key(visit, reading) for visit, reading in pairs if visit.requests}
        made.update(reading.key for reading in readings if reading is not None)
        if empty:
            made.update(self._connection.scalars(_STORED_KEYS, {"keys": list(empty)}))
        self._nowhere = frozenset(empty - made)

    def prove(self, stored: StoredPage, *, changed: bool) -> None:
        """Remember what a visit shows of the sitemap that had said something of the page."""
        if (proof := pages.sitemap_evidence(stored, changed=changed)) is not None:
            self._proofs.append(proof)

    def settle(self) -> None:
        """Note what the visits have shown of sitemaps; after the last of them."""
        pages.record_sitemap_evidence(self._connection, self._proofs)

    def keep(self, visit: Visit) -> SavedVisit:
        """Note what a visit without a page says of the page and the section at its address."""
        nothing, sought = SavedVisit(visit.url, PageState.NONE), visit_key(visit, None)
        if sought in self._nowhere or not ends_request(visit, self._manners.most_attempts):
            return nothing
        if (missing := find_absence(visit, None)) is not None:
            return self.miss(missing)
        self._keep_section(visit, sought)
        stored = pages.find_page(self._connection, sought)
        if stored is None or stored.url != _requested_url(visit):
            return nothing
        if visit.outcome is Outcome.NOT_MODIFIED and not stored.retired:
            return self._see_again(visit, stored)
        self._write(stored, self._due(stored, stored.history, visit.at))
        return SavedVisit(visit.url, PageState.DEFERRED, stored.page_id)

    def beside(self, visit: Visit, reading: PageRecord) -> None:
        """Note what a re-visit that found a page says of what else it was for."""
        if (missing := find_absence(visit, reading)) is not None:
            self.miss(missing)
        elif visit.request is not None and REVISIT_KEY in visit.request.meta:
            pages.defer_section(self._connection, reading.key, visit.at, self._manners.revisits)

    def miss(self, missing: PageAbsence) -> SavedVisit:
        """Note that a page, or a section, was not found."""
        bounds = self._manners.revisits
        pages.record_section_absence(self._connection, missing.key, missing.at, bounds, for_good=missing.for_good)
        stored = pages.find_page(self._connection, missing.key)
        if stored is None or stored.url != missing.url:
            return SavedVisit(missing.url, PageState.NONE)
        history = stored.history.missed()
        values = self._due(stored, history, missing.at) | {"misses": history.misses}
        leaves = self._alone and not stored.retired and (missing.for_good or schedule.is_retired(history))
        gone = self._retire(stored, missing.at) if leaves else 0
        if leaves:
            values |= {"retired_at": missing.at, "page_fingerprint": None}
        self._write(stored, values)
        return SavedVisit(missing.url, PageState.RETIRED if leaves else PageState.MISSED, stored.page_id, gone=gone)

    def _keep_section(self, visit: Visit, sought: str) -> None:
        bounds = self._manners.revisits
        if visit.outcome is Outcome.SECTION and visit.request is not None and self._origin is not None:
            pages.record_section(self._connection, visit, visit.request, self._origin, bounds)
        else:
            pages.defer_section(self._connection, sought, visit.at, bounds)

    def _see_again(self, visit: Visit, stored: StoredPage) -> SavedVisit:
        self.prove(stored, changed=False)
        history = stored.history.visited(visit.at, changed=False)
        new = {"etag": visit.etag, "last_modified": visit.last_modified}
        values = {name: value for name, value in new.items() if value is not None}
        seen = {"last_seen": visit.at, "visits": history.visits, "misses": 0, "lastmod": None}
        self._write(stored, values | seen | self._due(stored, history, visit.at))
        for statement in _REFRESH_LAST_SEEN:
            self._connection.execute(statement, {"page": stored.page_id, "at": visit.at})
        return SavedVisit(visit.url, PageState.NOT_MODIFIED, stored.page_id)

    def _retire(self, stored: StoredPage, at: datetime) -> int:
        """Take a page out of all that counts or compares pages; return how many blocks and sightings are gone."""
        live = [row for row in blocks.read_earlier(self._connection, stored.page_id) if not row.gone]
        blocks.mark_gone(
            self._connection, VisitedPage(stored.page_id, stored.site, at, self.tally.change_log.mark), live
        )
        self.tally.change_log.touch(stored.page_id)
        self._mirrors.remove(self._connection, select(page.c.id).where(page.c.id == stored.page_id))
        self.tally.note(BoilerplateChange.leaving(stored.site, live))
        return len(live)

    def _due(self, stored: StoredPage, history: schedule.VisitHistory, at: datetime) -> dict[str, Any]:
        """Return when a page is due; pages that no crawl can visit again, as it is not known how, never are."""
        return {"next_visit": schedule.next_visit(history, at, self._manners.revisits)} if stored.has_origin else {}

    def _write(self, stored: StoredPage, values: dict[str, Any]) -> None:
        if values:
            self._connection.execute(update(page).where(page.c.id == stored.page_id).values(values))


def _requested_url(visit: Visit) -> str:
    return without_credentials(visit.url if visit.request is None else visit.request.url)


_Result = TypeVar("_Result")


class Store:
    """A database of blocks, open for one writer; `origin` is that of the crawl it has joined."""

    def __init__(
        self,
        engine: Engine,
        *,
        rules: DuplicateRules = DuplicateRules(),  # noqa: B008 — frozen
        templates: BoilerplateBounds = BoilerplateBounds(),  # noqa: B008 — frozen
        keep_html: bool = True,
        weighting: Weighting = "modified",
        patience: RetryingWriter | None = None,
    ) -> None:
        self.engine = engine
        self.origin: PageOrigin | None = None
        self._manners = CrawlPolicy()
        self._claim: CrawlFileLock | None = None
        self._patience = patience or RetryingWriter()
        self._rules = rules
        self._bounds = templates
        self._keep_html = keep_html
        self._scheme = SCHEMES[weighting]
        self._blocks = BlockWriter(FINGERPRINT_INDEXES[engine.dialect.name](rules.max_distance), rules)
        self._mirrors = NearDuplicatePages(engine.dialect.name, rules)

    @classmethod
    def open(cls, config: Config) -> Store:
        """Return the store at DATABASE_URL, its tables created if it is empty.

        Raises StoreError where it cannot be opened or written, is of another schema, or holds fingerprints of
        another scheme.
        """
        engine = open_engine(config.database_url)
        try:
            schema.prepare_schema(engine)
            _check_writable(engine)
            schema.check_fingerprint_scheme(engine, SCHEMES[config.fingerprint_weighting])
        except BaseException:
            engine.dispose()
            raise
        return cls(
            engine,
            rules=DuplicateRules(config.dedup_scope, config.dedup_distance),
            templates=BoilerplateBounds(config.boilerplate_min_pages, config.boilerplate_min_share),
            keep_html=config.keep_html,
            weighting=config.fingerprint_weighting,
            patience=RetryingWriter(config.database_wait_seconds),
        )

    def close(self) -> None:
        """Close the connections; the store is not used after."""
        if self._claim is not None:
            self._claim.close()
        self.engine.dispose()

    def join_crawl(
        self, spider: str, arguments: Mapping[str, Any], manners: CrawlPolicy, *, fresh: bool = False
    ) -> JoinedCrawl:
        """Return the open crawl of this spider and these arguments, begun now where there is none, or if `fresh`.

        Requests that a process had taken which is no more are free again, on SQLite at once.
        """
        self._manners = manners
        self.origin = None if manners.is_replay else PageOrigin.of(spider, arguments)
        joined = self.write(lambda connection: crawls.join_crawl(connection, spider, arguments, fresh=fresh))
        self._claim = backend_of(self.engine).claim(self.engine, joined.crawl_id)
        if self._claim is not None and self._claim.alone:
            self.write(lambda connection: requests.release_all_leases(connection, joined.crawl_id))
        return joined

    def begin_crawl(self, spider: str, arguments: Mapping[str, Any]) -> int:
        """Note that a crawl starts and return its id; secrets among its arguments are masked."""
        return self.write(lambda connection: crawls.begin_crawl(connection, spider, arguments))

    def end_crawl(self, crawl_id: int, reason: str, totals: Mapping[str, Any], *, finished: bool = True) -> bool:
        """Note that a process ends its part in a crawl, why, what it counted, and whether nothing is left to do.

        Tell whether any process of the crawl has found a page.
        """
        return self.write(lambda connection: crawls.end_crawl(connection, crawl_id, reason, totals, finished=finished))

    def write(self, work: Callable[[Connection], _Result]) -> _Result:
        """Do the work in a transaction of its own and return its result; a server that went away is waited for."""
        if self._claim is not None:
            self._claim.check()
        return self._patience.write(self.engine, work)

    def save(self, crawl_id: int, visits: Sequence[Visit]) -> list[SavedVisit]:
        """Store the visits' pages, all of them or none, and return what became of each visit, in order.

        The requests that the visits end are acknowledged with it, and their children stored; a visit whose request is
        another process's by now is not stored. A server that went away is waited for. Raises StoreError where the
        database is full, read-only, damaged, locked or away for too long.
        """
        source = pages.PageSource(
            crawl_id, self._scheme, self._manners.revisits, self.origin, self._manners.options_hash
        )
        readings = [pages.page_record(visit, source) for visit in visits]
        absences = [found for pair in zip(visits, readings, strict=True) if (found := find_absence(*pair))]

        def work(connection: Connection) -> list[SavedVisit]:
            alone = self._lock(connection, absences, self._claims(visits, readings))
            lost = acknowledge_visits(connection, visits, self._manners.most_attempts)
            tally = BoilerplateCounter(connection, database.begin_changes(connection))
            keeper = PageLifecycle(tally, self._mirrors, self._manners, self.origin, alone=alone)
            keeper.foresee(visits, readings)
            saved = [
                SavedVisit(visit.url, PageState.LOST)
                if visit.lease_token in lost
                else self._save(keeper, visit, reading)
                for visit, reading in zip(visits, readings, strict=True)
            ]
            tally.settle(self._bounds, datetime.now(UTC))
            keeper.settle()
            kept = [visit for visit in visits if visit.lease_token not in lost]
            spared = store_children(connection, crawl_id, kept, self._manners)
            return list(with_skipped_counts(saved, visits, spared))

        return self.write(work)

    def redo(self, redone: Sequence[RecleanedPage], note: Callable[[Connection], None] | None) -> list[SavedVisit]:
        """Store what pages' last visits bring when they are cleaned again; return what became of each, in order.

        `note` is done in the same transaction; where it is None, nothing is stored, and that is what would become.
        """

        def work(connection: Connection) -> list[SavedVisit]:
            lock(connection, chain.from_iterable(self._page_claims(one.page, one) for one in redone))
            before = connection.begin_nested()
            tally = BoilerplateCounter(connection, database.begin_changes(connection))
            saved = [self._redo(tally, one) for one in redone]
            tally.settle(self._bounds, datetime.now(UTC))
            if note is None:
                before.rollback()
            else:
                note(connection)
            return saved

        return self.write(work)

    def end_redoing(self, job: RecleanJob) -> None:
        """Note that a job is done: the same asked for again begins anew."""

        def work(connection: Connection) -> None:
            lock_all(connection)
            if self._rules.beyond_page:
                reclean.update_near_duplicates(connection, self._mirrors)
            reclean.end_reclean(connection, job)

        self.write(work)

    def miss(self, absences: Sequence[PageAbsence]) -> list[SavedVisit]:
        """Note pages that were not where they had been, as their requests led elsewhere; return what became of each."""

        def work(connection: Connection) -> list[SavedVisit]:
            alone = self._lock(connection, absences, [page_key(one.key) for one in absences])
            tally = BoilerplateCounter(connection, database.begin_changes(connection))
            keeper = PageLifecycle(tally, self._mirrors, self._manners, self.origin, alone=alone)
            saved = [keeper.miss(one) for one in absences]
            tally.settle(self._bounds, datetime.now(UTC))
            return saved

        return self.write(work)

    def outcomes(self, sites: Sequence[str]) -> list[PageOutcome]:
        """Return what the newest stored pages of these sites turned out to be."""
        with read_transaction(self.engine) as connection:
            return queries.page_outcomes(connection, sites)

    def stop_waiting(self) -> None:
        """Wait for the database no longer: what it does not take now fails. Any thread may say so."""
        self._patience.end()

    def _lock(self, connection: Connection, absences: Sequence[PageAbsence], keys: Iterable[int]) -> bool:
        """Wait for the keys, or for all where a page may be retired; tell whether those are had."""
        if not may_retire(connection, absences):
            lock(connection, keys)
            return False
        lock_all(connection)
        return True

    def _claims(self, visits: Sequence[Visit], readings: Sequence[PageRecord | None]) -> Iterator[int]:
        """Give the keys of all that a batch looks up or inserts."""
        for visit, page_read in zip(visits, readings, strict=True):
            yield page_key(visit_key(visit, page_read))
            if page_read is not None:
                yield from self._page_claims(page_read, page_read.page)

    def _page_claims(self, page: PageRecord | PageToReclean, cleaned: ProcessedPage | RecleanedPage) -> Iterator[int]:
        yield page_key(page.key)
        if self._rules.beyond_page:
            yield from block_keys(cleaned.blocks, page.site)
            yield from page_fingerprint_keys(cleaned.fingerprint)

    def _redo(self, tally: BoilerplateCounter, redone: RecleanedPage) -> SavedVisit:
        """Do a page's last visit again: what it shows is compared with what is stored, and no visit is counted."""
        connection = tally.connection
        known = pages.find_page(connection, redone.page.key)
        if known is None or known.retired or known.body_hash != redone.page.body_hash:
            return SavedVisit(redone.page.url, PageState.DEFERRED)  # a crawl was there meanwhile, and knows more
        earlier = blocks.read_earlier(connection, known.page_id)
        before = self._mirrors.standing(connection, known.page_id, known.fingerprint)
        comparison = compare_blocks(self._blocks.candidates(redone.blocks), earlier)
        tally.change_log.touch(known.page_id)
        reclean.update_recleaned_page(connection, known, redone)
        home = VisitedPage(known.page_id, known.site, known.history.last_seen, tally.change_log.mark)
        sighted = self._blocks.write(connection, home, comparison)
        mirrors = self._mirrors.place(connection, home, redone.fingerprint, before)
        template = tally.templates(home.site)
        tally.note(BoilerplateChange.of(home.site, earlier, redone.blocks))
        saved = SavedVisit(known.url, _page_state(comparison), known.page_id, mirrors=int(mirrors))
        return with_counts(saved, comparison, sighted, template)

    def _save(self, keeper: PageLifecycle, visit: Visit, page_read: PageRecord | None) -> SavedVisit:
        if page_read is None:
            return keeper.keep(visit)
        tally, connection = keeper.tally, keeper.tally.connection
        known = pages.find_page(connection, page_read.key)
        earlier = blocks.read_earlier(connection, known.page_id) if known else []
        before = self._mirrors.standing(connection, known.page_id, known.fingerprint) if known else NearDuplicateState()
        comparison = compare_blocks(self._blocks.candidates(page_read.page.blocks), earlier)
        if known is None:
            state, page_id = PageState.NEW, pages.add_page(connection, page_read, keep_html=self._keep_html)
            tally.change_log.add(page_id)
        else:
            state, page_id = _page_state(comparison), known.page_id
            keeper.prove(known, changed=comparison.changed)
            tally.change_log.touch(page_id)
            if known.description != page_read.description:
                tally.change_log.describe(page_id)
            pages.update_page(connection, known, page_read, changed=comparison.changed, keep_html=self._keep_html)
        home = VisitedPage(page_id, page_read.site, visit.at, tally.change_log.mark)
        sighted = self._blocks.write(connection, home, comparison)
        mirrors = self._mirrors.place(connection, home, page_read.page.fingerprint, before)
        template = tally.templates(home.site)
        was_there = known is not None and not known.retired
        tally.note(BoilerplateChange.of(home.site, earlier if was_there else None, page_read.page.blocks))
        keeper.beside(visit, page_read)
        return with_counts(SavedVisit(visit.url, state, page_id, mirrors=int(mirrors)), comparison, sighted, template)


def _check_writable(engine: Engine) -> None:
    """Delete nothing: who may not even do that is told so before the crawl."""
    with write_transaction(engine) as connection:
        connection.execute(delete(crawl).where(false()))


def _page_state(comparison: PageComparison) -> PageState:
    return PageState.CHANGED if comparison.changed else PageState.UNCHANGED
