"""The program of a worker process, `main`, and the tasks that it can be given.

The worker's standard input is a socket to the crawl. It reads one WorkerTask and then pages, one at a time, all
pickled. It answers each with the length of a pickle and the pickle. It ends when the crawl closes the socket or is
gone; the kernel ends it if a page takes too long. Nothing here needs Scrapy or a database.
"""

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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO, Self

    from cleaning import CleanPage, Page, ParseWarning
    from cleaning.layout import Layout
    from cleaning.page_fingerprint import Fingerprinter, PageFingerprint
    from crawler.visit import FetchedPage

LENGTH_PREFIX = Struct("!Q")
"""The length of an answer, sent before it."""

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class PageToClean:
    """A page on its way to a worker: its bytes, and what parsing them in the crawl has already decided."""

    body: bytes
    url: str | None
    encoding: str
    parse_warnings: tuple[ParseWarning, ...] = ()
    layout: Layout | None = None
    template: frozenset[int] | None = None
    method: str | None = None

    @classmethod
    def from_fetched(cls, page: FetchedPage) -> Self | None:
        """Return a fetched page; None if its tree was not parsed from its bytes."""
        tree = page.tree
        if tree.encoding is None:
            return None
        return cls(page.body, tree.url, tree.encoding, tree.parse_warnings, tree.layout, tree.template, page.method)

    @classmethod
    def from_stored(cls, body: bytes, url: str | None, encoding: str | None) -> Self:
        """Return a stored page. Without an encoding the encoding is detected again."""
        return cls(body, url, encoding or decode(body).encoding)


@dataclass(frozen=True, slots=True)
class WorkerTask(Generic[ResultT]):
    """What a worker does: `prepare` once at its start, `work` for each page.

    Both must be importable by name. A worker that takes more than `seconds` for a page is killed.
    """

    seconds: float
    prepare: Callable[[], None]
    work: Callable[[PageToClean], ResultT | PageError]


def crawl_task(method: str, options: Mapping[str, Any], seconds: float) -> WorkerTask[CleanPage]:
    """Return the task of a crawl's workers: clean pages."""
    return WorkerTask(seconds, prepare_worker, partial(clean_page, method=method, options=dict(options)))


def reclean_task(
    method: str, options: Mapping[str, Any], fingerprinter: Fingerprinter, seconds: float
) -> WorkerTask[PageFingerprint]:
    """Return the task of `scrapy reclean`'s workers: clean pages and fingerprint them."""
    work = partial(_clean_and_fingerprint, method=method, options=dict(options), fingerprinter=fingerprinter)
    return WorkerTask(seconds, _prepare_to_fingerprint, work)


def clean_page(page: PageToClean, *, method: str, options: Mapping[str, Any]) -> CleanPage | PageError:
    """Return the cleaned page, equal to what the crawl's own tree gives. A PageError is returned, not raised."""
    try:
        return clean(parse_again(page), method=page.method or method, **options)
    except PageError as error:
        return error


def parse_again(page: PageToClean) -> Page:
    """Return the tree of a page that was read before. Raises PageError."""
    byte_order_mark = w3lib.encoding.read_bom(page.body)[1] or b""
    text = page.body[len(byte_order_mark) :].decode(page.encoding, "replace")
    # The crawl has checked the size of the bytes.
    parsed = parse(text, page.url, max_bytes=len(text))
    return replace(
        parsed,
        encoding=page.encoding,
        parse_warnings=page.parse_warnings,
        layout=page.layout,
        template=page.template,
    )


def _clean_and_fingerprint(
    page: PageToClean, *, method: str, options: Mapping[str, Any], fingerprinter: Fingerprinter
) -> PageFingerprint | PageError:
    cleaned = clean_page(page, method=method, options=options)
    return cleaned if isinstance(cleaned, PageError) else fingerprinter.fingerprint(cleaned.decisions)


def load_models() -> None:
    """Load the models that cleaning needs, so that a full disk or a damaged file stops the crawl at its start.

    Raises SetupError.
    """
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


def load_stemmer() -> None:
    """Import the stemmer now: it takes a second, which would otherwise delay the first page."""
    terms("stemmer")


def prepare_worker() -> None:
    """Load what makes the first page as fast as the others. Raises SetupError."""
    load_models()
    for kind in (Block, Decision):
        _pickle_by_fields(kind)


def _prepare_to_fingerprint() -> None:
    prepare_worker()
    load_stemmer()


def _pickle_by_fields(kind: type[Any]) -> None:
    """Let values of this frozen class be pickled as a call with their fields.

    A dataclass with slots is pickled field by field, in Python. Reading the decisions of a page that way took the crawl
    4.4 ms on average (wcxb-dev, 300 blocks a page); this way takes 1.9 ms.
    """
    read = attrgetter(*(declared.name for declared in fields(kind)))
    copyreg.pickle(kind, lambda value: (kind, read(value)))


@dataclass(frozen=True, slots=True)
class RaisedInWorker:
    """An exception of a worker as text, because exceptions of other libraries may not survive pickling."""

    message: str
    shown: str
    traceback: str


def main() -> None:
    """Answer the crawl until it closes the socket or is gone."""
    # systemd sends SIGTERM to all processes of a unit. The crawl gets it too and ends this worker after its page.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING)
    with socket.socket(fileno=0) as channel, channel.makefile("rb") as messages:
        try:
            _serve(channel, messages)
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            return  # the crawl has closed the socket, or was killed, possibly in the middle of a message


def _serve(channel: socket.socket, messages: BinaryIO) -> None:
    # The alarm must kill this process, even if the crawl was started with another disposition or mask.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    task: WorkerTask[Any] = pickle.load(messages)  # noqa: S301 — sent by the crawl that started us
    channel.sendall(_answer(task.prepare))
    while True:
        page = pickle.load(messages)  # noqa: S301 — as above
        signal.setitimer(signal.ITIMER_REAL, task.seconds)
        answer = _answer(task.work, page)
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.sendall(answer)


def _answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    try:
        pickled = pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 — the crawl decides what to do about it
        pickled = pickle.dumps(RaisedInWorker(str(error), repr(error), traceback.format_exc()))
    return LENGTH_PREFIX.pack(len(pickled)) + pickled
