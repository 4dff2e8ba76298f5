"""Clean stored pages again (`scrapy reclean`), without the network.

Pages are read in batches, cleaned in worker processes while earlier ones are stored, and stored in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from scrapy import signals
from xxhash import xxh64_intdigest

from cleaning import METHODS, OptionError, Options, PageError
from cleaning.methods import informative_sections
from crawler.config import Config, changed_settings, config_of, hash_options
from crawler.context import context_of
from crawler.errors import WorkerError
from crawler.fetching.compression import DamagedBodyError
from crawler.fetching.replay import ReplayMiss
from crawler.storage.boilerplate import (
    SiteTemplate,
    count_learnable_pages,
    mark_applied,
    read_template,
    write_template,
)
from crawler.storage.pages import decompress
from crawler.storage.reclean import (
    RecleanedPage,
    RecleanJob,
    advance_reclean,
    begin_reclean,
    count_pages_after,
    read_methods,
    read_newest_pages,
    read_pages_after,
    read_reclean_progress,
)
from crawler.storage.store import Store
from crawler.storage.visits import PageState
from crawler.teaching.records import read_site_model
from crawler.urls import known_url
from crawler.workers.pool import WorkerPool
from crawler.workers.tasks import FingerprintTask, PageToClean, parse_again

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from sqlalchemy.engine import Connection

    from cleaning.blocks import Page
    from cleaning.page_fingerprint import Fingerprinter
    from crawler.fetching.replay import ReplaySource
    from crawler.processing import SiteTemplates
    from crawler.storage.reclean import PageToReclean, RecleanProgress
    from crawler.storage.visits import SavedVisit
    from crawler.workers.tasks import SentFingerprint

logger = logging.getLogger(__name__)

_PAGES_PER_TRANSACTION = 10  # few enough for its locks: see crawler/storage/locks.py
_MAX_NAMED_PAGES = 1_000
_BLOCK_COUNTS = ("stored", "refreshed", "revived", "exact", "near", "boilerplate", "gone")


@dataclass(frozen=True, slots=True)
class RecleanPlan:
    """The plan of a run: its pages, and the number of processes.

    A page is cleaned by the method and options that cleaned it last, unless the settings of the `job` name others.
    `limit` is the largest number of pages; None means all. Each page must be cleaned within `seconds`. A `dry_run`
    stores nothing, and no later run continues it. `templates` are the known ones; others are learned if the method
    needs them. With `structure` the structure of all pages is stored; without it, only stored structures are renewed.
    `site_models` are the models of sites in JSON; None stands for those of the database.
    """

    job: RecleanJob
    fingerprinter: Fingerprinter
    limit: int | None
    processes: int
    seconds: float
    dry_run: bool = False
    templates: Mapping[str, frozenset[int]] = field(default_factory=dict)
    structure: bool = False
    site_models: Mapping[str, str] | None = None


class SkipReason(StrEnum):
    """Why a page is skipped; a closed set. Skipped pages are counted under these words."""

    NO_HTML = "no_html"
    """It was stored with KEEP_HTML=false."""
    NOT_ARCHIVED = "not_archived"
    OTHER_BODY = "other_body"
    """The archive has its body of an earlier visit, or the body as fetched where the page was rendered."""
    DAMAGED = "damaged"
    """Its record in the archive, or its packed body, cannot be read."""
    RETIRED = "retired"
    """It no longer exists on its site, and its blocks are gone."""
    NO_LAYOUT = "no_layout"
    """It was cleaned by the layout in a browser, which is not stored."""
    OPTIONS_UNKNOWN = "options_unknown"
    """An earlier version stored a hash of its cleaning options, but not the options."""
    OVERTAKEN = "overtaken"
    """A crawl stored it again while it was being cleaned."""


_UNREAD = (SkipReason.NO_HTML, SkipReason.NOT_ARCHIVED, SkipReason.OTHER_BODY, SkipReason.DAMAGED)


@dataclass(frozen=True, slots=True)
class PageCleaning:
    """How a stored page is cleaned again; `settings` are stored with it, for its next visits."""

    method: str
    options: Mapping[str, Any]
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, page: PageToReclean, wanted: Mapping[str, Any]) -> Self | SkipReason:
        """Return how a page is cleaned: by the wanted settings, and by its own where they are silent.

        Raises OptionError for a method or an option that is not known here.
        """
        own = {**(page.settings or {}), "CLEANING_METHOD": page.method}
        settings = own | changed_settings(own, wanted)
        method = str(settings["CLEANING_METHOD"])
        options = settings.get("CLEANING_OPTIONS")
        if METHODS.find(method).needs == "layout":
            return SkipReason.NO_LAYOUT
        if options is None and page.options_hash not in {None, hash_options({})}:
            return SkipReason.OPTIONS_UNKNOWN
        Options.read(options or {})
        settings["CLEANING_OPTIONS"] = options or {}
        return cls(method, options or {}, settings)

    def __str__(self) -> str:
        return " ".join((self.method, *(f"{name}={value}" for name, value in sorted(self.options.items()))))


class PageBodies(Protocol):
    """Gives the bytes of pages as their last visit read them."""

    stored: bool
    """Whether the bytes are read from the database together with the page."""

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        """Return a page's bytes, or why there are none."""


class StoredBodies:
    """The bodies that the database has."""

    stored = True

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        return SkipReason.NO_HTML if page.html is None else decompress(page.html)


class ArchivedBodies:
    """The bodies in an archive, or in another source of a replay."""

    stored = False

    def __init__(self, source: ReplaySource, max_bytes: int) -> None:
        self._source = source
        self._max_bytes = max_bytes

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        saved = self._source.find(page.url)
        if saved is ReplayMiss.ABSENT:
            return SkipReason.NOT_ARCHIVED
        if isinstance(saved, ReplayMiss):
            return SkipReason.DAMAGED
        try:
            body = saved.unpack(self._max_bytes)
        except (DamagedBodyError, PageError):
            return SkipReason.DAMAGED
        return body if xxh64_intdigest(body) == page.body_hash else SkipReason.OTHER_BODY


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that was not cleaned again; `reason` is a SkipReason or the message of an error."""

    url: str
    reason: str


@dataclass(slots=True)
class RecleanResult:
    """The progress of a run.

    `pages` counts all its pages: `changed`, `unchanged`, `failed` (cleaning failed) and `skipped` by reason. `blocks`
    has the counts of `crawler.storage.store.SavedVisit`. `named` lists the first failed and skipped pages. The run is
    `complete` once no page is left. `structures` counts pages whose structure was stored. `cleaned_by` counts the pages
    by method and options. `processes` counts workers that died.
    """

    pages: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_BLOCK_COUNTS, 0))
    named: list[SkippedPage] = field(default_factory=list)
    structures: int = 0
    cleaned_by: dict[str, int] = field(default_factory=dict)
    complete: bool = False
    processes: dict[str, int] = field(default_factory=dict)

    def count(self, saved: SavedVisit, cleaned_by: str, *, structure: bool) -> None:
        """Count a page that was cleaned, with or without its structure."""
        if saved.state is PageState.DEFERRED:
            self.skip(saved.url, SkipReason.OVERTAKEN)
            return
        self.pages += 1
        self.changed += saved.state is PageState.CHANGED
        self.unchanged += saved.state is PageState.UNCHANGED
        for name in _BLOCK_COUNTS:
            self.blocks[name] += getattr(saved, name)
        self.structures += structure
        self.cleaned_by[cleaned_by] = self.cleaned_by.get(cleaned_by, 0) + 1

    def skip(self, url: str, reason: SkipReason) -> None:
        """Count a page that is skipped."""
        self.pages += 1
        self.skipped[reason.value] = self.skipped.get(reason.value, 0) + 1
        self._name(url, reason.value)

    def fail(self, url: str, error: str) -> None:
        """Count a page that could not be cleaned."""
        self.pages += 1
        self.failed += 1
        self._name(url, error)

    @property
    def read_nothing(self) -> bool:
        """Whether no page could be read, although some should be readable."""
        return sum(self.skipped.values()) == self.pages and any(reason in self.skipped for reason in _UNREAD)

    def inc_value(self, key: str) -> None:
        """Count an event of the worker processes."""
        self.processes[key] = self.processes.get(key, 0) + 1

    def _name(self, url: str, reason: str) -> None:
        if len(self.named) < _MAX_NAMED_PAGES:
            self.named.append(SkippedPage(url, reason))


# Enough pages to learn what repeats.
_MAX_LEARNING_PAGES = 30
_MIN_LEARNING_PAGES = 2


def learn_template(store: Store, bodies: PageBodies, site: str) -> SiteTemplate | None:
    """Return the template of a site from its newest pages; None if fewer than two different ones can be read."""
    newest = store.read(partial(read_newest_pages, site=site, most=_MAX_LEARNING_PAGES, html=bodies.stored))
    pages = list(_different_pages(newest, bodies))
    if len(pages) < _MIN_LEARNING_PAGES:
        return None
    return SiteTemplate(site, informative_sections.learn_template(pages), len(pages), datetime.now(UTC))


def _different_pages(pages: Iterable[PageToReclean], bodies: PageBodies) -> Iterator[Page]:
    """Yield the pages that can be read. One that is stored twice counts once, otherwise all of it would repeat."""
    seen: set[int] = set()
    for page in pages:
        body = bodies.find(page)
        if page.body_hash in seen or isinstance(body, SkipReason):
            continue
        seen.add(page.body_hash)
        with contextlib.suppress(PageError):  # it is counted when the page itself is cleaned
            yield parse_again(PageToClean.from_stored(body, known_url(page.url), page.encoding))


class TemplateExtension:
    """Learns the templates that a crawl lacked, from the pages that are stored at its end.

    A template is learned again when the site has twice as many pages as before, up to 30. The pages that were cleaned
    by an older template, or without one, are then cleaned again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    async def spider_closed(self, reason: str) -> None:
        context = context_of(self._crawler)
        templates: SiteTemplates | None = context.templates
        if templates is None or not templates.used or context.store_thread is None:
            return
        if reason == "shutdown" or context.store_thread.failed:
            return  # the next run of the crawl does it
        config = config_of(self._crawler)
        with closing(Store.open(config)) as store:
            for method in sorted({method for _, method in templates.used}):
                stale = await asyncio.to_thread(_stale_sites, store, templates, method)
                if stale:
                    await self._clean_again(store, config, method, stale)

    async def _clean_again(self, store: Store, config: Config, method: str, stale: Sequence[SiteTemplate]) -> None:
        """Clean the pages of sites again that a method cleaned by another template, or without one."""
        plan = RecleanPlan(
            job=RecleanJob(""),  # one for each site
            fingerprinter=config.fingerprinter,
            limit=None,
            processes=max(1, config.cleaning_processes),
            seconds=config.cleaning_seconds,
            templates={learned.site: learned.patterns for learned in stale},
            structure=config.structure,
        )
        count = RecleanResult()
        task = FingerprintTask((method,), plan.fingerprinter, plan.seconds)
        pool = await asyncio.to_thread(WorkerPool.start, plan.processes, task, count)
        try:
            for learned in stale:
                job = RecleanJob(json.dumps({"template": learned.site, "method": method}), learned.site, method=method)
                result = RecleanResult()
                await RecleanRun(store, StoredBodies(), replace(plan, job=job), pool, result).run(0, lambda *_: None)
                await asyncio.to_thread(store.end_reclean, job)
                store.write(partial(mark_applied, learned=learned, now=datetime.now(UTC)))
                self._report(learned, method, result)
        finally:
            pool.close()

    def _report(self, learned: SiteTemplate, method: str, result: RecleanResult) -> None:
        logger.info(
            "Learned the template of %s from %d pages; of %d pages cleaned again by %s, %d changed",
            learned.site,
            learned.pages,
            result.pages,
            method,
            result.changed,
        )
        self._crawler.stats.inc_value("template/pages_cleaned_again", result.pages)


def _stale_sites(store: Store, templates: SiteTemplates, method: str) -> list[SiteTemplate]:
    """Return the present templates of the sites where the method used another one, or none."""
    used = {site: learned for (site, by), learned in templates.used.items() if by == method}
    present = (_learned_template(store, site) for site in used)
    return [
        template
        for template in present
        if template is not None and not (template.applied and template.learned == used[template.site])
    ]


def _learned_template(store: Store, site: str) -> SiteTemplate | None:
    """Return the site's template, learned now if it was learned from too few of its pages."""
    known, count = store.read(
        lambda connection: (read_template(connection, site), count_learnable_pages(connection, site))
    )
    reached = min(count, _MAX_LEARNING_PAGES)
    if known is not None and (known.pages >= reached or reached < min(2 * known.pages, _MAX_LEARNING_PAGES)):
        return known
    learned = learn_template(store, StoredBodies(), site)
    if learned is None:
        return known
    store.write(lambda connection: write_template(connection, learned))
    return learned


def start_reclean(store: Store, plan: RecleanPlan, *, restart: bool) -> RecleanProgress | None:
    """Record the start of the job. Return the progress of an earlier run to continue; None for a new job."""
    if plan.dry_run:
        return None

    def begin(connection: Connection) -> RecleanProgress | None:
        earlier = None if restart else read_reclean_progress(connection, plan.job)
        if earlier is None:
            begin_reclean(connection, plan.job, datetime.now(UTC))
        return earlier

    return store.write(begin)


async def run_reclean(
    store: Store, bodies: PageBodies, plan: RecleanPlan, after_page: int, report: Callable[[int, int], None]
) -> RecleanResult:
    """Clean the pages with an id above `after_page` again; `report` gets the number of pages done and of all.

    Raises StoreError, and SetupError if the workers cannot be started.
    """
    task = FingerprintTask(await asyncio.to_thread(_methods, store, plan), plan.fingerprinter, plan.seconds)
    result = RecleanResult()
    pool = await asyncio.to_thread(WorkerPool.start, plan.processes, task, result)
    try:
        await RecleanRun(store, bodies, plan, pool, result).run(after_page, report)
        return result
    finally:
        pool.close()


def _methods(store: Store, plan: RecleanPlan) -> tuple[str, ...]:
    """Return the methods that a run needs; stored methods that do not exist here are left out."""
    if (method := plan.job.settings.get("CLEANING_METHOD")) is not None:
        return (method,)
    return tuple(method for method in store.read(partial(read_methods, job=plan.job)) if method in METHODS)


@dataclass(frozen=True, slots=True)
class _PageInWork:
    """A page that is being cleaned in some way, or the reason why it is not: why it is skipped, or an error."""

    page: PageToReclean
    result: asyncio.Task[SentFingerprint] | SkipReason | OptionError
    cleaning: PageCleaning | None = None


class RecleanRun:
    """One run over the stored pages with workers that are already started; it counts in `result`."""

    def __init__(
        self,
        store: Store,
        bodies: PageBodies,
        plan: RecleanPlan,
        pool: WorkerPool[SentFingerprint],
        result: RecleanResult,
    ) -> None:
        self._store = store
        self._bodies = bodies
        self._plan = plan
        self._pool = pool
        self._result = result
        self._templates = dict(plan.templates)
        self._site_models: dict[str, str | None] = {}

    async def run(self, after_page: int, report: Callable[[int, int], None]) -> None:
        total = await asyncio.to_thread(self._count, after_page)
        batches: deque[list[_PageInWork]] = deque()
        async for pages in self._read_batches(after_page):
            batches.append([self._begin(page) for page in pages])
            # Enough pages in work that no worker waits while a batch is stored.
            if sum(map(len, batches)) > 2 * self._plan.processes + _PAGES_PER_TRANSACTION:
                await self._finish(batches.popleft())
                report(self._result.pages, total)
        while batches:
            await self._finish(batches.popleft())
            report(self._result.pages, total)

    def _count(self, after_page: int) -> int:
        count = self._store.read(partial(count_pages_after, job=self._plan.job, after_page=after_page))
        return count if self._plan.limit is None else min(count, self._plan.limit)

    async def _read_batches(self, after_page: int) -> AsyncIterator[Sequence[PageToReclean]]:
        """Yield the pages in batches of one transaction each; after the last page the result is complete."""
        count, last = 0, after_page
        while self._plan.limit is None or count < self._plan.limit:
            size = _PAGES_PER_TRANSACTION
            if self._plan.limit is not None:
                size = min(size, self._plan.limit - count)
            read = partial(read_pages_after, job=self._plan.job, after_page=last, most=size, html=self._bodies.stored)
            pages = await asyncio.to_thread(self._store.read, read)
            if not pages:
                self._result.complete = True
                return
            yield pages
            count, last = count + len(pages), pages[-1].page_id

    def _begin(self, page: PageToReclean) -> _PageInWork:
        body = SkipReason.RETIRED if page.retired else self._bodies.find(page)
        if isinstance(body, SkipReason):
            return _PageInWork(page, body)
        try:
            cleaning = PageCleaning.of(page, self._plan.job.settings)
        except OptionError as error:
            return _PageInWork(page, error)
        if isinstance(cleaning, SkipReason):
            return _PageInWork(page, cleaning)
        structure = self._plan.structure or page.has_structure
        to_clean = PageToClean.from_stored(body, known_url(page.url), page.encoding, structure=structure)
        to_clean = replace(to_clean, method=cleaning.method, options=dict(cleaning.options))
        if METHODS[cleaning.method].needs == "template":
            to_clean = replace(to_clean, template=self._template_of(page.site))
        if METHODS[cleaning.method].decide_taught is not None:
            to_clean = replace(to_clean, site_model=self._model_of(page.site))
        return _PageInWork(page, asyncio.ensure_future(self._pool.run(to_clean)), cleaning)

    def _template_of(self, site: str) -> frozenset[int]:
        """Return the template of a site, learned anew at its first page; an empty one if it has only one page."""
        if site not in self._templates:
            learned = learn_template(self._store, self._bodies, site)
            self._templates[site] = frozenset() if learned is None else learned.patterns
            if learned is not None and not self._plan.dry_run:
                applied = replace(learned, applied=True)
                self._store.write(lambda connection: write_template(connection, applied))
        return self._templates[site]

    def _model_of(self, site: str) -> str | None:
        """Return the model of a site, read at its first page; None if it has none."""
        if self._plan.site_models is not None:
            return self._plan.site_models.get(site)
        if site not in self._site_models:
            self._site_models[site] = self._store.read(partial(read_site_model, site=site))
        return self._site_models[site]

    async def _finish(self, batch: Sequence[_PageInWork]) -> None:
        recleaned = [page for in_work in batch if (page := await self._recleaned(in_work)) is not None]
        ways = {in_work.page.key: str(in_work.cleaning) for in_work in batch}
        record_progress: Callable[[Connection], None] = partial(
            advance_reclean, job=self._plan.job, after_page=batch[-1].page.page_id, pages=len(batch)
        )
        save = partial(self._store.save_recleaned, recleaned, None if self._plan.dry_run else record_progress)
        for page, saved in zip(recleaned, await asyncio.to_thread(save), strict=True):
            self._result.count(saved, ways[page.page.key], structure=page.structure is not None)

    async def _recleaned(self, in_work: _PageInWork) -> RecleanedPage | None:
        page, cleaning, result = in_work.page, in_work.cleaning, in_work.result
        if isinstance(result, SkipReason):
            self._result.skip(page.url, result)
            return None
        if isinstance(result, OptionError):
            self._result.fail(page.url, f"it was cleaned by {page.method}: {result}; --method NAME chooses another")
            return None
        try:
            sent = await result
        except (WorkerError, PageError) as error:
            self._result.fail(page.url, str(error))
            return None
        assert cleaning is not None  # it is in work
        return RecleanedPage(
            page,
            cleaning.method,
            hash_options(cleaning.options),
            sent.page_fingerprint.blocks,
            sent.page_fingerprint.fingerprint,
            cleaning.settings,
            sent.structure,
        )
