"""The first two steps of a page: clean it, and find the keys of its blocks."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from xxhash import xxh64_intdigest

from cleaning import METHODS, Options, PageError, ParseWarning, clean
from cleaning.blocks import kept_decisions
from cleaning.clean import TreeSource, text_page
from cleaning.teaching import load_site_model
from crawler.config import config_of
from crawler.config.profiles import PROFILES
from crawler.context import context_of
from crawler.errors import SetupError, StoreError, TimeLimitError, WorkerTimeoutError
from crawler.fetching.response_filter import EMPTY_PAGE
from crawler.monitoring.exit_status import FinishReason
from crawler.page_comparison import EarlierDecisions, keep_decisions
from crawler.processing.store_thread import SpiderCloser
from crawler.storage.boilerplate import read_template
from crawler.storage.headlines import own_version
from crawler.storage.pages import UNREADABLE, decompress
from crawler.storage.queries import read_last_reading
from crawler.teaching.records import read_site_model
from crawler.teaching.site_models import read_model_file
from crawler.time_limit import time_limit
from crawler.urls import known_url, site_of, url_key
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
from crawler.workers.tasks import CleanTask, PageToClean, load_models, load_stemmer, parse_again

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any, Self

    from scrapy.crawler import Crawler
    from sqlalchemy.engine import Connection

    from cleaning import CleanPage, Page
    from cleaning.page_fingerprint import Fingerprinter, PageFingerprint
    from crawler.processing.store_thread import StoreThread
    from crawler.storage.boilerplate import SiteTemplate
    from crawler.storage.queries import LastReading
    from crawler.workers.tasks import SentPage

logger = logging.getLogger(__name__)

_Read = TypeVar("_Read")


class CleanStep:
    """First step: clean the page of a visit, in this process or in the workers of a pool.

    A pool cleans several pages at once, so visits leave this step in the order in which their pages are done. A page
    whose tree was not parsed from its bytes is always cleaned in this process.
    """

    def __init__(
        self, crawler: Crawler, method: str, options: Mapping[str, Any], pool: WorkerPool[SentPage] | None = None
    ) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._templates = context_of(crawler).templates = SiteTemplates(crawler)
        self._site_models = SiteModels(crawler)
        self._stats = crawler.stats
        self._closer = SpiderCloser(crawler)
        self._method = method
        self._options = options
        self._pool = pool
        config = config_of(crawler)
        self._seconds = config.cleaning_seconds
        self._wants_structure = config.structure
        self._options_hash = config.options_hash
        # A profile cleans all pages in one way.
        self._one_method = config.profile in PROFILES

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Load the models or start the workers. Raises SetupError."""
        config = config_of(crawler)
        method, options = config.cleaning_method, config.cleaning_options
        if not config.cleaning_processes:
            load_models()
            return cls(crawler, method, options)
        assert crawler.stats
        task = CleanTask((method,), config.fingerprinter, config.cleaning_seconds, dict(options))
        return cls(crawler, method, options, WorkerPool.start(config.cleaning_processes, task, crawler.stats))

    async def clean(self, visit: Visit) -> Visit:
        """Return the visit with its page cleaned; a visit without a page is returned as it is.

        If cleaning fails the visit has another outcome and no page, and the stats are corrected. A page that was
        cleaned is not counted yet: see `count`.
        """
        if not isinstance(visit.page, FetchedPage):
            return visit
        try:
            page = await self._keep_decisions(visit, await self._clean(visit.page))
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
        metadata = page.fetched.describe(page.cleaned.metadata)
        return replace(visit, page=replace(page, cleaned=replace(page.cleaned, known_metadata=metadata)))

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
        if cleaned.fits_site is not None:
            self._stats.inc_value("clean/taught" if cleaned.fits_site else "clean/unlike")
            self._stats.inc_value("blocks/decided_by_site_model", len(cleaned.taught))

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
        site_model = None
        if METHODS[method].decide_taught is not None:
            site_model = await self._site_models.of(site_of(page.url))
        for_worker = None
        if self._pool is not None:
            for_worker = PageToClean.from_fetched(page_to_clean, template, structure=self._wants_structure)
        if self._pool is None or for_worker is None:
            return self._clean_here(page, replace(page.tree, template=template), method, site_model)
        sent = await self._pool.run(replace(for_worker, site_model=site_model))
        # Whoever asks for the page's structure here gets it from the worker's nodes.
        cleaned = replace(sent.cleaned, source=sent.structure)
        return CleanedPage(page, cleaned, sent.fingerprinted, sent.structure)

    async def _keep_decisions(self, visit: Visit, page: CleanedPage) -> CleanedPage:
        """Return the page with the decisions of its last visit about texts that its publisher has not touched.

        Another method, other options and another version decide anew, and so do methods whose scores are no
        probabilities, unless the page has the same bytes.
        """
        cleaned, canonical = page.cleaned, page.cleaned.metadata.canonical
        is_restated = canonical is not None and url_key(page.fetched.url, canonical) != url_key(page.fetched.url)
        if not (visit.is_known or is_restated):
            return page
        addresses = [page.fetched.url, *([canonical] if canonical and is_restated else [])]
        last = await _read_of_site(self._crawler, partial(read_last_reading, addresses=addresses))
        if last is None or (last.method, last.options_hash) != (cleaned.method, self._options_hash):
            return page
        same_bytes = last.body_hash == xxh64_intdigest(page.fetched.body)
        has_probabilities = METHODS[cleaned.method].decide_taught is not None
        if last.version not in {None, own_version()} or not (same_bytes or has_probabilities):
            return page
        read_texts = cleaned.texts if same_bytes else partial(_read_texts, last, Options.read(dict(self._options)))
        earlier = EarlierDecisions(Counter(last.texts), same_bytes, read_texts)
        with time_limit(self._seconds):
            decisions = keep_decisions(cleaned.decisions, earlier, cleaned.taught)
        return replace(page, cleaned=replace(cleaned, decisions=decisions))

    def _clean_here(self, page: FetchedPage, tree: Page, method: str, site_model: str | None) -> CleanedPage:
        """Return the cleaned page. Raises TimeLimitError, and PageError as `clean` does."""
        with time_limit(self._seconds):
            cleaned = clean(tree, method=method, site_model=load_site_model(site_model), **self._options).described()
            return CleanedPage(page, cleaned, structure=PageStructure.of(cleaned) if self._wants_structure else None)

    def _fail(self, visit: Visit, outcome: Outcome, error: str) -> Visit:
        """Return the visit without its page. It was counted as a page, unless its callback failed after the page."""
        if visit.outcome is not Outcome.PAGE:
            return replace(visit, page=None)
        self._stats.inc_value(f"visit/{Outcome.PAGE}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        return replace(visit, outcome=outcome, error=error, page=None)


def _read_texts(last: LastReading, options: Options) -> frozenset[str]:
    """Return all texts of a page at its last visit; none if its HTML was not kept or cannot be read."""
    if last.html is None:
        return frozenset()
    try:
        stored = parse_again(PageToClean.from_stored(decompress(last.html), known_url(last.url), last.encoding))
        leaves = METHODS[last.method].segment(text_page(stored), options)
    except (PageError, UNREADABLE):
        return frozenset()
    return frozenset([leaf.block.text for leaf in leaves])


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
        """Return the template of a site for a page of this method; an empty one if the site has none yet.

        A database error ends the crawl, as it does when writing.
        """
        if site not in self._known:
            # Several pages may wait for it; all use the one that is read first.
            self._known.setdefault(site, await self._read(site))
        known = self._known[site]
        self.used[site, method] = None if known is None else known.learned
        return frozenset() if known is None else known.patterns

    async def _read(self, site: str) -> SiteTemplate | None:
        return await _read_of_site(self._crawler, partial(read_template, site=site))


class SiteModels:
    """The models of sites, in JSON, by which a crawl cleans pages: those of SITE_MODELS, or of the database.

    Each is read from the database at the first page of its site. Raises ConfigError for a bad file.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        config = config_of(crawler)
        path = config.site_models
        self._given = read_model_file(path, "SITE_MODELS", config.cleaning_method) if path else None
        self._known: dict[str, str | None] = {}

    async def of(self, site: str) -> str | None:
        """Return the model of a site; None if it has none. A database error ends the crawl, as it does when writing."""
        if self._given is not None:
            return self._given.get(site)
        if site not in self._known:
            # Several pages may wait for it; all use the one that is read first.
            self._known.setdefault(site, await _read_of_site(self._crawler, partial(read_site_model, site=site)))
        return self._known[site]


async def _read_of_site(crawler: Crawler, read: Callable[[Connection], _Read | None]) -> _Read | None:
    """Return what the database has of a site; None if nothing is stored."""
    thread: StoreThread | None = context_of(crawler).store_thread
    if thread is None or thread.failed:
        return None
    try:
        return await thread.run(partial(thread.store.read, read))
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
        config = config_of(crawler)
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
