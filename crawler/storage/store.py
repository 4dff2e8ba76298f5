"""Store the visits of crawls, a batch in one transaction: `Store.save` lists its ten steps.

The check for stored duplicates and the insertion of new blocks are one transaction, under locks on everything that the
check can find. So no two crawls store the same text twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import bindparam, delete, false, func, select, update

from cleaning.fingerprint import SCHEMES
from cleaning.terms import count_words
from crawler import schedule
from crawler.storage import crawls, due, pages, queries, reclean, requests
from crawler.storage.addresses import PageAddresses, UnlockedPageError
from crawler.storage.blocks import BlockWriter, VisitedPage, mark_gone, read_earlier
from crawler.storage.boilerplate import MIN_SHARE, BoilerplateBounds, BoilerplateChange, BoilerplateCounter
from crawler.storage.change_log import ChangeLog, PageEvent, PageEventKind, PageEvents
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import RetryingWriter, backend_of, open_engine, write_transaction
from crawler.storage.headlines import HEADLINE_NAMES, NameWriter, record_former
from crawler.storage.locks import block_keys, lock, lock_all, page_fingerprint_keys, page_key
from crawler.storage.near_duplicates import (
    FINGERPRINT_INDEXES,
    DuplicateRules,
    NearDuplicatePages,
    NearDuplicateState,
)
from crawler.storage.pages import REVISIT_KEY, PageAbsence, PageOrigin, PageSource
from crawler.storage.requests import Ack, RequestState
from crawler.storage.schema import check_fingerprint_scheme, keep_settings, prepare_schema
from crawler.storage.search_index import TokenWriter
from crawler.storage.structure import StructureWriter
from crawler.storage.tables import batched, block, crawl, page, section, sighting
from crawler.urls import host_of, site_of, url_key, without_credentials
from crawler.visit import (
    BUSY_OUTCOMES,
    EMPTY_OUTCOMES,
    FEW_WORDS,
    LEFT_ALONE_OUTCOMES,
    MISSING_OUTCOMES,
    PAUSE_OUTCOMES,
    Outcome,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.fingerprint import Weighting
    from crawler.config import Config
    from crawler.discovery.feeds import FeedEntry
    from crawler.page_comparison import EarlierRow, PageComparison
    from crawler.schedule import RevisitBounds
    from crawler.storage.addresses import PlacedPage
    from crawler.storage.backend import CrawlFileLock
    from crawler.storage.blocks import FoundOriginals
    from crawler.storage.crawls import CrawlEnd, JoinedCrawl
    from crawler.storage.due import KnownPage
    from crawler.storage.near_duplicates import NearDuplicateChange
    from crawler.storage.pages import ImportedPage, PageRecord, StoredPage
    from crawler.storage.queries import PageOutcome, StoredItem
    from crawler.storage.reclean import PageToReclean, RecleanedPage, RecleanJob
    from crawler.visit import LeaseToken, ProcessedPage, Visit

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_PROMISE_EVERY_SECONDS = crawls.QUEUELESS_PROMISE_SECONDS / 4


class PageState(StrEnum):
    """The effect of a visit on its page; the stats `store/pages_...` count these words."""

    NONE = "none"
    """The visit has no page, and no page is stored at its address."""
    LOST = "lost"
    """Another process has taken over the request; the visit is not stored."""
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_MODIFIED = "not_modified"
    """The page was not read: its server, or an equal body, says that it is unchanged."""
    MISSED = "missed"
    """The page was not found; later visits look for it at growing intervals."""
    RETIRED = "retired"
    """The page was not found too often, is gone for good, or is withdrawn by its publisher: its blocks are gone."""
    DEFERRED = "deferred"
    """The visit brought nothing; the page keeps its text and gets another next visit."""
    WALLED = "walled"
    """The visit found few words in place of the whole stored text: the page keeps it, as if it was not found."""


@dataclass(frozen=True, slots=True)
class SavedVisit:
    """The result of saving a visit: its candidates are stored + refreshed + exact + near + boilerplate.

    `refreshed` counts rows of earlier visits, `revived` the refreshed rows that had been gone. `exact` and `near` count
    new sightings, `boilerplate` new texts that were boilerplate on the site before, `gone` rows of the last visit that
    the page no longer shows. `not_compared` counts the fingerprints, of blocks and of the page, that were not compared
    with every stored one. `other_method` is the method that cleaned the page before, if it was another one.
    `doubted_canonical` is the address that the page states for itself, if that is not believed. `moved` counts the
    pages at former addresses that have become this one. `near_duplicate_pages` is 1 if the page became a near-duplicate
    of another. `not_due` counts the children that a re-crawl does not follow. `refused` counts the queued requests that
    end because their host refuses for too long. `queued_again` says that the visit's own request is made again later.
    """

    url: str
    state: PageState
    page_id: int | None = None
    stored: int = 0
    refreshed: int = 0
    revived: int = 0
    exact: int = 0
    near: int = 0
    boilerplate: int = 0
    gone: int = 0
    not_compared: int = 0
    other_method: str | None = None
    near_duplicate_pages: int = 0
    doubted_canonical: str | None = None
    moved: int = 0
    not_due: int = 0
    refused: int = 0
    queued_again: bool = False


STATES_OF_STORED_PAGES = frozenset(
    {PageState.CHANGED, PageState.UNCHANGED, PageState.NOT_MODIFIED, PageState.MISSED, PageState.RETIRED}
)
"""The effects of visits to pages that were stored before."""


class PagePresence:
    """How many visits of this process to stored pages have found them, and how many have not, by site."""

    def __init__(self) -> None:
        self._visits = Counter[str]()
        self._missing = Counter[str]()

    def add(self, saved: Iterable[SavedVisit]) -> None:
        """Count the visits of a batch that is stored."""
        for result in saved:
            if result.state in STATES_OF_STORED_PAGES:
                site = site_of(result.url)
                self._visits[site] += 1
                self._missing[site] += result.state in {PageState.MISSED, PageState.RETIRED}

    def is_vanishing(self, site: str, more: int) -> bool:
        """Return True if, with so many `more` pages that are not found, most of a site's are."""
        missing = self._missing[site] + more
        is_known = missing >= schedule.MIN_REVISITS
        return is_known and missing > schedule.MAX_VANISHED_SHARE * (self._visits[site] + more)


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
        self._blocks = BlockWriter(FINGERPRINT_INDEXES[engine.dialect.name](rules.max_distance), rules)
        self._near_duplicates = NearDuplicatePages(engine.dialect.name, rules)

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

        The ten steps of the transaction are numbered in `_save`, `_save_visit`, `_save_page` and `_write_content`.
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
        try:
            saved = self.write(lambda connection: self._save(connection, crawl_id, pairs, everything=False))
        except UnlockedPageError:
            saved = self.write(lambda connection: self._save(connection, crawl_id, pairs, everything=True))
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
        absences = [absence for visit, record in pairs if (absence := _find_absence(visit, record))]
        walled = _find_walled(connection, crawl_id, visits)
        absences += walled
        # 1. Lock everything that the batch looks up or inserts, or the whole database.
        alone = self._lock(connection, absences, self._lock_keys(pairs), everything=everything)
        # 2. Acknowledge the requests that end. If another process has taken one over, its visit is lost.
        lost = _acknowledge_visits(connection, visits, self._policy)
        self._promise_work(connection, crawl_id)
        batch = replace(_Batch.begin(connection), absences=absences, presence=self._presence)
        addresses = self._page_addresses(batch, alone=alone)
        addresses.prefetch([record for _, record in pairs if record is not None])
        lifecycle = PageLifecycle(batch, self._near_duplicates, self._policy, self.origin, addresses, alone=alone)
        lifecycle.prefetch(pairs)
        # One statement inserts the new pages that only one visit touches: no other visit can see them too early.
        sole = pages.sole_records(pairs, lost)
        batch.new_pages.update(pages.add_new_pages(connection, sole, keep_html=self._keep_html))
        saved = [
            SavedVisit(visit.url, PageState.LOST)
            if visit.lease_token in lost
            else self._save_visit(batch, lifecycle, addresses, visit, record)
            for visit, record in pairs
        ]
        # 9. Write search tokens, structures and change log, decide again what is boilerplate, and update the trust in
        # sitemaps.
        batch.write(self._bounds)
        lifecycle.write_sitemap_evidence()
        due.record_empty_visits(connection, _empty_visits(pairs, lost, self._policy))
        for absence in walled:
            lifecycle.record_absence(absence)
        # What gave no page since the last one may have met the wall too.
        due.forget_hidden(connection, {site_of(visit.url) for visit in visits if visit.outcome is Outcome.WALL})
        requests.fail_walled(connection, crawl_id, [answer.asked for visit in visits for answer in visit.walled])
        # 10. Add the requests that the visits lead to, and pause the hosts that refuse.
        kept = [visit for visit in visits if visit.lease_token not in lost]
        not_due = _follow(connection, crawl_id, kept, self._policy)
        refused = _pause_hosts(connection, crawl_id, kept, self._policy)
        return list(_with_requests(saved, visits, not_due, refused, self._policy))

    def _promise_work(self, connection: Connection, crawl_id: int) -> None:
        """Record from time to time that a crawl without a queue still runs; for others, leases record it."""
        if self._next_promise is not None and monotonic() >= self._next_promise:
            crawls.promise_work(connection, crawl_id)
            self._next_promise = monotonic() + _PROMISE_EVERY_SECONDS

    def _save_visit(
        self,
        batch: _Batch,
        lifecycle: PageLifecycle,
        addresses: PageAddresses,
        visit: Visit,
        record: PageRecord | None,
    ) -> SavedVisit:
        if record is None:
            # 3. A visit without a page: update the page and the section at its address.
            return lifecycle.record_visit(visit)
        placed = addresses.move(addresses.place(record), visit.moved_from)
        addresses.note_variant(placed.record)
        if self._policy.is_replay and placed.stored is not None and _is_earlier(visit.at, placed.stored):
            return _without_change(visit, placed.record, placed.stored)
        if (stored := placed.variant_of) is not None:
            saved = lifecycle.see_variant(visit, placed.record, stored)
        else:
            saved = self._save_page(batch, lifecycle, addresses, visit, placed)
        lifecycle.record_other_target(visit, placed.record)
        return replace(saved, doubted_canonical=placed.record.columns["doubted_canonical"], moved=placed.moved)

    def _save_page(
        self, batch: _Batch, lifecycle: PageLifecycle, addresses: PageAddresses, visit: Visit, placed: PlacedPage
    ) -> SavedVisit:
        connection, record = batch.connection, placed.record
        # 4. Find all blocks and sightings of the stored page's earlier visits.
        stored = placed.stored
        renamed: list[str] = []
        earlier = read_earlier(connection, stored.page_id) if stored else []
        # 5. Compare the visit's blocks with them. Nobody has changed a page whose bytes are the same. If it is read in
        # another way now, only a text that it has lost is a change for sure.
        comparison = self._blocks.compare(record.page.blocks, earlier, record.page.cleaned.texts)
        if visit.few_words and stored is not None and _hides(stored, comparison, earlier):
            lifecycle.record_absence(PageAbsence(record.key, stored.url, visit.at, hidden=True))
            return SavedVisit(visit.url, PageState.WALLED, stored.page_id)
        was_active = stored is not None and not stored.retired and stored.site == record.site
        texts = BoilerplateChange.of(record.site, earlier if was_active else None, record.page.blocks)
        same_bytes = stored is not None and stored.has_bytes_of(record)
        is_read_like = stored is None or stored.is_read_like(record)
        if same_bytes or not (is_read_like or comparison.lost_text):
            comparison = replace(comparison, changed=False)
        as_before = 0
        returns = any(kept_block.earlier.gone for kept_block in comparison.kept)
        if same_bytes and is_read_like and was_active and not returns and record.page.cleaned.fits_site is None:
            # At another address of the page the method may decide otherwise: what is stored stays.
            as_before = len(comparison.new)
            comparison = replace(comparison, new=(), missing=())
            texts = replace(texts, gained=frozenset(), lost=frozenset())
        # 6. Insert or update the page.
        if stored is None:
            page_id = batch.new_pages.get(record.key) or pages.add_page(connection, record, keep_html=self._keep_html)
            before = NearDuplicateState(page_id, record.site)
            batch.add_names(page_id, record)
        else:
            page_id = stored.page_id
            if stored.site != record.site:
                addresses.change_site(stored, record.site, earlier)
            before = self._near_duplicates.state(connection, page_id, record.site, stored.fingerprint)
            batch.change_log.touch_page(page_id)
            renamed = batch.update_names(stored, record, same_bytes=same_bytes)
            if placed.was_elsewhere:
                # The page's own text takes the place of a variant's: its publisher has changed nothing.
                comparison, renamed = replace(comparison, changed=False), []
            lifecycle.add_sitemap_evidence(stored, changed=comparison.changed or bool(renamed))
            pages.update_page(connection, stored, record, changed=comparison.changed, keep_html=self._keep_html)
        batch.structures.put(page_id, record.page.structure, replaces=stored is not None and stored.has_structure)
        content = _PageContent(
            VisitedPage(page_id, record.site, visit.at, batch.change_log.sequence),
            comparison,
            before,
            record.page.fingerprint,
            texts,
        )
        state = PageState.NEW if stored is None else _page_state(comparison, renamed=bool(renamed))
        other_method = pages.other_method(stored, record)
        saved = SavedVisit(visit.url, state, page_id, refreshed=as_before, other_method=other_method)
        if (kind := _event_kind(saved, stored)) is not None:
            headline = not HEADLINE_NAMES.isdisjoint(renamed)
            batch.events.add(PageEvent(visit.at, page_id, record.site, kind, headline))
        return self._write_content(batch, content, saved)

    def _write_content(self, batch: _Batch, content: _PageContent, saved: SavedVisit) -> SavedVisit:
        """Write what a page shows; return the result with its counts."""
        connection, visited = batch.connection, content.visited
        # 7. Look up what the new blocks duplicate, and write blocks and sightings.
        originals = self._blocks.write(connection, visited, content.comparison, batch.tokens)
        # 8. Look up what the page as a whole nearly duplicates, and count its texts for the site.
        change = self._near_duplicates.update(connection, content.before, content.fingerprint, visited.visit_time)
        if change.moved:
            batch.change_log.restructure_page(visited.page_id)
        known = batch.boilerplate.boilerplate(visited.site)
        batch.boilerplate.add(content.texts)
        return _with_counts(_with_near_duplicate(saved, change), content.comparison, originals, known)

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
            start = connection.begin_nested()
            batch = _Batch.begin(connection)
            saved = [self._save_recleaned(batch, recleaned_page) for recleaned_page in recleaned]
            batch.write(self._bounds)
            if record_progress is None:
                start.rollback()
            else:
                record_progress(connection)
            return saved

        return self.write(work)

    def _save_recleaned(self, batch: _Batch, recleaned: RecleanedPage) -> SavedVisit:
        """Store the new result of a page's last visit, which was cleaned again; no visit is counted."""
        connection = batch.connection
        stored = pages.find_page(connection, recleaned.page.key)
        if stored is None or stored.retired or stored.body_hash != recleaned.page.body_hash:
            return SavedVisit(recleaned.page.url, PageState.DEFERRED)  # a crawl has visited the page meanwhile
        earlier = read_earlier(connection, stored.page_id)
        before = self._near_duplicates.state(connection, stored.page_id, stored.site, stored.fingerprint)
        comparison = self._blocks.compare(recleaned.blocks, earlier)
        batch.change_log.touch_page(stored.page_id)
        reclean.update_recleaned_page(connection, stored, recleaned)
        batch.structures.put(stored.page_id, recleaned.structure, replaces=stored.has_structure)
        content = _PageContent(
            VisitedPage(stored.page_id, stored.site, stored.history.last_seen, batch.change_log.sequence),
            comparison,
            before,
            recleaned.fingerprint,
            BoilerplateChange.of(stored.site, earlier, recleaned.blocks),
        )
        return self._write_content(batch, content, SavedVisit(stored.url, _page_state(comparison), stored.page_id))

    def end_reclean(self, job: RecleanJob) -> None:
        """Record that a job is complete: the next run of the same job starts from the first page."""

        def work(connection: Connection) -> None:
            lock_all(connection)
            if self._rules.beyond_page:
                reclean.update_near_duplicates(connection, self._near_duplicates)
            reclean.update_recleaned_sections(connection, job)
            reclean.end_reclean(connection, job)

        self.write(work)

    def record_absences(self, absences: Sequence[PageAbsence]) -> list[SavedVisit]:
        """Record pages whose requests were redirected elsewhere; return the result of each, in order."""
        try:
            saved = self.write(lambda connection: self._record_absences(connection, absences, everything=False))
        except UnlockedPageError:
            saved = self.write(lambda connection: self._record_absences(connection, absences, everything=True))
        self._presence.add(saved)
        return saved

    def _record_absences(
        self, connection: Connection, absences: Sequence[PageAbsence], *, everything: bool
    ) -> list[SavedVisit]:
        targets = (url_key(absence.moved_to) for absence in absences if absence.moved_to is not None)
        keys = [page_key(key) for key in (*(absence.key for absence in absences), *targets)]
        alone = self._lock(connection, absences, keys, everything=everything)
        batch = replace(_Batch.begin(connection), absences=absences, presence=self._presence)
        addresses = self._page_addresses(batch, alone=alone)
        lifecycle = PageLifecycle(batch, self._near_duplicates, self._policy, self.origin, addresses, alone=alone)
        saved = [
            SavedVisit(absence.url, PageState.NONE, moved=1)
            if addresses.move_absent(absence)
            else lifecycle.record_absence(absence)
            for absence in absences
        ]
        batch.write(self._bounds)
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
        url = _requested_url(visit)
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

    def _page_addresses(self, batch: _Batch, *, alone: bool) -> PageAddresses:
        return PageAddresses(
            batch.connection,
            batch.change_log,
            batch.events,
            batch.boilerplate,
            batch.structures,
            self._near_duplicates,
            batch.new_pages,
            batch.names,
            batch.tokens,
            alone=alone or self.engine.dialect.name == "sqlite",  # where one transaction writes at a time
        )

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


@dataclass(frozen=True, slots=True)
class _PageContent:
    """The texts of a page, compared with its earlier visits; `before` is its state as a near-duplicate."""

    visited: VisitedPage
    comparison: PageComparison
    before: NearDuplicateState
    fingerprint: int | None
    texts: BoilerplateChange


@dataclass(frozen=True, slots=True)
class _Batch:
    """A transaction, with what its visits change beyond their own pages."""

    connection: Connection
    change_log: ChangeLog
    events: PageEvents
    boilerplate: BoilerplateCounter
    tokens: TokenWriter
    structures: StructureWriter
    names: NameWriter
    absences: Sequence[PageAbsence] = ()
    presence: PagePresence = field(default_factory=PagePresence)
    new_pages: dict[str, int] = field(default_factory=dict)
    """The ids, by key, of pages that are inserted already but not saved yet."""

    @classmethod
    def begin(cls, connection: Connection) -> _Batch:
        return cls(
            connection,
            ChangeLog(connection),
            PageEvents(connection),
            BoilerplateCounter(connection),
            TokenWriter(connection),
            StructureWriter(connection),
            NameWriter(connection),
        )

    def add_names(self, page_id: int, record: PageRecord) -> None:
        """Record a new page and its names."""
        self.change_log.add_page(page_id)
        if self.new_pages.pop(record.key, None) is None:
            self.names.write_now(page_id, record.names)
        else:
            self.names.put(page_id, record.names)
        self.tokens.put_title(page_id, record.title_texts, replaces=False)

    def update_names(self, stored: StoredPage, record: PageRecord, *, same_bytes: bool) -> list[str]:
        """Record the names of a stored page; return which of them, of author and date its publisher has changed.

        The re-crawl schedule does not count such changes: the text is the same. Empty if they change at most visits,
        and for the `same_bytes`: then a feed or listing names the page in another way than the one before.
        """
        page_id, before, now = stored.page_id, stored.metadata, record.metadata
        if stored.description != record.description:
            self.change_log.describe_page(page_id)
        if before.names != now.names or before.columns["title"] != now.columns["title"]:
            self.names.write_now(page_id, record.names)
            self.tokens.put_title(page_id, record.title_texts, replaces=True)
            self.change_log.restructure_page(page_id)
        differences = list(before.differences(now))
        if same_bytes or not differences:
            return []
        visits = stored.earlier_visits
        counts = record_former(self.connection, page_id, before, differences, visits, record.visit_time)
        return differences if counts else []

    def write(self, bounds: BoilerplateBounds) -> None:
        """Write, after all pages, names, search tokens, structures, change log and the decisions about boilerplate."""
        self.names.write()
        self.tokens.write()
        self.structures.write(self.change_log)
        self.events.write(self.change_log)
        self.change_log.write()
        self.boilerplate.write(bounds, self.change_log, datetime.now(UTC))


def _check_writable(engine: Engine) -> None:
    """Run a DELETE that deletes nothing, so that a read-only database fails before the crawl starts."""
    with write_transaction(engine) as connection:
        connection.execute(delete(crawl).where(false()))


def _page_state(comparison: PageComparison, *, renamed: bool = False) -> PageState:
    return PageState.CHANGED if comparison.changed or renamed else PageState.UNCHANGED


def _is_earlier(captured: datetime, stored: StoredPage) -> bool:
    """Return True for a capture from before the last visit of a page, or before the page was gone."""
    last_seen = stored.history.last_seen
    return captured <= last_seen if stored.retired else captured < last_seen


def _without_change(visit: Visit, record: PageRecord, stored: StoredPage) -> SavedVisit:
    """Return the result of a visit whose page is not written."""
    return SavedVisit(visit.url, PageState.UNCHANGED, stored.page_id, refreshed=len(record.page.blocks))


def _event_kind(saved: SavedVisit, stored: StoredPage | None) -> PageEventKind | None:
    """Return what its publisher has done to a page; None for nothing, or if another method has read it."""
    if stored is None:
        return PageEventKind.NEW
    if stored.retired:
        return PageEventKind.RETURNED
    is_changed = saved.state is PageState.CHANGED and saved.other_method is None
    return PageEventKind.CHANGED if is_changed else None


def _with_near_duplicate(saved: SavedVisit, change: NearDuplicateChange) -> SavedVisit:
    return replace(saved, near_duplicate_pages=int(change.became), not_compared=change.not_compared)


def _with_counts(
    saved: SavedVisit, comparison: PageComparison, originals: FoundOriginals, boilerplate: frozenset[int]
) -> SavedVisit:
    """Return a result with the counts of a page's candidates; `boilerplate` are the digests known before."""
    dropped = sum(candidate.digest in boilerplate for candidate in comparison.new)
    new_sightings = [
        new_sighting for new_sighting in originals.sightings if new_sighting.candidate.digest not in boilerplate
    ]
    exact = sum(new_sighting.exact for new_sighting in new_sightings)
    return replace(
        saved,
        stored=len(comparison.new) - dropped - len(new_sightings),
        refreshed=saved.refreshed + len(comparison.kept),
        revived=sum(kept_block.earlier.gone for kept_block in comparison.kept),
        exact=exact,
        near=len(new_sightings) - exact,
        boilerplate=dropped,
        gone=len(comparison.missing),
        not_compared=saved.not_compared + originals.not_compared,
    )


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
        queued_again = bool(visit.lease_token) and visit.ends_request and not _is_last_visit(visit, policy)
        yield replace(result, not_due=len(mine), refused=count, queued_again=queued_again)


# Another day may bring another answer: `scrapy retry --failed` requests these again.
_BEHIND_OTHERS_SECONDS = 5.0
_ANSWERS = frozenset({Outcome.PAGE, Outcome.SECTION, Outcome.NOT_MODIFIED})
_FAILED_OUTCOMES = frozenset(
    {
        Outcome.ADDRESS,
        Outcome.FORBIDDEN,
        Outcome.HTTP_ERROR,
        Outcome.DOWNLOAD_FAILED,
        Outcome.REDIRECT_LOOP,
        Outcome.CLEANING_FAILED,
        Outcome.CLEANING_TIMEOUT,
        Outcome.PIPELINE_FAILED,
        Outcome.WALL,
        *PAUSE_OUTCOMES,
    }
)


def _acknowledge_visits(connection: Connection, visits: Sequence[Visit], policy: CrawlPolicy) -> set[LeaseToken]:
    """Acknowledge the requests that these visits end; return the tokens of the leases that are lost."""
    ended = [visit for visit in visits if visit.lease_token and visit.ends_request]
    if not ended:
        return set()
    now = requests.database_now(connection)
    acks = [_ack(visit, visit.lease_token, policy, now) for visit in ended if visit.lease_token]
    confirmed = requests.acknowledge_requests(connection, acks, now)
    return {ack.lease_token for ack in acks if ack.lease_token.request_id not in confirmed}


def _ack(visit: Visit, lease_token: LeaseToken, policy: CrawlPolicy, now: datetime) -> Ack:
    state = _request_state(visit, policy)
    error = None if state is RequestState.DONE else visit.error
    not_before = None
    if state is RequestState.QUEUED and visit.outcome in BUSY_OUTCOMES:
        pause_seconds = (visit.retry_after_seconds or policy.pause_seconds) * 2**visit.attempts
        # The host may answer other pages by then: one broken page must not be the only one that is ever requested.
        not_before = now + timedelta(seconds=min(pause_seconds, policy.max_pause_seconds) + _BEHIND_OTHERS_SECONDS)
    return Ack(lease_token, state, visit.outcome, error, not_before)


def _request_state(visit: Visit, policy: CrawlPolicy) -> RequestState:
    repeats = visit.outcome in {Outcome.CALLBACK_FAILED, *BUSY_OUTCOMES} or bool(visit.pause_evidence)
    if repeats and visit.retry_after_seconds <= policy.max_pause_seconds:
        return RequestState.QUEUED if visit.attempts + 1 < policy.max_attempts else RequestState.FAILED
    return RequestState.FAILED if repeats or visit.outcome in _FAILED_OUTCOMES else RequestState.DONE


def _is_last_visit(visit: Visit, policy: CrawlPolicy) -> bool:
    """Return True if no further visit of the same request follows."""
    return visit.ends_request and _request_state(visit, policy) is not RequestState.QUEUED


def _follow(connection: Connection, crawl_id: int, visits: Sequence[Visit], policy: CrawlPolicy) -> frozenset[str]:
    """Add the visits' children, and return the keys of those that are not due."""
    if not any(visit.lease_token for visit in visits):
        return frozenset()
    children = [record for visit in visits for record in visit.requests]
    now = requests.database_now(connection)
    not_due: frozenset[str] = frozenset()
    if policy.is_recrawl:
        not_due = pages.keys_not_due(connection, children, now, policy.revisits)
    added = requests.add_due_requests(connection, crawl_id, children, not_due, now)
    pages.record_lastmods(connection, children, now)
    return added.not_due


def _pause_hosts(connection: Connection, crawl_id: int, visits: Sequence[Visit], policy: CrawlPolicy) -> dict[str, int]:
    """Pause the hosts that refuse; return, by host, how many queued requests end because it refuses for too long."""
    leased = [visit for visit in visits if visit.lease_token]
    pausing = sorted((visit for visit in leased if visit.pause_evidence), key=lambda visit: visit.retry_after_seconds)
    refusing = {host_of(visit.url): visit for visit in pausing}  # the longest pause of each
    refused = {name: _pause_host(connection, crawl_id, name, visit, policy) for name, visit in sorted(refusing.items())}
    answering = {host_of(visit.url) for visit in leased if visit.outcome in _ANSWERS}
    requests.reset_refusals(connection, answering - refusing.keys())
    return refused


def _pause_host(connection: Connection, crawl_id: int, name: str, visit: Visit, policy: CrawlPolicy) -> int:
    now = requests.database_now(connection)
    requests.pause_host(
        connection,
        name,
        now,
        visit.outcome,
        first_seconds=policy.pause_seconds,
        max_seconds=policy.max_pause_seconds,
        evidence=visit.pause_evidence or "",
        retry_after_seconds=visit.retry_after_seconds,
    )
    if (reason := _reason_to_give_up(connection, name, visit, policy)) is None:
        # Those that failed before there was evidence against the host.
        requests.requeue_refused(connection, crawl_id, name, PAUSE_OUTCOMES, policy.max_attempts)
        return 0
    requests.give_up_host(connection, name, policy.max_attempts)
    ends = requests.RefusedRequests(visit.outcome, f"not requested: {reason}", now)
    logger.warning(
        "%s: its other requests are not made and count as %s; `scrapy retry --failed` queues them again",
        reason,
        visit.outcome,
    )
    return requests.refuse_queued(connection, crawl_id, name, ends)


def _reason_to_give_up(connection: Connection, name: str, visit: Visit, policy: CrawlPolicy) -> str | None:
    """Return why a crawl stops waiting for a host that refuses; None if it still waits."""
    if visit.retry_after_seconds > policy.max_pause_seconds:
        return (
            f"{name} asks for a pause of {visit.retry_after_seconds:.0f} seconds (Retry-After), more than "
            f"HOST_PAUSE_MAX_SECONDS={policy.max_pause_seconds:.0f}"
        )
    if visit.outcome not in BUSY_OUTCOMES or not (visit.retry_after_seconds or policy.pause_seconds):
        return None
    refusals = requests.count_refusals(connection, name)
    # One more refusal than a page has attempts: then it is not one page alone.
    if refusals <= policy.max_attempts:
        return None
    return (
        f"{name} has refused after {refusals - 1} pauses in a row, more than "
        f"FRONTIER_MAX_ATTEMPTS={policy.max_attempts}"
    )


_STATUS_GONE = 410
# A publisher may replace an article by a note: what a page shows at its third visit in a row is believed.
_WALLED_VISITS_MAX = 2
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


def _empty_visits(
    pairs: Sequence[tuple[Visit, PageRecord | None]], lost: Collection[LeaseToken], policy: CrawlPolicy
) -> Iterator[due.EmptyVisit]:
    """Yield the visits of a batch that brought neither a page nor links."""
    for visit, record in pairs:
        is_empty = record is None and not visit.children and visit.outcome in EMPTY_OUTCOMES
        if is_empty and visit.lease_token not in lost and _is_last_visit(visit, policy):
            yield due.EmptyVisit(url_key(_requested_url(visit)), visit.outcome, visit.at)


def _find_absence(visit: Visit, record: PageRecord | None) -> PageAbsence | None:
    """Return the page or section that a visit was for and did not find, or must leave alone; None otherwise.

    If a re-visit finds a page with another key, the page that it was for is absent.
    """
    key = pages.visit_key(visit, record)
    elsewhere = record is not None and record.key != key and visit.parts == 1
    withdrawn = visit.outcome in LEFT_ALONE_OUTCOMES
    if not (elsewhere or withdrawn or visit.outcome in MISSING_OUTCOMES):
        return None
    for_good = withdrawn or visit.status == _STATUS_GONE
    return PageAbsence(key, _requested_url(visit), visit.at, for_good=for_good, withdrawn=withdrawn)


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


def _hides(stored: StoredPage, comparison: PageComparison, earlier: Sequence[EarlierRow]) -> bool:
    """Return True if few words stand in place of all that a page had, for the first or second time in a row."""
    had = sum(count_words(row.text) for row in earlier if not row.gone)
    is_lost = not (stored.retired or comparison.kept) and had > FEW_WORDS
    return is_lost and stored.history.misses < _WALLED_VISITS_MAX


def _may_retire(connection: Connection, absences: Sequence[PageAbsence], bounds: RevisitBounds) -> bool:
    """Return True if one of the absences may retire its page; retiring needs the locks of all pages."""
    if not absences:
        return False
    keys = {absence.key: absence.for_good for absence in absences}
    active = select(page.c.url_key, page.c.misses).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    rows = connection.execute(active)
    return any(keys[row.url_key] or row.misses + 1 >= bounds.most_misses for row in rows)


class PageLifecycle:
    """Updates stored pages and sections whose visits brought no page.

    An unchanged page is seen again with all its blocks. A page that is not found counts a miss; after too many in a
    row, or at once if its server says that it is gone for good (410), it is retired. A retired page counts for
    nothing: its blocks are gone, it is neither a near-duplicate nor an original, and each of its texts counts on one
    page less of the site. A page that its publisher has withdrawn is retired at once too, and its HTML is deleted.

    `alone` says that nobody else writes meanwhile. Only then are pages retired; otherwise at their next miss. Where
    most pages of a site are not found at once, none is retired: the site is broken, or refuses, and the condition
    `vanished` tells a person.
    """

    def __init__(
        self,
        batch: _Batch,
        near_duplicates: NearDuplicatePages,
        policy: CrawlPolicy,
        origin: PageOrigin | None,
        addresses: PageAddresses,
        *,
        alone: bool,
    ) -> None:
        self._missing: dict[str, int] = {}
        self._batch = batch
        self._connection = batch.connection
        self._near_duplicates = near_duplicates
        self._policy = policy
        self._origin = origin
        self._addresses = addresses
        self._alone = alone
        self._evidence: list[pages.SitemapEvidence] = []
        self._unknown: frozenset[str] = frozenset()

    def prefetch(self, pairs: Sequence[tuple[Visit, PageRecord | None]]) -> None:
        """Find, in one query, the visits without a page at addresses where nothing is stored: most of a crawl's."""
        empty = {pages.visit_key(visit, None) for visit, record in pairs if record is None and not visit.requests}
        known = {pages.visit_key(visit, record) for visit, record in pairs if visit.requests}
        known.update(record.key for _, record in pairs if record is not None)
        if empty:
            known.update(self._connection.scalars(_STORED_KEYS, {"keys": list(empty)}))
        self._unknown = frozenset(empty - known)

    def add_sitemap_evidence(self, stored: StoredPage, *, changed: bool) -> None:
        """Collect what a visit shows about the sitemap of its host."""
        if (evidence := pages.sitemap_evidence(stored, changed=changed)) is not None:
            self._evidence.append(evidence)

    def write_sitemap_evidence(self) -> None:
        """Update the trust in sitemaps, after the last visit."""
        pages.record_sitemap_evidence(self._connection, self._evidence)

    def record_visit(self, visit: Visit) -> SavedVisit:
        """Record a visit without a page: update the page and the section at its address."""
        nothing = SavedVisit(visit.url, PageState.NONE)
        key = pages.visit_key(visit, None)
        if key in self._unknown or not _is_last_visit(visit, self._policy):
            return nothing
        if (absence := _find_absence(visit, None)) is not None:
            return self.record_absence(absence)
        self._record_section(visit, key)
        stored = pages.find_page(self._connection, key)
        if stored is None or stored.url != _requested_url(visit):
            return nothing
        if visit.outcome is Outcome.NOT_MODIFIED and not stored.retired:
            self.add_sitemap_evidence(stored, changed=False)
            new = {"etag": visit.etag, "last_modified": visit.last_modified}
            values = {name: value for name, value in new.items() if value is not None}
            self._see_again(visit, stored, values | {"lastmod": None})
            return SavedVisit(visit.url, PageState.NOT_MODIFIED, stored.page_id)
        self._update(stored, self._next_visit(stored, stored.history, visit.at))
        return SavedVisit(visit.url, PageState.DEFERRED, stored.page_id)

    def record_other_target(self, visit: Visit, record: PageRecord) -> None:
        """Record what a re-visit says of its page or section if it found another page."""
        if pages.visit_key(visit, record) == record.columns["doubted_canonical"]:
            return  # the page was stored there, and has moved to its own address
        if (absence := _find_absence(visit, record)) is not None:
            self.record_absence(absence)
        elif visit.request is not None and REVISIT_KEY in visit.request.meta:
            pages.defer_section(self._connection, record.key, visit.at, self._policy.revisits)

    def record_absence(self, absence: PageAbsence) -> SavedVisit:
        """Record that a page, or a section, was not found."""
        bounds = self._policy.revisits
        if absence.withdrawn:
            pages.defer_section(self._connection, absence.key, absence.visit_time, bounds)
        else:
            pages.record_section_absence(
                self._connection, absence.key, absence.visit_time, bounds, for_good=absence.for_good
            )
        stored = pages.find_page(self._connection, absence.key)
        if stored is None or stored.url != absence.url:
            return SavedVisit(absence.url, PageState.NONE)
        if self._policy.is_replay and _is_earlier(absence.visit_time, stored):
            return SavedVisit(absence.url, PageState.DEFERRED, stored.page_id)
        counts = absence.for_good or pages.counts_miss(stored.history.misses, stored.next_visit, absence.visit_time)
        if not (counts or stored.retired):
            return SavedVisit(absence.url, PageState.MISSED, stored.page_id)
        history = stored.history.missed()
        values = self._next_visit(stored, history, absence.visit_time) | {"misses": history.misses}
        is_gone = absence.for_good or (not absence.hidden and schedule.is_gone(history, bounds))
        retires = self._alone and not stored.retired and is_gone
        if retires and not absence.withdrawn and self._is_vanishing(stored.site):
            retires = False
        gone = self._retire(stored, absence.visit_time) if retires else 0
        if retires:
            values |= {"retired_at": absence.visit_time, "page_fingerprint": None}
            event = PageEvent(absence.visit_time, stored.page_id, stored.site, PageEventKind.RETIRED)
            self._batch.events.add(event)
        if absence.withdrawn:
            values["html"] = None
        self._update(stored, values)
        state = PageState.RETIRED if retires else PageState.MISSED
        return SavedVisit(absence.url, state, stored.page_id, gone=gone)

    def _is_vanishing(self, site: str) -> bool:
        """Return True if most pages of a site are not found at once: then none of them is retired."""
        if site not in self._missing:
            in_site = select(func.count()).where(page.c.site == site)
            parts = batched(sorted({absence.key for absence in self._batch.absences if not absence.withdrawn}))
            numbers = [self._connection.scalar(in_site.where(page.c.url_key.in_(part))) or 0 for part in parts]
            self._missing[site] = sum(numbers)
        return self._batch.presence.is_vanishing(site, self._missing[site])

    def _record_section(self, visit: Visit, key: str) -> None:
        bounds = self._policy.revisits
        if visit.outcome is Outcome.SECTION and visit.request is not None and self._origin is not None:
            self._addresses.move_section(visit.moved_from, key)
            pages.record_section(self._connection, visit, visit.request, self._origin, bounds)
            if visit.requests:
                self._addresses.add_section(key)
        else:
            pages.defer_section(self._connection, key, visit.at, bounds)

    def see_variant(self, visit: Visit, record: PageRecord, stored: StoredPage) -> SavedVisit:
        """Record that a page was seen at another address than it was read at, with a text that agrees."""
        self._see_again(visit, stored, {})
        return _without_change(visit, record, stored)

    def _see_again(self, visit: Visit, stored: StoredPage, values: Mapping[str, Any]) -> None:
        history = stored.history.visited(visit.at, changed=False)
        seen = {"last_seen": visit.at, "visits": history.visits, "misses": 0}
        self._update(stored, {**values, **seen, **self._next_visit(stored, history, visit.at)})
        for statement in _REFRESH_LAST_SEEN:
            self._connection.execute(statement, {"page": stored.page_id, "at": visit.at})

    def _retire(self, stored: StoredPage, visit_time: datetime) -> int:
        """Remove a page from all counts and comparisons; return how many blocks and sightings are gone."""
        change_log = self._batch.change_log
        live = [row for row in read_earlier(self._connection, stored.page_id) if not row.gone]
        mark_gone(self._connection, VisitedPage(stored.page_id, stored.site, visit_time, change_log.sequence), live)
        change_log.touch_page(stored.page_id)
        self._batch.structures.put(stored.page_id, None, replaces=stored.has_structure)
        for near_id in self._near_duplicates.remove(
            self._connection, select(page.c.id).where(page.c.id == stored.page_id)
        ):
            change_log.restructure_page(near_id)
        self._batch.boilerplate.add(BoilerplateChange.of_retired(stored.site, live))
        return len(live)

    def _next_visit(self, stored: StoredPage, history: schedule.VisitHistory, visit_time: datetime) -> dict[str, Any]:
        """Return when to visit a page again; {} for a page without an origin, which no crawl can visit again."""
        return (
            {"next_visit": schedule.next_visit(history, visit_time, self._policy.revisits)} if stored.has_origin else {}
        )

    def _update(self, stored: StoredPage, values: dict[str, Any]) -> None:
        if values:
            self._connection.execute(update(page).where(page.c.id == stored.page_id).values(values))


def _requested_url(visit: Visit) -> str:
    return without_credentials(visit.url if visit.request is None else visit.request.url)
