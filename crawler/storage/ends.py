"""How the visits of a batch end their requests, in the transaction that stores them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.schedule import Bounds
from crawler.storage import frontier, hosts, lastmods, revisits
from crawler.storage.frontier import Ending, RequestState
from crawler.urls import host
from crawler.visit import PAUSES, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from crawler.storage.frontier import Ticket
    from crawler.visit import Visit

# Asked for again, while there are attempts left.
_AGAIN = frozenset({Outcome.CALLBACK_FAILED, *PAUSES})
# May be another way some day: `scrapy retry --failed` asks for them.
_FAILED = frozenset(
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
class Manners:
    """How often a request is begun, and for how long a host is left alone that refuses, first and at most (seconds).

    `revisits` bounds the time between two visits to a page. Pages are visited again unless `is_replay`: what a replay
    answers is not what their sites would. `options_hash` is of the options that pages are cleaned with. A re-crawl does
    not follow links to pages that have a time of their own. A replay would answer the same another time: nothing is
    begun again, and no host paused.
    """

    most_attempts: int = 3
    pause_seconds: float = 60.0
    most_pause_seconds: float = 21_600.0
    revisits: Bounds = Bounds()  # noqa: RUF009 — frozen
    is_replay: bool = False
    options_hash: int | None = None
    is_recrawl: bool = False


def acknowledge(connection: Connection, visits: Sequence[Visit], most_attempts: int) -> set[Ticket]:
    """End the requests of these visits; return the tickets of those that are another process's by now."""
    endings = [_ending(visit, visit.ticket, most_attempts) for visit in visits if visit.ticket and visit.ends]
    if not endings:
        return set()
    confirmed = frontier.acknowledge(connection, endings, frontier.clock(connection))
    return {each.ticket for each in endings if each.ticket.request_id not in confirmed}


def follow(connection: Connection, crawl_id: int, visits: Sequence[Visit], manners: Manners) -> frozenset[str]:
    """Store the visits' children, and leave alone the hosts that refuse; return the keys of those not due."""
    if not any(visit.ticket for visit in visits):
        return frozenset()
    wanted = [request for visit in visits for request in visit.requests]
    now = frontier.clock(connection)
    spared = revisits.not_due(connection, wanted, now) if manners.is_recrawl else frozenset()
    added = frontier.add_some(connection, crawl_id, wanted, spared, now)
    lastmods.note(connection, wanted, now)
    refusing = {host(visit.url): visit.outcome for visit in visits if visit.ticket and visit.outcome in PAUSES}
    for name, outcome in () if manners.is_replay else sorted(refusing.items()):
        hosts.pause(
            connection,
            name,
            now,
            outcome,
            first_seconds=manners.pause_seconds,
            most_seconds=manners.most_pause_seconds,
        )
    served = {host(visit.url) for visit in visits if visit.ticket and visit.outcome is Outcome.PAGE} - refusing.keys()
    if served:
        hosts.served(connection, served)
    return added.spared


def is_over(visit: Visit, most_attempts: int) -> bool:
    """Tell whether a visit is the last of its request."""
    return visit.ends and _state(visit, most_attempts) is not RequestState.QUEUED


def _ending(visit: Visit, ticket: Ticket, most_attempts: int) -> Ending:
    state = _state(visit, most_attempts)
    return Ending(ticket, state, visit.outcome, error=None if state is RequestState.DONE else visit.error)


def _state(visit: Visit, most_attempts: int) -> RequestState:
    if visit.outcome in _AGAIN:
        return RequestState.QUEUED if visit.attempts + 1 < most_attempts else RequestState.FAILED
    return RequestState.FAILED if visit.outcome in _FAILED else RequestState.DONE
