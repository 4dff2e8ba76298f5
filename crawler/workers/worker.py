"""What a worker process runs: its main loop, and the tasks that it can be given."""

from __future__ import annotations

import copyreg
import logging
import pickle
import signal
import socket
import tempfile
import traceback
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import w3lib.encoding

from cleaning import Block, Decision, ModelError, PageError, clean, parse
from cleaning.classifier.model import load_shipped_model
from cleaning.metadata.page import load_language_model
from cleaning.parse import decode
from cleaning.terms import terms
from crawler.errors import SetupError
from crawler.fingerprinting import fingerprint_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO, Self

    from cleaning import CleanPage, ParseWarning
    from cleaning.layout import Layout
    from crawler.fingerprinting import FingerprintedPage, Fingerprinter
    from crawler.visit import FetchedPage


LENGTH_PREFIX = Struct("!Q")


@dataclass(frozen=True, slots=True)
class RaisedInWorker:
    """An exception of the other process, in words: foreign exceptions need not survive being pickled."""

    message: str
    shown: str
    traceback: str


def main() -> None:
    """Serve until the crawl is done with this process."""
    # Sent to all processes of a systemd unit: the crawl, which has it too, ends this one when its pages are done.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING)
    with socket.socket(fileno=0) as channel, channel.makefile("rb") as orders:
        try:
            _serve_pages(channel, orders)
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            return  # the crawl is done, or gone, maybe in the middle of an order


def _serve_pages(channel: socket.socket, orders: BinaryIO) -> None:
    # Whatever the crawl was started with: the alarm must end this process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    task: WorkerTask[Any] = pickle.load(orders)  # noqa: S301 — of the crawl that started us
    channel.sendall(_answer(task.prepare))
    while True:
        order = pickle.load(orders)  # noqa: S301 — as above
        signal.setitimer(signal.ITIMER_REAL, task.seconds)
        answer = _answer(task.work, order)
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.sendall(answer)


def _answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    try:
        pickled = pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 — the crawl decides what becomes of it
        pickled = pickle.dumps(RaisedInWorker(str(error), repr(error), traceback.format_exc()))
    return LENGTH_PREFIX.pack(len(pickled)) + pickled


ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class PageToClean:
    """A fetched page on its way to a cleaning process: its bytes, and what reading them has already decided."""

    body: bytes
    url: str | None
    encoding: str
    parse_warnings: tuple[ParseWarning, ...] = ()
    layout: Layout | None = None
    template: frozenset[int] | None = None
    method: str | None = None

    @classmethod
    def of(cls, fetched: FetchedPage) -> Self | None:
        """Return the page as an order; None for a tree that was not made of the page's bytes."""
        tree = fetched.tree
        if tree.encoding is None:
            return None
        return cls(
            fetched.body, tree.url, tree.encoding, tree.parse_warnings, tree.layout, tree.template, fetched.method
        )


@dataclass(frozen=True, slots=True)
class WorkerTask(Generic[ResultT]):
    """What a cleaning process is for: `prepare` is called once at its start, `work` for each page.

    Both must be importable by name. `seconds` is the longest time for a page, after which the process is killed.
    """

    seconds: float
    prepare: Callable[[], None]
    work: Callable[[PageToClean], ResultT | PageError]


def crawl_task(method: str, options: Mapping[str, Any], seconds: float) -> WorkerTask[CleanPage]:
    """Return the task of a crawl."""
    return WorkerTask(seconds, prepare_worker, partial(clean_in_worker, method=method, options=dict(options)))


def prepare_worker() -> None:
    """Do what makes the first page as fast as the others. Raises SetupError."""
    load_models()
    for kind in (Block, Decision):
        _pickle_by_fields(kind)


def load_models() -> None:
    """Load what cleaning needs now: a full disk or a damaged file is found before the crawl. Raises SetupError."""
    try:
        load_shipped_model()
        load_language_model()
    except ModelError as error:
        raise SetupError(str(error)) from error
    except OSError as error:
        raise SetupError(
            f"the language model cannot be unpacked in {tempfile.gettempdir()}: {error.strerror}; "
            "free some 30 MB there, or name another folder in the environment variable TMPDIR"
        ) from error


def clean_in_worker(order: PageToClean, *, method: str, options: Mapping[str, Any]) -> CleanPage | PageError:
    """Return the cleaned page, the same as of the tree that the crawl has; a PageError is returned, not raised."""
    mark = w3lib.encoding.read_bom(order.body)[1] or b""
    text = order.body[len(mark) :].decode(order.encoding, "replace")
    try:
        # Its size was judged when it was fetched.
        page = parse(text, order.url, max_bytes=len(text))
        known = replace(
            page,
            encoding=order.encoding,
            parse_warnings=order.parse_warnings,
            layout=order.layout,
            template=order.template,
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


@dataclass(frozen=True, slots=True)
class ProcessingOptions:
    """How pages are cleaned and marked; `max_distance` are between near-duplicates of a page, None: there are none."""

    method: str
    options: Mapping[str, Any]
    marker: Fingerprinter
    max_distance: int | None


def reclean_task(way: ProcessingOptions, seconds: float) -> WorkerTask[FingerprintedPage]:
    """Return the task of processes that clean in this way, each page within so many seconds."""
    return WorkerTask(seconds, _prepare_reclean_worker, partial(_clean_and_fingerprint, way=way))


def page_to_reclean(body: bytes, url: str, encoding: str | None) -> PageToClean:
    """Return a stored page on its way to a cleaning process; one without an encoding is decided on anew."""
    return PageToClean(body, url, encoding or decode(body).encoding)


def _prepare_reclean_worker() -> None:
    prepare_worker()
    terms("stemmer")  # imports it, which takes a second


def _clean_and_fingerprint(order: PageToClean, *, way: ProcessingOptions) -> FingerprintedPage | PageError:
    cleaned = clean_in_worker(order, method=way.method, options=way.options)
    if isinstance(cleaned, PageError):
        return cleaned
    return fingerprint_page(cleaned.decisions, way.marker, way.max_distance)
