"""What the visits of a batch mean for their requests and hosts: requests end, lead to others, and hosts are paused."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from crawler.storage import due, pages, requests
from crawler.storage.requests import Ack, RequestState
from crawler.urls import host_of, url_key
from crawler.visit import BUSY_OUTCOMES, EMPTY_OUTCOMES, PAUSE_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.storage.crawls import CrawlPolicy
    from crawler.storage.pages import PageRecord
    from crawler.visit import LeaseToken, Visit

logger = logging.getLogger(__name__)

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


def acknowledge_visits(connection: Connection, visits: Sequence[Visit], policy: CrawlPolicy) -> set[LeaseToken]:
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


def is_last_visit(visit: Visit, policy: CrawlPolicy) -> bool:
    """Return True if no further visit of the same request follows."""
    return visit.ends_request and _request_state(visit, policy) is not RequestState.QUEUED


def queued_again(visit: Visit, policy: CrawlPolicy) -> bool:
    """Return True if the visit's request is made again later."""
    return bool(visit.lease_token) and visit.ends_request and not is_last_visit(visit, policy)


def follow(connection: Connection, crawl_id: int, visits: Sequence[Visit], policy: CrawlPolicy) -> frozenset[str]:
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


def pause_hosts(connection: Connection, crawl_id: int, visits: Sequence[Visit], policy: CrawlPolicy) -> dict[str, int]:
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


def empty_visits(pairs: Sequence[tuple[Visit, PageRecord | None]], policy: CrawlPolicy) -> Iterator[due.EmptyVisit]:
    """Yield the visits of a batch that brought neither a page nor links."""
    for visit, record in pairs:
        is_empty = record is None and not visit.children and visit.outcome in EMPTY_OUTCOMES
        if is_empty and is_last_visit(visit, policy):
            yield due.EmptyVisit(
                url_key(visit.url if visit.request is None else visit.request.url), visit.outcome, visit.at
            )
