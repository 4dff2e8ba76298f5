"""Requests that this process has leased and not begun: the most urgent one whose turn has come."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.urls import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request


@dataclass(frozen=True, slots=True)
class _Turn:
    request: Request
    at: float


class Waiting:
    """A few dozen requests, each with the moment (`time.monotonic`) before which it is not to be sent."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []  # the greatest priority first, of these the first added

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, request: Request, at: float) -> None:
        insort(self._turns, _Turn(request, at), key=_urgency)

    def pop(self, now: float, is_free: Callable[[Request], bool]) -> Request | None:
        """Return the due request of the highest priority, of these the first added; None where none is due and free."""
        for number, turn in enumerate(self._turns):
            if turn.at <= now and is_free(turn.request):
                del self._turns[number]
                return turn.request
        return None

    def take(self, name: str | None = None) -> list[Request]:
        """Take out all requests, or those for one host, and return them."""
        taken = [turn for turn in self._turns if name is None or host(turn.request.url) == name]
        self._turns = [turn for turn in self._turns if turn not in taken]
        return [turn.request for turn in taken]


def _urgency(turn: _Turn) -> int:
    return -turn.request.priority
