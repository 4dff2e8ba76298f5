"""Scrapy's scheduler over the database: it leases requests a few at a time and acknowledges the end of each."""

from __future__ import annotations

import logging
from bisect import insort
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.exceptions import CloseSpider
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import AsyncioLoopingCall
from scrapy.utils.defer import deferred_from_coro

from crawler.config import RECRAWL, Config
from crawler.context import context_of
from crawler.errors import FrontierError
from crawler.fetching import revalidation
from crawler.frontier.failures import RequestFailures
from crawler.frontier.lease_client import CrawlWorker, LeaseClient, RequestEnd
from crawler.frontier.serialize import (
    LEASED_REQUEST_ID,
    START_NUMBER,
    deserialize_request,
    is_json,
    secret_parts,
    serialize_request,
)
from crawler.monitoring.exit_status import QUEUED_STAT, FinishReason
from crawler.storage.pages import ReadPolicy
from crawler.storage.requests import Ack, RequestState
from crawler.storage.store import CrawlPolicy
from crawler.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from scrapy import Request, Spider
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from crawler.frontier.lease_client import LeaseBatch
    from crawler.processing import StoreThread
    from crawler.storage.crawls import JoinedCrawl
    from crawler.storage.pages import PageOrigin
    from crawler.storage.requests import LeasedRequest
    from crawler.visit import LeaseToken, RequestRecord


def crawl_policy(config: Config, *, is_recrawl: bool) -> CrawlPolicy:
    """Return how requests end and what becomes of their pages."""
    return CrawlPolicy(
        most_attempts=1 if config.replay else config.frontier_max_attempts,
        pause_seconds=config.host_pause_seconds,
        most_pause_seconds=config.host_pause_max_seconds,
        revisits=config.revisits,
        options_hash=config.options_hash,
        is_replay=bool(config.replay),
        is_recrawl=is_recrawl,
    )


def crawl_worker(config: Config, joined: JoinedCrawl, origin: PageOrigin | None, *, is_recrawl: bool) -> CrawlWorker:
    """Return this process as one at a crawl, under a name of its own."""
    reader = None
    if origin is not None and config.conditional:
        reader = ReadPolicy(origin, config.cleaning_method, config.options_hash, config.keep_html)
    return CrawlWorker(
        crawl_id=joined.crawl_id,
        lease_id=uuid4().hex,
        lease_seconds=config.frontier_lease_seconds,
        most_attempts=config.frontier_max_attempts,
        most_pause_seconds=config.host_pause_max_seconds,
        reader=reader,
        is_recrawl=is_recrawl,
    )


class DownloadSlots:
    """A view of the downloader's slots, one for each host that was asked in the last minute."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._delayed: AbstractSet[str] = frozenset()
        self._begun: AbstractSet[str] = frozenset()

    def delays(self) -> Mapping[str, float]:
        """Return the seconds between two requests to each host; 0 too, for an earlier crawl may have had more.

        But 0 only after a page was asked for: until then the host's robots.txt may be on its way, which another
        process has read and keeps to.
        """
        slots = self._downloader.slots
        self._begun = {name for name, slot in slots.items() if name in self._begun or _downloads_pages(slot)}
        return {name: slot.delay for name, slot in slots.items() if slot.delay or name in self._begun}

    def newly_delayed(self) -> AbstractSet[str]:
        """Return the hosts that have had a delay only since this was last asked."""
        delayed = {name for name, seconds in self.delays().items() if seconds}
        before, self._delayed = self._delayed, delayed
        return self._delayed - before

    def free(self) -> Callable[[Request], bool]:
        """Return what tells whether a request would be sent soon, or only stand in its slot's own queue."""
        downloader = self._downloader
        full = set()
        for key, number in Counter(map(downloader.get_slot_key, downloader.active)).items():
            slot = downloader.slots.get(key)
            if number >= (slot.concurrency if slot else downloader.domain_concurrency):
                full.add(key)
        return lambda request: downloader.get_slot_key(request) not in full

    @property
    def _downloader(self) -> Downloader:
        engine = self._crawler.engine
        assert engine is not None
        return engine.downloader


def _downloads_pages(slot: Slot) -> bool:
    return any(request.callback is not NO_CALLBACK for request in slot.transferring)


@dataclass(frozen=True, slots=True)
class _QueuedRequest:
    request: Request
    at: float


class LeasedQueue:
    """A few dozen requests, each with the moment (`time.monotonic`) before which it is not to be sent."""

    def __init__(self) -> None:
        self._turns: list[_QueuedRequest] = []  # the greatest priority first, of these the first added

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, request: Request, at: float) -> None:
        insort(self._turns, _QueuedRequest(request, at), key=_urgency)

    def pop(self, now: float, is_free: Callable[[Request], bool]) -> Request | None:
        """Return the due request of the highest priority, of these the first added; None where none is due and free."""
        for number, turn in enumerate(self._turns):
            if turn.at <= now and is_free(turn.request):
                del self._turns[number]
                return turn.request
        return None

    def take(self, name: str | None = None) -> list[Request]:
        """Take out all requests, or those for one host, and return them."""
        taken = [turn for turn in self._turns if name is None or host_of(turn.request.url) == name]
        self._turns = [turn for turn in self._turns if turn not in taken]
        return [turn.request for turn in taken]


def _urgency(turn: _QueuedRequest) -> int:
    return -turn.request.priority


logger = logging.getLogger(__name__)

_LEASES_AHEAD = 32  # leases beyond what is being fetched
_TICK_SECONDS, _TICKS_PER_LEASE = 1.0, 4  # the latter at least
_MAX_UNSENT = 1_000  # start requests that wait for the database
_QUIET_TICKS = 3  # after which a lease of which nothing is heard is taken for lost


class Frontier(BaseScheduler):
    """Keeps a crawl's requests in the database: one that is killed goes on where it stood.

    What a callback yields is stored together with its visit (`crawler.middlewares.VisitMiddleware`, `Store.save`); here
    arrive start requests, retries, redirects, and what extensions add.
    """

    def __init__(self, crawler: Crawler, writer: StoreThread, config: Config) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._writer = writer
        self._config = config
        self._waiting = LeasedQueue()
        self._failures = RequestFailures(crawler, self)
        self._timer = AsyncioLoopingCall(self._tick)
        self._slots = DownloadSlots(crawler)
        self._quiet = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Return the frontier; Scrapy's own scheduler, in memory, where no pipeline stores visits."""
        context = context_of(crawler)
        if context.store_thread is None:
            logger.info("No visit is stored by this crawl: its requests are kept in memory, and are lost with it")
            return Scheduler.from_crawler(crawler)
        frontier = cls(crawler, context.store_thread, Config.read(crawler.settings))
        context.frontier = frontier
        crawler.signals.connect(frontier.spider_idle, signal=signals.spider_idle)
        return frontier

    @property
    def seeded(self) -> bool:
        """Whether all start requests are stored, by an earlier run of the crawl maybe."""
        return self._seeded

    @property
    def is_starving(self) -> bool:
        """Whether there is room for further leases, and none was left in the database when it was last asked."""
        return bool(self._space) and self._ledger.outlook is not None

    @property
    def is_drained(self) -> bool:
        """Whether nothing is being fetched or could be, and no further response than one is being read."""
        engine = self._crawler.engine
        assert engine is not None
        reading = engine.scraper.slot
        read = reading is None or not (reading.queue or len(reading.active) > 1)
        return read and self.is_starving and not self._waiting and not engine.downloader.active

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Join the crawl, or begin it. Raises StoreError where another process has it and cannot share it."""
        self._spider = spider
        config, is_recrawl = self._config, hasattr(spider, RECRAWL)
        joined = self._writer.join_crawl(spider, crawl_policy(config, is_recrawl=is_recrawl))
        self._seeded = joined.seeded or is_recrawl
        working = crawl_worker(config, joined, self._writer.store.origin, is_recrawl=is_recrawl)
        counted = partial(self._stats.set_value, QUEUED_STAT)
        self._ledger = LeaseClient(self._writer, working, self._arrived, self._slots.delays, counted)
        if joined.resumed:
            self._stats.set_value("frontier/resumed", 1)
            logger.info("Going on with crawl %d, which has not come to its end", joined.crawl_id)
        # Leases that last for seconds only are to be renewed in time.
        self._timer.start(min(_TICK_SECONDS, config.frontier_lease_seconds / _TICKS_PER_LEASE), now=False)
        return None

    def close(self, reason: str) -> Deferred[None] | None:  # noqa: ARG002 — Scrapy's
        if self._timer.running:
            self._timer.stop()
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        await self._ledger.close()
        if self._ledger.spared:
            self._stats.inc_value("recrawl/not_due", self._ledger.spared)

    async def room(self) -> None:
        """Wait until there is room for a further start request."""
        while self._ledger.unsent >= _MAX_UNSENT:
            self._stir()
            await self._ledger.wait()

    def end_seeding(self) -> None:
        """All start requests were given: they are not asked for again, whatever becomes of this process."""
        self._seeded = True
        self._ledger.seed()
        self._stir()

    def has_pending_requests(self) -> bool:
        if self._waiting or not self._ledger.is_settled:
            return True
        seen = self._ledger.outlook
        return seen is None or seen.leased > 0 or (seen.queued > 0 and not self._is_put_off())

    def enqueue_request(self, request: Request) -> bool:
        """Take a request, False for one that cannot be stored; which ones are known, only the database can tell."""
        held = self.lease(request)
        try:
            if held is None:
                self._ledger.want(self.pack(request))
            elif held.record.key.split("+")[0] == self._key(request).split("+")[0]:
                self._waiting.add(request, monotonic())
            else:
                self._redirect(request, held)
        except FrontierError as error:
            self._stats.inc_value("frontier/not_stored")
            logger.error("%s", error)  # noqa: TRY400 — it says all
            return False
        self._stir()
        return True

    def next_request(self) -> Request | None:
        request = self._waiting.pop(monotonic(), self._slots.free()) if self._waiting else None
        self._stir()
        if request is not None:
            self._stats.inc_value("scheduler/dequeued")
        return request

    def check(self, request: Request) -> None:
        """Raise FrontierError for a request that cannot be stored."""
        serialize_request(request, self._spider, "")

    def pack(self, request: Request, origin: str = "") -> RequestRecord:
        """Return a request as it is stored. Raises FrontierError for one that cannot be.

        Two that are not to be filtered are the same where they have the same `origin`, if any (see `Leased.child`).
        """
        if left_out := secret_parts(request):
            if not self._stats.get_value("frontier/secrets_left_out"):
                logger.warning(
                    "The frontier stores no secrets: %s of a request to %s are left out, and of all others. What every "
                    "request is to carry belongs into a downloader middleware",
                    " and ".join(left_out),
                    host_of(request.url),
                )
            self._stats.inc_value("frontier/secrets_left_out")
        return serialize_request(request, self._spider, self._key(request, origin))

    def lease(self, request: Request) -> LeasedRequest | None:
        """Return the lease that a request is made under, None for one that is not the frontier's."""
        return self._ledger.held.get(request.meta.get(LEASED_REQUEST_ID, 0))

    def acknowledged(self, lease_tokens: Iterable[LeaseToken]) -> None:
        """Note that the transaction of their visits has ended these leases."""
        self._ledger.ended(lease_tokens)
        self._stir()

    def leave_alone(self, name: str) -> None:
        """Give back the requests for a host that wants to be left alone; a replay asks none."""
        for request in () if self._config.replay else self._waiting.take(name):
            self._ledger.give_back(request.meta[LEASED_REQUEST_ID])

    def holds(self, lease_token: LeaseToken) -> bool:
        """Tell whether a lease has not ended yet, as far as is known here."""
        leased = self._ledger.held.get(lease_token.request_id)
        return leased is not None and leased.lease_token == lease_token

    def spider_idle(self) -> None:
        """Leave the crawl open where its hosts want to be left alone for longer than anybody wants to wait."""
        if self._is_put_off():
            raise CloseSpider(FinishReason.DEFERRED)

    def _redirect(self, request: Request, held: LeasedRequest) -> None:
        """Make a request of its own of where another one leads; it is nothing new where that is known already."""
        suffix = held.record.key.partition("+")[2]
        key = self._key(request.replace(dont_filter=False))
        # What middlewares have put there is for this process; what the spider did was stored already.
        meta = {name: value for name, value in request.meta.items() if is_json(value)}
        bare = revalidation.without_conditions(request).replace(callback=None, errback=None, meta=meta)
        target = serialize_request(bare, self._spider, f"{key}+{suffix}" if suffix else key)
        self._ledger.want(replace(target, callback=held.record.callback, errback=held.record.errback))
        self._end(held.lease_token, RequestState.DONE, RequestEnd.REDIRECTED, f"to {target.url}")

    def _arrived(self, taken: LeaseBatch) -> None:
        for leased in taken.leased:
            try:
                request = deserialize_request(leased.record, self._spider)
            except (FrontierError, TypeError, ValueError) as error:
                end = RequestEnd.CALLBACK_MISSING if isinstance(error, FrontierError) else RequestEnd.UNREADABLE
                logger.error("Request %d cannot be made: %s", leased.lease_token.request_id, error)  # noqa: TRY400 — as above
                self._end(leased.lease_token, RequestState.FAILED, end, str(error))
                continue
            request.meta[LEASED_REQUEST_ID] = leased.lease_token.request_id
            if (known := taken.known.get(leased.lease_token.request_id)) is not None:
                # A browser that is told "not modified" has nothing to show.
                revalidation.add_conditions(request, known, conditionally=not self._config.render)
            self._failures.wrap(request)
            self._waiting.add(request, monotonic() + max(0.0, (leased.start_at - taken.now).total_seconds()))
        self._wake()

    def _key(self, request: Request, origin: str = "") -> str:
        """Return what a request is known by within its crawl; one that is not to be filtered has a key of its own."""
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None
        key = fingerprinter.fingerprint(request).hex()
        if not request.dont_filter:
            return key
        # Start requests are given again, in the same order, where a crawl died before all of them were stored.
        return f"{key}+{request.meta.get(START_NUMBER) or origin or uuid4().hex[:12]}"

    def _end(self, lease_token: LeaseToken, state: RequestState, end: RequestEnd, error: str | None = None) -> None:
        self._stats.inc_value(f"frontier/{end}")
        self._ledger.end(Ack(lease_token, state, end, error))
        self._stir()

    def _tick(self) -> None:
        for name in self._slots.newly_delayed():
            # Leased when nothing said that other processes are to have their turn in between.
            self.leave_alone(name)
        self._quiet = self._quiet + 1 if self._is_quiet() else 0
        if self._quiet >= _QUIET_TICKS:
            self._give_up()
        self._stir()
        self._wake()

    def _is_quiet(self) -> bool:
        """Whether nothing is under way in this process although requests are held that have not ended."""
        engine = self._crawler.engine
        assert engine is not None
        busy = engine.downloader.active or not engine.scraper.slot or not engine.scraper.slot.is_idle()
        return bool(self._ledger.held) and not (busy or self._waiting or self._writer.waiting)

    def _give_up(self) -> None:
        for leased in list(self._ledger.held.values()):
            logger.error("Nothing was heard of the request for %s", leased.record.url)
            again = leased.attempts + 1 < self._config.frontier_max_attempts
            state = RequestState.QUEUED if again else RequestState.FAILED
            self._end(leased.lease_token, state, RequestEnd.UNACKNOWLEDGED)

    @property
    def _space(self) -> int:
        """How many further leases there is room for; 0 while there are enough."""
        return _LEASES_AHEAD - len(self._waiting) if len(self._waiting) <= _LEASES_AHEAD // 4 else 0

    def _stir(self) -> None:
        self._ledger.stir(self._space)

    def _is_put_off(self) -> bool:
        """Whether all that is left may be asked for only after FRONTIER_WAIT_SECONDS."""
        return not self._waiting and self._ledger.is_settled and self._ledger.rests(self._config.frontier_wait_seconds)

    def _wake(self) -> None:
        """Let the engine ask again; Scrapy has no other way to tell it that there is something now."""
        engine = self._crawler.engine
        if engine is not None and engine._slot is not None:  # noqa: SLF001 — as said
            engine._slot.nextcall.schedule()  # noqa: SLF001 — as above
