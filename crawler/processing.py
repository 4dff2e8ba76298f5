"""The three steps of a page: clean it, fingerprint it, store it.

Each step takes a visit and returns it with the next value of its page (see `crawler/visit.py`). Scrapy's item pipelines
(`pipelines/`) and the middleware for host projects (`crawler/cleaning_middleware.py`) run these steps. `scrapy reclean`
(`crawler/reclean.py`) runs the same cleaning, fingerprinting and storing on stored pages.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

from scrapy.utils.asyncio import AsyncioLoopingCall

from cleaning import METHODS, Options, PageError, ParseWarning, clean
from cleaning.blocks import kept_decisions
from cleaning.clean import TreeSource
from cleaning.metadata.languages import is_language_model_loaded, load_language_model
from crawler.config import FRESH, Config, given_arguments
from crawler.config.profiles import PROFILES
from crawler.context import context_of
from crawler.errors import SetupError, StoreError, TimeLimitError, WorkerTimeoutError
from crawler.fetching.response_filter import EMPTY_PAGE
from crawler.health.alerts import HealthStep
from crawler.health.conditions import FAILING_CONDITIONS
from crawler.monitoring.exit_status import (
    CANONICAL_STAT,
    CRAWL_ID_STAT,
    MOVED_STAT,
    QUEUED_AGAIN_STAT,
    SITE_PROBLEMS_STAT,
    FinishReason,
    find_imbalances,
    stored_counters,
)
from crawler.redact import redact_text
from crawler.storage.boilerplate import read_template
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import WAITED, location_of_url
from crawler.storage.store import PageState, Store
from crawler.time_limit import time_limit
from crawler.urls import site_of
from crawler.visit import (
    OUTCOME_BY_FAULT,
    CleanedPage,
    FetchedPage,
    Outcome,
    PageStructure,
    ProcessedPage,
    UnparsedPage,
    Visit,
    kept_positions,
)
from crawler.workers.pool import WorkerPool
from crawler.workers.tasks import CleanTask, PageToClean, check_models, load_stemmer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from cleaning import CleanPage, Page
    from cleaning.page_fingerprint import Fingerprinter, PageFingerprint
    from crawler.storage.boilerplate import SiteTemplate
    from crawler.storage.crawls import JoinedCrawl
    from crawler.storage.pages import PageAbsence
    from crawler.storage.queries import StoredItem
    from crawler.storage.store import SavedVisit
    from crawler.visit import LeaseToken
    from crawler.workers.tasks import SentPage

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

_TRUE_WORDS = frozenset({"1", "true", "yes", "on"})


class CleanStep:
    """First step: clean the page of a visit, in this process or in the workers of a pool.

    A pool cleans several pages at once, so visits leave this step in the order in which their pages are done. A page
    whose tree was not parsed from its bytes is always cleaned in this process.
    """

    def __init__(
        self, crawler: Crawler, method: str, options: Mapping[str, Any], pool: WorkerPool[SentPage] | None = None
    ) -> None:
        assert crawler.stats
        self._templates = context_of(crawler).templates = SiteTemplates(crawler)
        self._stats = crawler.stats
        self._closer = _SpiderCloser(crawler)
        self._method = method
        self._options = options
        self._pool = pool
        config = Config.read(crawler.settings)
        self._seconds = config.cleaning_seconds
        self._wants_structure = config.structure
        # A profile cleans all pages in one way.
        self._one_method = config.profile in PROFILES

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Load the models or start the workers. Raises SetupError."""
        config = Config.read(crawler.settings)
        method, options = config.cleaning_method, config.cleaning_options
        if not config.cleaning_processes:
            check_models()
            return cls(crawler, method, options)
        assert crawler.stats
        task = CleanTask(method, dict(options), config.fingerprinter, config.cleaning_seconds)
        return cls(crawler, method, options, WorkerPool.start(config.cleaning_processes, task, crawler.stats))

    async def clean(self, visit: Visit) -> Visit:
        """Return the visit with its page cleaned; a visit without a page is returned as it is.

        If cleaning fails the visit has another outcome and no page, and the stats are corrected. A page that was
        cleaned is not counted yet: see `count`.
        """
        if not isinstance(visit.page, FetchedPage):
            return visit
        try:
            page = await self._clean(visit.page)
        except PageError as error:
            return self._fail(visit, OUTCOME_BY_FAULT[error.cause], str(error))
        except (TimeLimitError, WorkerTimeoutError) as error:
            logger.error("Cleaning %s was stopped: %s", visit.url, error)  # noqa: TRY400 — a traceback adds nothing
            return self._fail(visit, Outcome.CLEANING_TIMEOUT, str(error))
        except SetupError as error:
            logger.error("%s was not cleaned, and the crawl ends: %s", visit.url, error)  # noqa: TRY400 — as above
            self._closer.close(FinishReason.WORKERS_FAILED)
            return self._fail(visit, Outcome.CLEANING_FAILED, str(error))
        except Exception as error:
            # A page that breaks cleaning must not end the crawl.
            logger.exception("Cleaning failed on %s", visit.url)
            return self._fail(visit, Outcome.CLEANING_FAILED, repr(error))
        return self._with_page(visit, page)

    def _with_page(self, visit: Visit, page: CleanedPage) -> Visit:
        """Return the visit with its cleaned page; without it if a worker was the first to parse it, and it is empty."""
        if isinstance(page.fetched.source, UnparsedPage) and ParseWarning.EMPTY in page.cleaned.parse_warnings:
            return self._fail(visit, Outcome.EMPTY, EMPTY_PAGE)
        metadata = page.fetched.stated.filled_from(page.cleaned.metadata)
        return replace(visit, page=replace(page, cleaned=replace(page.cleaned, metadata=metadata)))

    def count(self, visit: Visit) -> None:
        """Count a cleaned page and its blocks, those kept and those dropped for each reason."""
        if not isinstance(visit.page, CleanedPage):
            return
        cleaned = visit.page.cleaned
        self._stats.inc_value("clean/pages")
        self._stats.inc_value("blocks/seen", len(cleaned.decisions))
        for reason, count in cleaned.counts().items():
            self._stats.inc_value(f"blocks/{reason}", count)
        for warning in cleaned.parse_warnings:
            self._stats.inc_value(f"page/{warning}")

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.close()

    async def _clean(self, page: FetchedPage) -> CleanedPage:
        page_to_clean = replace(page, method=None) if self._one_method else page
        method = page_to_clean.method or self._method
        template = None
        if METHODS[method].needs == "template":
            template = await self._templates.of(site_of(page.url), method)
        for_worker = None
        if self._pool is not None:
            for_worker = PageToClean.from_fetched(page_to_clean, template, structure=self._wants_structure)
        if self._pool is None or for_worker is None:
            return self._clean_here(page, replace(page.tree, template=template), method)
        sent = await self._pool.run(for_worker)
        # Whoever asks for the page's structure here gets it from the worker's nodes.
        cleaned = replace(sent.cleaned, source=sent.structure)
        return CleanedPage(page, cleaned, sent.fingerprinted, sent.structure)

    def _clean_here(self, page: FetchedPage, tree: Page, method: str) -> CleanedPage:
        """Return the cleaned page. Raises TimeLimitError, and PageError as `clean` does."""
        was_loaded = is_language_model_loaded()
        try:
            with time_limit(self._seconds):
                return self._clean_tree(page, tree, method)
        except TimeLimitError:
            if was_loaded:
                raise
        # Loading the model may have taken the time. It is not the page's fault.
        load_language_model()
        with time_limit(self._seconds):
            return self._clean_tree(page, tree, method)

    def _clean_tree(self, page: FetchedPage, tree: Page, method: str) -> CleanedPage:
        cleaned = clean(tree, method=method, **self._options)
        return CleanedPage(page, cleaned, structure=PageStructure.of(cleaned) if self._wants_structure else None)

    def _fail(self, visit: Visit, outcome: Outcome, error: str) -> Visit:
        """Return the visit without its page. It was counted as a page, unless its callback failed after the page."""
        if visit.outcome is not Outcome.PAGE:
            return replace(visit, page=None)
        self._stats.inc_value(f"visit/{Outcome.PAGE}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        return replace(visit, outcome=outcome, error=error, page=None)


class SiteTemplates:
    """The templates by which a crawl cleans pages. Each is read from the database at the first page of its site.

    `used` has the time at which each was learned, by site and method; None for a site without one. At the end of the
    crawl `crawler.reclean.TemplateExtension` learns the missing ones.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._known: dict[str, SiteTemplate | None] = {}
        self.used: dict[tuple[str, str], datetime | None] = {}

    async def of(self, site: str, method: str) -> frozenset[int]:
        """Return the template of a site for a page that the method cleans; an empty one if none is learned yet.

        A database error ends the crawl, as it does when writing.
        """
        if site not in self._known:
            # Several pages may wait for it; all use the one that is read first.
            self._known.setdefault(site, await self._read(site))
        known = self._known[site]
        self.used[site, method] = None if known is None else known.learned
        return frozenset() if known is None else known.patterns

    async def _read(self, site: str) -> SiteTemplate | None:
        thread: StoreThread | None = context_of(self._crawler).store_thread
        if thread is None or thread.failed:
            return None  # nothing is stored
        try:
            return await thread.run(partial(thread.store.read, partial(read_template, site=site)))
        except StoreError as error:
            thread.fail(error)
            return None


class FingerprintStep:
    """Second step: fingerprint the kept blocks of a page and compare them with one another.

    They are compared with stored blocks by the next step, in the transaction that inserts them: apart from it, two
    crawls could both find no duplicate and both insert. A cleaning process fingerprints the page that it cleans; its
    result counts unless another component has changed the decisions since.
    """

    def __init__(self, fingerprinter: Fingerprinter, options: Mapping[str, Any]) -> None:
        self._fingerprinter = fingerprinter
        self._options = options

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        load_stemmer()
        config = Config.read(crawler.settings)
        return cls(config.fingerprinter, config.cleaning_options)

    def fingerprint(self, visit: Visit) -> Visit:
        """Return the visit with its page ready to be stored; a visit without a cleaned page is returned as it is."""
        page = visit.page
        if not isinstance(page, CleanedPage):
            return visit
        page_fingerprint = page.fingerprinted
        if page_fingerprint is None or not _is_of(page_fingerprint, page.cleaned):
            page_fingerprint = self._fingerprinter.fingerprint(page.cleaned.decisions)
        structure = self._structure(page)
        return replace(
            visit,
            page=ProcessedPage(
                page.fetched, page.cleaned, page_fingerprint.blocks, page_fingerprint.fingerprint, structure
            ),
        )

    def _structure(self, page: CleanedPage) -> PageStructure | None:
        """Return the structure of a page, read again if another component has changed the decisions since."""
        structure, cleaned = page.structure, page.cleaned
        if structure is None or structure.kept == kept_positions(cleaned):
            return structure
        method, options = METHODS[cleaned.method], Options.read(dict(self._options))
        source = TreeSource(page.fetched.tree, method, options) if cleaned.source is structure else cleaned.source
        return PageStructure.of(replace(cleaned, source=source, known_structure=None))


def _is_of(fingerprinted: PageFingerprint, cleaned: CleanPage) -> bool:
    """Return True if these are the keys of exactly the kept blocks of a page."""
    kept = kept_decisions(cleaned.decisions)
    return len(kept) == len(fingerprinted.blocks) and all(
        decision is fingerprinted_block.decision
        for decision, fingerprinted_block in zip(kept, fingerprinted.blocks, strict=True)
    )


_COUNT_BY_STAT = {
    "store/blocks_new": "stored",
    "store/blocks_refreshed": "refreshed",
    "store/blocks_revived": "revived",
    "store/blocks_gone": "gone",
    "dedup/exact": "exact",
    "dedup/near": "near",
    "dedup/boilerplate": "boilerplate",
    "dedup/not_compared": "not_compared",
    "store/near_duplicate_pages": "near_duplicate_pages",
    "recrawl/not_due": "not_due",
    MOVED_STAT: "moved",
}
"""The field of a SavedVisit that each stat adds up."""

# Batches that may wait for the store thread. A crawl that is faster than its database waits here, in bounded memory.
_MAX_WAITING_BATCHES = 1
# A visit without a page takes little of a transaction: a batch takes this many of them in place of one page.
_VISITS_PER_PAGE = 4
# So a batch of the default size has 2,000 blocks, or one page: others wait for half a second.
_BLOCKS_PER_PAGE = 50
# New requests wait this long for others if the crawl has nothing else to do, so that each does not cost a transaction.
_GATHER_SECONDS = 0.1
_NOTHING_LEFT = "finished"  # Scrapy's finish reason of a crawl that nobody stopped


class LeaseHolder(Protocol):
    """The part of the frontier (`crawler.frontier.scheduler.Frontier`) that `StoreStep` uses."""

    @property
    def is_starving(self) -> bool: ...

    @property
    def is_drained(self) -> bool: ...

    @property
    def unasked(self) -> Mapping[tuple[str, str], int]:
        """The number of requests, by site and outcome, that this process ended because their host was given up."""

    def holds(self, token: LeaseToken) -> bool: ...

    def acknowledged(self, tokens: Iterable[LeaseToken]) -> None: ...

    def check_pauses(self) -> None: ...


class StoreStep:
    """Third step: store visits in batches, one transaction each, through the store thread.

    The visits of one request are stored together. With the frontier in the database, the transaction also ends their
    requests and adds the requests that they yielded. A failing database closes the spider as `store_failed`.
    """

    def __init__(self, crawler: Crawler, config: Config, thread: StoreThread) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._batch_capacity = config.store_batch_pages * _VISITS_PER_PAGE
        self._batch_seconds = config.store_batch_seconds
        self._location = location_of_url(config.database_url)
        self.thread = thread
        self._health = HealthStep(config)
        self._pending: list[Visit] = []
        self._parts: dict[LeaseToken, dict[int, Visit]] = {}
        self._saving: set[asyncio.Future[None]] = set()
        self._flush_soon: asyncio.TimerHandle | None = None
        self._timer = AsyncioLoopingCall(self._tick)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the database. Raises StoreError."""
        config = Config.read(crawler.settings)
        store = Store.open(config)
        if (change := store.keep_settings(config)) is not None:
            logger.warning("%s%s", change[0].upper(), change[1:])
        return cls(crawler, config, StoreThread(crawler, store))

    def open(self) -> None:
        """Begin to store. Without a frontier in the database this begins the crawl there."""
        assert self._crawler.spider is not None
        logger.info("Storing blocks in %s", self._location)
        if self._frontier is None:
            self.thread.begin_crawl(self._crawler.spider)
        self._timer.start(self._batch_seconds, now=False)

    async def store(self, visit: Visit) -> None:
        """Take a visit to be stored with the next batch. This waits while too many batches wait for the database."""
        self._add(visit)
        while len(self._saving) > _MAX_WAITING_BATCHES:
            await asyncio.wait(self._saving, return_when=asyncio.FIRST_COMPLETED)

    def store_without_page(self, visit: Visit, outcome: Outcome, error: str) -> None:
        """Store a visit that another pipeline dropped or failed on, so that its request ends and its children count."""
        if visit.lease_token is None or not self._frontier or not self._frontier.holds(visit.lease_token):
            return
        if visit.part in self._parts.get(visit.lease_token, {}):
            return  # a pipeline behind this one failed: the visit is being stored
        self._stats.inc_value(f"visit/{visit.outcome}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        self._add(replace(visit, outcome=outcome, error=error, page=None))

    async def stored_item(self, visit: Visit) -> StoredItem | None:
        """Return the stored item of a page that was not modified; None if the database has failed."""
        if self.thread.failed:
            return None
        try:
            return await self.thread.run(partial(self.thread.store.stored_item, visit))
        except StoreError as error:
            self.thread.fail(error)
            return None

    async def close(self) -> None:
        """Store what is pending, and wait until all is stored."""
        if self._timer.running:
            self._timer.stop()
        self._tick()
        if self._saving:
            await asyncio.wait(self._saving)

    def end_crawl(self, reason: str) -> None:
        """Write the crawl's end and its counts, after `close`, and close the database.

        If the last batch was not stored, the crawl did not finish, whatever Scrapy's reason is.
        """
        if self.thread.failed:
            reason = FinishReason.STORE_FAILED
            self._stats.set_value("finish_reason", reason)
        for imbalance in find_imbalances(self._stats.get_stats()):
            self._stats.inc_value("store/imbalances")
            logger.error("The crawl's counts do not add up: %s", imbalance)
        counters = stored_counters(self._stats.get_stats())
        finished = self._frontier is None or reason == _NOTHING_LEFT
        try:
            if self.thread.store.end_crawl(self.thread.crawl_id, reason, counters, finished=finished):
                self._stats.set_value("frontier/pages_found", 1)
            self._judge_sites()
        except StoreError as error:
            self.thread.report(error)
        self.thread.close()

    def _judge_sites(self) -> None:
        """Store what the crawl met on each site, and set as a stat why it has not done what it is for."""
        assert self._crawler.spider is not None
        arguments = given_arguments(self._crawler.spider)
        if self._frontier is not None:
            self._health.add_unasked(self._frontier.unasked)
        findings = self.thread.store.write(
            lambda connection: self._health.record(connection, self.thread.crawl_id, arguments)
        )
        problems = [
            f"{site}: {finding.sentence}"
            for site, site_findings in sorted(findings.items())
            for finding in site_findings
            if finding.holds and finding.condition in FAILING_CONDITIONS
        ]
        if problems:
            self._stats.set_value(SITE_PROBLEMS_STAT, problems)

    def abandon(self) -> None:
        """Close the database of a crawl that has not begun."""
        self.thread.close()

    @property
    def _frontier(self) -> LeaseHolder | None:
        frontier: LeaseHolder | None = context_of(self._crawler).frontier
        return frontier

    def _add(self, visit: Visit) -> None:
        self.thread.waiting += 1
        self._pending += self._complete(_without_tree(visit))
        if sum(map(_weight, self._pending)) >= self._batch_capacity or self._is_urgent(visit):
            self._flush()
        elif visit.requests and self._frontier and self._frontier.is_starving and self._flush_soon is None:
            self._flush_soon = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._flush)

    def _is_urgent(self, visit: Visit) -> bool:
        """Return True if something waits for the visit: the pause of its host, or a crawl with no other request."""
        return self._frontier is not None and (bool(visit.pause_evidence) or self._frontier.is_drained)

    def _complete(self, visit: Visit) -> list[Visit]:
        """Return all visits of a request once the last of them has arrived, in the order of their parts."""
        if visit.lease_token is None:
            return [visit]
        parts = self._parts.setdefault(visit.lease_token, {})
        parts[visit.part] = visit
        return [parts[part] for part in sorted(parts)] if len(parts) == visit.parts else []

    def _tick(self) -> None:
        self.thread.stop_waiting_if_closing()
        self._flush()

    def _flush(self) -> None:
        if self._flush_soon is not None:
            self._flush_soon.cancel()
            self._flush_soon = None
        while self._pending:
            fitting = sum(weight <= self._batch_capacity for weight in accumulate(map(_weight, self._pending)))
            count = max(1, fitting)
            batch, self._pending = self._pending[:count], self._pending[count:]
            future = asyncio.ensure_future(self._save(batch))
            self._saving.add(future)
            future.add_done_callback(self._saving.discard)

    async def _save(self, batch: list[Visit]) -> None:
        try:
            await self._write(batch)
        finally:
            self.thread.waiting -= len(batch)

    async def _write(self, batch: list[Visit]) -> None:
        pages = sum(isinstance(visit.page, ProcessedPage) for visit in batch)
        if self.thread.failed:
            self._stats.inc_value("store/pages_failed", pages)
            return
        try:
            saved = await self.thread.run(partial(self._save_timed, batch))
        except StoreError as error:
            self._stats.inc_value("store/pages_failed", pages)
            self.thread.fail(error)
            return
        for visit, result in zip(batch, saved, strict=True):
            self._count(visit, result)
            self._health.add_visit(visit, result)
            if visit.lease_token and visit.ends_request:
                del self._parts[visit.lease_token]
        if self._frontier is not None:
            _inform(self._frontier, batch)

    def _save_timed(self, batch: list[Visit]) -> list[SavedVisit]:
        began = monotonic()
        saved = self.thread.store.save(self.thread.crawl_id, batch)
        self._health.add_transaction(monotonic() - began)
        return saved

    def _count(self, visit: Visit, saved: SavedVisit) -> None:
        if saved.state is PageState.LOST:
            self._stats.inc_value("frontier/lost")
            if isinstance(visit.page, ProcessedPage):
                self._stats.inc_value("store/pages_lost")
        elif saved.other_method and isinstance(visit.page, ProcessedPage):
            self._warn_of_method(saved.other_method, visit.page)
        if saved.doubted_canonical:
            self._warn_of_canonical(saved.doubted_canonical, visit)
        if saved.state not in {PageState.LOST, PageState.NONE}:
            self._stats.inc_value(f"store/pages_{saved.state}")
        if saved.queued_again:
            self._stats.inc_value(f"{QUEUED_AGAIN_STAT}/{visit.outcome}")
        if saved.refused:
            self._stats.inc_value(f"frontier/{visit.outcome}", saved.refused)
        for stat, name in _COUNT_BY_STAT.items():
            if count := getattr(saved, name):
                self._stats.inc_value(stat, count)

    def _warn_of_method(self, before: str, page: ProcessedPage) -> None:
        """Count a page that was cleaned by another method before; the first one is logged."""
        if not self._stats.get_value("store/pages_other_method"):
            logger.warning(
                "%s was cleaned by %s before, and now by %s; further such pages are counted as "
                "store/pages_other_method. CLEANING_METHOD=%s keeps to the earlier method",
                page.fetched.url,
                before,
                page.cleaned.method,
                before,
            )
        self._stats.inc_value("store/pages_other_method")

    def _warn_of_canonical(self, canonical: str, visit: Visit) -> None:
        """Count a page whose canonical address is not believed; the first one is logged."""
        if not self._stats.get_value(CANONICAL_STAT):
            logger.warning(
                "%s states the canonical address %s, where a listing or a page with another text is, or which other "
                "texts state too; it is stored under its own address. Further such pages are counted as %s",
                visit.url,
                canonical,
                CANONICAL_STAT,
            )
        self._stats.inc_value(CANONICAL_STAT)


def _inform(frontier: LeaseHolder, batch: Sequence[Visit]) -> None:
    """Tell the frontier which requests have ended, and that hosts are paused."""
    frontier.acknowledged([visit.lease_token for visit in batch if visit.lease_token and visit.ends_request])
    if any(visit.pause_evidence for visit in batch):
        frontier.check_pauses()


def _without_tree(visit: Visit) -> Visit:
    """Return the visit without the tree of its page, which takes ten times the memory of all else that waits."""
    page = visit.page
    if not isinstance(page, ProcessedPage):
        return visit
    fetched = replace(page.fetched, source=page.fetched.unparsed)
    return replace(visit, page=replace(page, fetched=fetched, cleaned=replace(page.cleaned, source=None)))


def _weight(visit: Visit) -> int:
    """Return how much of a batch's capacity a visit takes: a page with many blocks takes the place of several."""
    if not isinstance(visit.page, ProcessedPage):
        return 1
    return _VISITS_PER_PAGE * max(1, -(-len(visit.page.blocks) // _BLOCKS_PER_PAGE))


class StoreThread:
    """The one thread of a crawl that writes to its database, in the order in which it gets work.

    `crawl_id` is set once the crawl has begun. `waiting` counts the visits that are not stored yet.
    """

    def __init__(self, crawler: Crawler, store: Store) -> None:
        self.store = store
        self.crawl_id = 0
        self.waiting = 0
        self._crawler = crawler
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._closer = _SpiderCloser(crawler)

    @property
    def failed(self) -> bool:
        """True once the database has failed: nothing more can be stored."""
        return self._closer.is_closing

    def join_crawl(self, spider: Spider, policy: CrawlPolicy) -> JoinedCrawl:
        """Continue the open crawl of this spider and these arguments. Without one, or with `-a fresh=1`, begin one."""
        arguments = given_arguments(spider)
        fresh = arguments.pop(FRESH, "").lower() in _TRUE_WORDS
        joined = self.store.join_crawl(spider.name, arguments, policy, fresh=fresh)
        self._set_crawl_id(joined.crawl_id)
        return joined

    async def record_absences(self, absences: Sequence[PageAbsence]) -> None:
        """Record pages whose requests were redirected elsewhere, and count those that have moved there."""
        saved = await self.run(partial(self.store.record_absences, absences))
        if moved := sum(result.moved for result in saved):
            self._crawler.stats.inc_value(MOVED_STAT, moved)

    def begin_crawl(self, spider: Spider) -> None:
        """Begin a crawl whose requests are not in the database."""
        config = Config.read(self._crawler.settings)
        policy = CrawlPolicy(options_hash=config.options_hash, settings=config.page_settings)
        self._set_crawl_id(self.store.begin_crawl(spider.name, given_arguments(spider), policy))

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Run the work in the thread and return its result. Raises StoreError if it raises anything."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except StoreError:
            raise
        except Exception as error:
            # Acknowledgements or visits of this transaction are lost. A crawl that went on would miss them.
            logger.exception("Storing failed")
            message = redact_text(" ".join(str(error).split()))
            raise StoreError(f"the database was not written: {type(error).__name__}: {message}") from error

    def report(self, error: StoreError) -> None:
        """Log an error of the database and set it as a stat, which decides the exit code.

        All that waited for a database that is away report the same: it is logged once.
        """
        assert self._crawler.stats
        reported = str(self._crawler.stats.get_value("store/error", ""))
        self._crawler.stats.set_value("store/error", str(error))
        if reported.partition(WAITED)[0] != str(error).partition(WAITED)[0]:
            logger.error("%s", error)

    def fail(self, error: StoreError) -> None:
        """Report the error and close the spider."""
        self.report(error)
        self._closer.close(FinishReason.STORE_FAILED)

    def stop_waiting_if_closing(self) -> None:
        """Stop waiting for a database that is away, once someone has asked the crawl to end."""
        if not self._crawler.crawling:
            self.store.stop_waiting()

    def close(self) -> None:
        """End the thread after its last work, and close the store."""
        self._thread.shutdown()
        self.store.close()

    def _set_crawl_id(self, crawl_id: int) -> None:
        assert self._crawler.stats
        self.crawl_id = crawl_id
        self._crawler.stats.set_value(CRAWL_ID_STAT, crawl_id)


class _SpiderCloser:
    """Closes the spider once. Closing waits for the visits in work, so a step cannot wait for it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._closing: asyncio.Future[None] | None = None

    @property
    def is_closing(self) -> bool:
        return self._closing is not None

    def close(self, reason: FinishReason) -> None:
        if self._closing is None:
            assert self._crawler.engine is not None
            self._closing = asyncio.ensure_future(self._crawler.engine.close_spider_async(reason=reason))
