"""Scrapy's scheduler over the database: it leases requests a few at a time and acknowledges the end of each.

A crawl that is killed continues where it stopped, and several processes can work on one crawl. New requests from a
callback are stored in the transaction of their visit (`crawler.middlewares.VisitMiddleware`, `Store.save`). Only start
requests, retries, redirects and the requests of extensions arrive here.
"""

from __future__ import annotations

import logging
from bisect import insort
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import CloseSpider
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import AsyncioLoopingCall
from scrapy.utils.defer import deferred_from_coro

from crawler.config import Config, config_of
from crawler.config.arguments import RECRAWL
from crawler.context import context_of
from crawler.errors import FrontierError, StoreError
from crawler.fetching import revalidation
from crawler.fetching.redirects import MemoryScheduler, RecentKeys, moved_from, redirect_chain, sets_cookies
from crawler.fetching.throttling import NotSentError, drop_waiting
from crawler.fetching.walls import leads_to_wall
from crawler.frontier.failures import RequestFailures
from crawler.frontier.lease_client import CrawlWorker, LeaseClient, RequestEnd
from crawler.frontier.pauses import HostPauses
from crawler.frontier.serialize import (
    LEASED_REQUEST_ID,
    START_NUMBER,
    deserialize_request,
    is_json,
    secret_parts,
    serialize_request,
)
from crawler.monitoring.exit_status import QUEUED_STAT, FinishReason
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.pages import ReadPolicy
from crawler.storage.requests import Ack, RequestState, max_losses
from crawler.urls import host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from scrapy import Spider
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

    from crawler.frontier.lease_client import LeaseBatch
    from crawler.processing import StoreThread
    from crawler.storage.crawls import JoinedCrawl
    from crawler.storage.pages import PageOrigin
    from crawler.storage.requests import HostPause, LeasedRequest
    from crawler.visit import LeaseToken, RequestRecord

logger = logging.getLogger(__name__)

# Requests leased ahead of those in the downloader.
_LEASES_AHEAD = 32
_TICK_SECONDS = 1.0
# Ticks within the length of a lease, at least, so that short leases are renewed in time.
_TICKS_PER_LEASE = 4
_BUSY_STATUSES = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
# Start requests that may wait for the database.
_MAX_UNPUSHED = 1_000
# Ticks without any activity after which the held leases count as lost.
_QUIET_TICKS = 3


class Frontier(BaseScheduler):
    """Keeps a crawl's requests in the database."""

    def __init__(self, crawler: Crawler, store_thread: StoreThread, config: Config) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._store_thread = store_thread
        self._config = config
        self._queue = LeasedQueue()
        self._failures = RequestFailures(crawler, self.find_lease, self.serialize, self.pause)
        self._pauses = HostPauses(store_thread, config.host_pause_max_seconds, config.frontier_max_attempts, self._obey)
        self._timer = AsyncioLoopingCall(self._tick)
        self._slots = DownloadSlots(crawler)
        self.unasked: Counter[tuple[str, str]] = Counter()
        self._quiet_ticks = 0
        self._has_announced = False
        # Both ends of redirects whose targets are requests of their own, and targets that have answered.
        self._unanswered = RecentKeys()
        self._answered = RecentKeys()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Return the frontier, or Scrapy's own scheduler in memory if the crawl does not store visits."""
        context = context_of(crawler)
        if context.store_thread is None:
            if not context.looks_only:
                logger.info("This crawl stores no visits, so its requests are kept in memory only")
            return MemoryScheduler.from_crawler(crawler)
        frontier = cls(crawler, context.store_thread, config_of(crawler))
        context.frontier = frontier
        crawler.signals.connect(frontier.spider_idle, signal=signals.spider_idle)
        crawler.signals.connect(frontier._note_answer, signal=signals.response_received)
        crawler.signals.connect(frontier._hold_host, signal=signals.response_downloaded)
        return frontier

    # What Scrapy's engine calls.

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Join the open crawl or begin one. Raises StoreError if another process has it and cannot share it."""
        self._spider = spider
        config, is_recrawl = self._config, hasattr(spider, RECRAWL)
        policy = _crawl_policy(config, is_recrawl=is_recrawl)
        command_settings = context_of(self._crawler).command_settings
        joined = self._store_thread.join_crawl(spider, replace(policy, command_settings=command_settings))
        self._seeded = joined.seeded or is_recrawl
        self._client = LeaseClient(
            self._store_thread,
            _crawl_worker(config, joined, self._store_thread.store.origin, is_recrawl=is_recrawl),
            self._receive,
            self._slots.delays,
            partial(self._stats.set_value, QUEUED_STAT),
        )
        if joined.resumed:
            self._stats.set_value("frontier/resumed", 1)
            if not is_recrawl:  # whose command has just begun it
                logger.info("Continuing the unfinished crawl %d", joined.crawl_id)
        self._timer.start(min(_TICK_SECONDS, config.frontier_lease_seconds / _TICKS_PER_LEASE), now=False)
        return None

    def close(self, reason: str) -> Deferred[None] | None:  # noqa: ARG002 — Scrapy's
        if self._timer.running:
            self._timer.stop()
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        await self._pauses.close()
        await self._client.close()
        if self._client.skipped_not_due:
            self._stats.inc_value("recrawl/not_due", self._client.skipped_not_due)

    def has_pending_requests(self) -> bool:
        if self._queue or not self._client.is_settled:
            return True
        status = self._client.queue_status
        return status is None or status.leased > 0 or (status.queued > 0 and not self._is_deferred())

    def enqueue_request(self, request: Request) -> bool:
        """Accept a new request, a retry or a redirect; return False if it cannot be stored.

        Duplicates are accepted too: only the database knows all requests, and it ignores known ones.
        """
        leased = self.find_lease(request)
        try:
            if leased is None:
                self._client.push(self.serialize(request))
            elif leased.record.key.split("+")[0] == self._key(request).split("+")[0]:
                self._queue.add(request, monotonic())
            elif self._is_followed(request):
                self._queue.add(revalidation.without_conditions(request), monotonic())
            else:
                self._redirect(request, leased)
        except FrontierError as error:
            self._stats.inc_value("frontier/not_stored")
            logger.error("%s", error)  # noqa: TRY400 — the message is complete without a traceback
            return False
        self._sync()
        return True

    def next_request(self) -> Request | None:
        request = self._queue.pop(monotonic(), self._is_sendable()) if self._queue else None
        self._sync()
        if request is not None:
            self._stats.inc_value("scheduler/dequeued")
        return request

    def spider_idle(self) -> None:
        """Close the spider, but not the crawl, if all hosts left are paused for longer than FRONTIER_WAIT_SECONDS."""
        if self._is_deferred():
            logger.warning(
                "All requests left are for paused hosts, for longer than FRONTIER_WAIT_SECONDS=%g: the same command "
                "continues the crawl later, and `scrapy status` shows the pauses",
                self._config.frontier_wait_seconds,
            )
            raise CloseSpider(FinishReason.DEFERRED)

    # What `VisitMiddleware` calls.

    @property
    def is_seeded(self) -> bool:
        """True if all start requests are stored, by this run or by an earlier run of the crawl."""
        return self._seeded

    async def wait_for_capacity(self) -> None:
        """Wait until a further start request can be accepted."""
        while self._client.unpushed >= _MAX_UNPUSHED:
            self._sync()
            await self._client.wait()

    def end_seeding(self) -> None:
        """Record that all start requests were accepted: a later run of the crawl does not ask for them again."""
        self._seeded = True
        self._client.end_seeding()
        self._sync()

    def check_storable(self, request: Request) -> None:
        """Raise FrontierError for a request that cannot be stored."""
        serialize_request(request, self._spider, "")

    def serialize(self, request: Request, origin: str = "") -> RequestRecord:
        """Return a request as it is stored. Raises FrontierError for a request that cannot be stored.

        `origin` distinguishes unfiltered requests: two equal ones with the same origin are the same request (see
        `LeasedRequest.child`).
        """
        if left_out := secret_parts(request):
            if not self._stats.get_value("frontier/secrets_left_out"):
                logger.warning(
                    "The frontier stores no secrets: %s of a request to %s and of all later requests are left out. Add "
                    "what every request needs in a downloader middleware",
                    " and ".join(left_out),
                    host_of(request.url),
                )
            self._stats.inc_value("frontier/secrets_left_out")
        return serialize_request(request, self._spider, self._key(request, origin))

    def find_lease(self, request: Request) -> LeasedRequest | None:
        """Return the lease of a request, None for a request that is not the frontier's."""
        return self._client.leases.get(request.meta.get(LEASED_REQUEST_ID, 0))

    # What the downloader calls.

    async def mark_sent(self, request: Request) -> None:
        """Record that a request is sent, if an earlier process may have died of it. Raises NotSentError."""
        leased = self.find_lease(request)
        if leased is None or not leased.was_lost:
            return
        try:
            await self._client.mark_sent(leased)
        except StoreError as error:
            self._store_thread.fail(error)
            raise NotSentError(f"{request.url} cannot be marked as sent") from error

    # What `StorePipeline` calls.

    @property
    def is_starving(self) -> bool:
        """True if there is capacity for more leases, but the last sync found no more requests."""
        return bool(self._capacity) and self._client.queue_status is not None

    @property
    def is_drained(self) -> bool:
        """True if nothing is being fetched or can be, and at most one response is being processed."""
        engine = self._crawler.engine
        assert engine is not None
        slot = engine.scraper.slot
        processed = slot is None or not (slot.queue or len(slot.active) > 1)
        # Last attempts wait until everything else is stored.
        nothing_else = self._queue.ids() <= self._last_attempts()
        return processed and self.is_starving and nothing_else and not engine.downloader.active

    def holds(self, token: LeaseToken) -> bool:
        """Return True if this process still holds a lease; the database may know better."""
        leased = self._client.leases.get(token.request_id)
        return leased is not None and leased.lease_token == token

    def acknowledged(self, tokens: Iterable[LeaseToken]) -> None:
        """Drop leases that ended in the transaction of their visits."""
        self._client.forget(tokens)
        self._sync()
        self._wake_engine()

    def check_pauses(self) -> None:
        """Begin to read which of the hosts with leased requests are paused."""
        leased_hosts = {leased.record.host for leased in self._client.leases.values()}
        self._pauses.refresh(self._queue.hosts() | leased_hosts)

    # What `VisitMiddleware` and `RequestFailures` call.

    def pause(self, host: str, retry_after_seconds: float) -> None:
        """Send nothing more to a host from now on; the transaction of the visit tells other processes.

        Its leased requests wait here until that transaction has decided whether they are queued again.
        """
        self._pauses.pause(host, retry_after_seconds or self._config.host_pause_seconds)
        self._take_back(host)

    def end_hold(self, response: Response) -> None:
        """Go on with the host of a refusal that is decided on, unless the host is paused."""
        if response.status in _BUSY_STATUSES:
            self._pauses.end_hold(host_of(response.url))

    def _take_back(self, host: str) -> None:
        """Take the requests for a paused host out of its download slots."""
        if self._pauses.is_paused(host):
            for request in self._slots.drop(host):
                self._queue.add(request, monotonic())

    # Paused hosts.

    def _leave_alone(self, host: str) -> None:
        """Return the leased requests for a host to the queue of the database."""
        for request in self._queue.take(host):
            self._client.release(request.meta[LEASED_REQUEST_ID])

    def _leave_turns(self, hosts: AbstractSet[str]) -> None:
        """Return the requests that were leased before their hosts had a delay: other processes get their turn."""
        for host in hosts:
            if not self._config.replay and not self._pauses.is_paused(host):
                self._leave_alone(host)

    def _obey(self, pause: HostPause) -> None:
        """Give the requests for a paused host back, or end them if the crawl has given the host up."""
        if pause.outcome is None:
            self._leave_alone(pause.host)
            return
        for request in self._queue.take(pause.host):
            leased = self.find_lease(request)
            if leased is not None:
                self.unasked[site_of(request.url), pause.outcome] += 1
                error = f"not requested: {pause.host} has refused other requests for too long"
                self._end(leased.lease_token, RequestState.FAILED, RequestEnd(pause.outcome), error)

    def _hold_host(self, response: Response, request: Request) -> None:
        """Send nothing to a host that has just refused, until `VisitMiddleware` decides on its pause.

        Scrapy sends this signal before it looks for the next request of a slot.
        """
        is_page = self.find_lease(request) is not None
        if is_page and response.status in _BUSY_STATUSES and not self._config.replay:
            self._pauses.hold(host_of(request.url))
            self._take_back(host_of(request.url))

    def _is_sendable(self) -> Callable[[Request], bool]:
        """Return the test whether a request has a free slot and a host that is not paused.

        The last attempt of a request whose processes have died is made alone: no other one must be lost with it.
        """
        is_free = self._slots.free()
        last_attempts = self._last_attempts()
        in_progress = self._client.leases.keys() - self._queue.ids() if last_attempts else frozenset()
        if in_progress & last_attempts:
            return lambda _request: False
        return lambda request: (
            is_free(request)
            and not self._pauses.is_paused(host_of(request.url))
            and not (in_progress and request.meta[LEASED_REQUEST_ID] in last_attempts)
        )

    def _last_attempts(self) -> AbstractSet[int]:
        """Return the ids of the leased requests that fail for good if this process dies too."""
        sent_before = max_losses(self._config.frontier_max_attempts) - 1
        return {
            request_id
            for request_id, leased in self._client.leases.items()
            if leased.was_lost and leased.attempts >= sent_before
        }

    # Leases: received, redirected, ended.

    def _receive(self, batch: LeaseBatch) -> None:
        for leased in batch.leased:
            try:
                request = deserialize_request(leased.record, self._spider)
            except (FrontierError, TypeError, ValueError) as error:
                end = RequestEnd.CALLBACK_MISSING if isinstance(error, FrontierError) else RequestEnd.UNREADABLE
                logger.error("Request %d cannot be made: %s", leased.lease_token.request_id, error)  # noqa: TRY400 — as above
                self._end(leased.lease_token, RequestState.FAILED, end, str(error))
                continue
            request.meta[LEASED_REQUEST_ID] = leased.lease_token.request_id
            if (validators := batch.validators.get(leased.lease_token.request_id)) is not None:
                # A 304 has no body that a browser could render.
                revalidation.add_conditions(request, validators, conditionally=not self._config.render)
            self._failures.wrap(request)
            self._queue.add(request, monotonic() + max(0.0, (leased.start_at - batch.now).total_seconds()))
        unaware = self._slots.delayed() - {host for host, seconds in self._client.pushed_delays.items() if seconds}
        self._leave_turns(unaware & {leased.record.host for leased in batch.leased})
        self._wake_engine()

    def _is_followed(self, request: Request) -> bool:
        """Return True for the target of a redirect that is part of the leased request, not a request of its own.

        As requests of their own, the second A of A → B → A and the B of a second page would be known already, and
        another process would not have the cookies; and of each page that a wall hides its own visit must say so. A
        target that has answered this process is not followed: a thousand addresses may have moved to one.
        """
        key = self._url_key(request)
        chain = redirect_chain(request)
        if any(self._url_key(Request(url)) == key for url in chain) or (chain and leads_to_wall(request.url, chain[0])):
            return True
        if key in self._answered:
            return False
        return sets_cookies(request, self._crawler) or key in self._unanswered

    def _note_answer(self, request: Request) -> None:
        """Remember the target of a redirect that is not redirected further."""
        if redirect_chain(request):
            self._answered.update([self._url_key(request)])

    def _redirect(self, request: Request, leased: LeasedRequest) -> None:
        """Store the target of a redirect as a request of its own, unless it is known, and end the leased request."""
        suffix = leased.record.key.partition("+")[2]
        key = self._url_key(request)
        self._unanswered.update([key, leased.record.key.partition("+")[0]])
        # Middlewares may have added values for this process only; the spider's own values are stored already.
        meta = {name: value for name, value in request.meta.items() if is_json(value)}
        bare = revalidation.without_conditions(request).replace(callback=None, errback=None, meta=meta)
        target = serialize_request(bare, self._spider, f"{key}+{suffix}" if suffix else key)
        self._client.push(replace(target, callback=leased.record.callback, errback=leased.record.errback))
        ack = Ack(leased.lease_token, RequestState.DONE, RequestEnd.REDIRECTED, f"to {target.url}")
        self._acknowledge(ack, target.url if moved_from(request) else None)

    def _end(self, token: LeaseToken, state: RequestState, end: RequestEnd, error: str | None = None) -> None:
        self._acknowledge(Ack(token, state, end, error))

    def _acknowledge(self, ack: Ack, moved_to: str | None = None) -> None:
        self._stats.inc_value(f"frontier/{ack.outcome}")
        self._client.acknowledge(ack, moved_to)
        self._sync()

    def _url_key(self, request: Request) -> str:
        """Return the fingerprint of a request, which equal requests share."""
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None
        return fingerprinter.fingerprint(request).hex()

    def _key(self, request: Request, origin: str = "") -> str:
        """Return the key of a request within its crawl; an unfiltered request has a key of its own."""
        key = self._url_key(request)
        if not request.dont_filter:
            return key
        # If a crawl died before all start requests were stored, its next run yields them again in the same order.
        return f"{key}+{request.meta.get(START_NUMBER) or origin or uuid4().hex[:12]}"

    # The timer.

    def _tick(self) -> None:
        self._leave_turns(self._slots.newly_delayed())
        self.check_pauses()
        self._quiet_ticks = self._quiet_ticks + 1 if self._is_quiet() else 0
        if self._quiet_ticks >= _QUIET_TICKS:
            self._end_lost_leases()
        self._announce_waiting()
        self._sync()
        self._wake_engine()

    def _announce_waiting(self) -> None:
        """Log once that other processes lease all requests that are left; one of these processes may be dead."""
        status = self._client.queue_status
        if self._has_announced or self._queue or self._client.leases or status is None or not status.leased:
            return
        self._has_announced = True
        logger.info(
            "Waiting for %d requests that other processes lease; the lease of a process that has died ends after "
            "FRONTIER_LEASE_SECONDS=%g",
            status.leased,
            self._config.frontier_lease_seconds,
        )

    def _is_quiet(self) -> bool:
        """Return True if this process holds leases, but nothing is in progress."""
        engine = self._crawler.engine
        assert engine is not None
        busy = engine.downloader.active or not engine.scraper.slot or not engine.scraper.slot.is_idle()
        return bool(self._client.leases) and not (busy or self._queue or self._store_thread.waiting)

    def _end_lost_leases(self) -> None:
        for leased in list(self._client.leases.values()):
            logger.error("The request for %s was lost: no component reported its end", leased.record.url)
            again = leased.attempts + 1 < self._config.frontier_max_attempts
            state = RequestState.QUEUED if again else RequestState.FAILED
            self._end(leased.lease_token, state, RequestEnd.UNACKNOWLEDGED)

    @property
    def _capacity(self) -> int:
        """The number of further leases that fit; 0 until three quarters of the queue are free."""
        return _LEASES_AHEAD - len(self._queue) if len(self._queue) <= _LEASES_AHEAD // 4 else 0

    def _sync(self) -> None:
        self._client.sync(self._capacity)

    def _is_deferred(self) -> bool:
        """Return True if all remaining requests have to wait for longer than FRONTIER_WAIT_SECONDS."""
        wait_seconds = self._config.frontier_wait_seconds
        return not self._queue and self._client.is_settled and self._client.is_deferred(wait_seconds)

    def _wake_engine(self) -> None:
        """Let the engine ask for requests again; Scrapy has no public way to do this."""
        engine = self._crawler.engine
        if engine is not None and engine._slot is not None:  # noqa: SLF001 — see above
            engine._slot.nextcall.schedule()  # noqa: SLF001 — see above


def _crawl_policy(config: Config, *, is_recrawl: bool) -> CrawlPolicy:
    """Return the rules of a crawl for ending requests and revisiting pages."""
    return CrawlPolicy(
        max_attempts=1 if config.replay else config.frontier_max_attempts,
        pause_seconds=config.host_pause_seconds,
        max_pause_seconds=config.host_pause_max_seconds,
        revisits=config.revisits,
        options_hash=config.options_hash,
        settings=config.page_settings,
        is_replay=bool(config.replay),
        is_recrawl=is_recrawl,
    )


def _crawl_worker(config: Config, joined: JoinedCrawl, origin: PageOrigin | None, *, is_recrawl: bool) -> CrawlWorker:
    """Return this process as a worker on a crawl, with a new lease id."""
    reader = None
    if origin is not None and config.conditional:
        reader = ReadPolicy(origin, config.cleaning_method, config.keep_html)
    return CrawlWorker(
        crawl_id=joined.crawl_id,
        lease_id=uuid4().hex,
        lease_seconds=config.frontier_lease_seconds,
        max_attempts=config.frontier_max_attempts,
        max_pause_seconds=config.host_pause_max_seconds,
        revisits=config.revisits,
        reader=reader,
        is_recrawl=is_recrawl,
    )


class DownloadSlots:
    """A view of the downloader's slots; there is one for each host that was asked in the last minute."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._delayed: AbstractSet[str] = frozenset()
        self._started: AbstractSet[str] = frozenset()

    def delays(self) -> Mapping[str, float]:
        """Return the seconds between two requests to each host, including 0: an earlier crawl may have had more.

        A delay of 0 is only returned after a page was requested. Before that, the host's robots.txt may still be
        loading, while another process has read it and keeps its delay.
        """
        slots = self._downloader.slots
        self._started = {name for name, slot in slots.items() if name in self._started or _downloads_pages(slot)}
        return {name: slot.delay for name, slot in slots.items() if slot.delay or name in self._started}

    def delayed(self) -> AbstractSet[str]:
        """Return the hosts that have a delay."""
        return {name for name, seconds in self.delays().items() if seconds}

    def newly_delayed(self) -> AbstractSet[str]:
        """Return the hosts that have a delay now but had none at the previous call."""
        before, self._delayed = self._delayed, self.delayed()
        return self._delayed - before

    def free(self) -> Callable[[Request], bool]:
        """Return the test whether a request has a free slot, and would not wait there."""
        downloader = self._downloader
        full = set()
        for key, number in Counter(map(downloader.get_slot_key, downloader.active)).items():
            slot = downloader.slots.get(key)
            if number >= (slot.concurrency if slot else downloader.domain_concurrency):
                full.add(key)
        return lambda request: downloader.get_slot_key(request) not in full

    def drop(self, host: str) -> list[Request]:
        """Remove and return the requests for a host that still wait in its slots; Scrapy's own requests stay."""
        dropped = []
        for slot in self._downloader.slots.values():
            dropped += drop_waiting(slot, lambda request: host_of(request.url) == host)
        return dropped

    @property
    def _downloader(self) -> Downloader:
        engine = self._crawler.engine
        assert engine is not None
        return engine.downloader


def _downloads_pages(slot: Slot) -> bool:
    return any(request.callback is not NO_CALLBACK for request in slot.transferring)


class LeasedQueue:
    """The leased requests that are not in the downloader yet, a few dozen, each with its earliest time to be sent."""

    def __init__(self) -> None:
        # Sorted by descending priority; among equal priorities, in the order of arrival.
        self._requests: list[_QueuedRequest] = []

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: Request, earliest_time: float) -> None:
        """Add a request that may be sent from a time (`time.monotonic`) on."""
        insort(self._requests, _QueuedRequest(request, earliest_time), key=_descending_priority)

    def pop(self, now: float, is_free: Callable[[Request], bool]) -> Request | None:
        """Return the first request of the highest priority that is due and free; None if there is none."""
        for number, queued in enumerate(self._requests):
            if queued.earliest_time <= now and is_free(queued.request):
                del self._requests[number]
                return queued.request
        return None

    def ids(self) -> set[int]:
        """Return the ids of all requests."""
        return {queued.request.meta[LEASED_REQUEST_ID] for queued in self._requests}

    def hosts(self) -> set[str]:
        """Return the hosts of all requests."""
        return {host_of(queued.request.url) for queued in self._requests}

    def take(self, host: str | None = None) -> list[Request]:
        """Remove and return all requests, or those for one host."""
        taken = [queued for queued in self._requests if host is None or host_of(queued.request.url) == host]
        self._requests = [queued for queued in self._requests if queued not in taken]
        return [queued.request for queued in taken]


@dataclass(frozen=True, slots=True)
class _QueuedRequest:
    request: Request
    earliest_time: float


def _descending_priority(queued: _QueuedRequest) -> int:
    return -queued.request.priority
