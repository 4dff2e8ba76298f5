"""What a cleaning process does with a page; all of it can be imported without Scrapy."""

from __future__ import annotations

import copyreg
import tempfile
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import w3lib.encoding

from cleaning import Block, Decision, ModelError, PageError, clean, parse
from cleaning.language import load_model
from cleaning.learned.model import shipped
from crawler.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from cleaning import CleanPage, Oddity
    from cleaning.layout import Layout
    from crawler.visit import Fetched

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Order:
    """A fetched page on its way to a cleaning process: its bytes, and what reading them has already decided."""

    body: bytes
    url: str | None
    encoding: str
    oddities: tuple[Oddity, ...] = ()
    layout: Layout | None = None
    template: frozenset[int] | None = None
    method: str | None = None

    @classmethod
    def of(cls, fetched: Fetched) -> Self | None:
        """Return the page as an order; None for a tree that was not made of the page's bytes."""
        tree = fetched.tree
        if tree.encoding is None:
            return None
        return cls(fetched.body, tree.url, tree.encoding, tree.oddities, tree.layout, tree.template, fetched.method)


@dataclass(frozen=True, slots=True)
class Task(Generic[Result]):
    """What a cleaning process is for: `prepare` is called once at its start, `work` for each page.

    Both must be importable by name. `seconds` is the longest time for a page, after which the process is killed.
    """

    seconds: float
    prepare: Callable[[], None]
    work: Callable[[Order], Result | PageError]


def crawl_task(method: str, options: Mapping[str, Any], seconds: float) -> Task[CleanPage]:
    """Return the task of a crawl."""
    return Task(seconds, prepare_process, partial(clean_order, method=method, options=dict(options)))


def prepare_process() -> None:
    """Do what makes the first page as fast as the others. Raises SetupError."""
    prepare()
    for kind in (Block, Decision):
        _pickle_by_fields(kind)


def prepare() -> None:
    """Load what cleaning needs now: a full disk or a damaged file is found before the crawl. Raises SetupError."""
    try:
        shipped()
        load_model()
    except ModelError as error:
        raise SetupError(str(error)) from error
    except OSError as error:
        raise SetupError(
            f"the language model cannot be unpacked in {tempfile.gettempdir()}: {error.strerror}; "
            "free some 30 MB there, or name another folder in the environment variable TMPDIR"
        ) from error


def clean_order(order: Order, *, method: str, options: Mapping[str, Any]) -> CleanPage | PageError:
    """Return the cleaned page, the same as of the tree that the crawl has; a PageError is returned, not raised."""
    mark = w3lib.encoding.read_bom(order.body)[1] or b""
    text = order.body[len(mark) :].decode(order.encoding, "replace")
    try:
        # Its size was judged when it was fetched.
        page = parse(text, order.url, max_bytes=len(text))
        known = replace(
            page, encoding=order.encoding, oddities=order.oddities, layout=order.layout, template=order.template
        )
        return clean(known, method=order.method or method, **options)
    except PageError as error:
        return error


def _pickle_by_fields(kind: type[Any]) -> None:
    """Let values of this frozen class be pickled as a call with their fields.

    A dataclass with slots pickles field by field in Python. To read the decisions of a page back took 4.4 ms of the
    crawl's own process on average (wcxb-dev, 300 blocks a page), and takes 1.9 so.
    """
    read = attrgetter(*(declared.name for declared in fields(kind)))
    copyreg.pickle(kind, lambda value: (kind, read(value)))
