"""What a cleaning process does with a stored page; as in `crawler/cleaners/work.py`, without Scrapy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cleaning import PageError
from cleaning.parse import decode
from cleaning.terms import terms
from crawler.candidates import mark
from crawler.cleaners.work import Order, Task, clean_order, prepare_process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawler.candidates import Marked
    from crawler.fingerprints import Marker


@dataclass(frozen=True, slots=True)
class Way:
    """How pages are cleaned and marked; `most_bits` are between near-duplicates of a page, None: there are none."""

    method: str
    options: Mapping[str, Any]
    marker: Marker
    most_bits: int | None


def reclean_task(way: Way, seconds: float) -> Task[Marked]:
    """Return the task of processes that clean in this way, each page within so many seconds."""
    return Task(seconds, _prepare, partial(_clean_again, way=way))


def order_for(body: bytes, url: str, encoding: str | None) -> Order:
    """Return a stored page on its way to a cleaning process; one without an encoding is decided on anew."""
    return Order(body, url, encoding or decode(body).encoding)


def _prepare() -> None:
    prepare_process()
    terms("stemmer")  # imports it, which takes a second


def _clean_again(order: Order, *, way: Way) -> Marked | PageError:
    cleaned = clean_order(order, method=way.method, options=way.options)
    if isinstance(cleaned, PageError):
        return cleaned
    return mark(cleaned.decisions, way.marker, way.most_bits)
