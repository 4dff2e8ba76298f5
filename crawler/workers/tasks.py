"""What worker processes do: the page that a worker is given, and the tasks. Nothing here needs Scrapy or a database."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import w3lib.encoding

from cleaning import CleanPage, ModelError, ParseWarning, clean, parse
from cleaning.classifier.shipped import load_shipped_model
from cleaning.layout import Layout  # noqa: TC001 — PageToClean is decoded by its annotations
from cleaning.metadata.languages import load_language_model
from cleaning.page_fingerprint import Fingerprinter, PageFingerprint
from cleaning.parse import decode
from cleaning.terms import terms
from crawler.errors import SetupError

if TYPE_CHECKING:
    from typing import Self

    from cleaning import Page
    from crawler.visit import FetchedPage

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
        return cls(body, url, encoding or decode(body, url=url).encoding)


class WorkerTask(ABC, Generic[ResultT]):
    """What a worker does: `prepare` once at its start, `work` for each page.

    A subclass is a dataclass at the top level of a module, with fields that msgspec can encode: it is sent to the
    worker by its name and fields. Results are of `result_type`. A worker that takes more than `seconds` for a page is
    killed.
    """

    result_type: ClassVar[Any]
    seconds: float

    @abstractmethod
    def prepare(self) -> None:
        """Load what makes the first page as fast as the others. Raises SetupError."""

    @abstractmethod
    def work(self, page: PageToClean) -> ResultT:
        """Return the result for a page. Raises PageError."""


@dataclass(frozen=True)
class CleanTask(WorkerTask[CleanPage]):
    """The task of a crawl's workers: clean pages."""

    result_type = CleanPage

    method: str
    options: dict[str, Any]
    seconds: float

    def prepare(self) -> None:
        load_models()

    def work(self, page: PageToClean) -> CleanPage:
        """Return the cleaned page, equal to what the crawl's own tree gives."""
        return clean(parse_again(page), method=page.method or self.method, **self.options)


@dataclass(frozen=True)
class FingerprintTask(WorkerTask[PageFingerprint]):
    """The task of `scrapy reclean`'s workers: clean pages and fingerprint them."""

    result_type = PageFingerprint

    method: str
    options: dict[str, Any]
    fingerprinter: Fingerprinter
    seconds: float

    def prepare(self) -> None:
        load_models()
        load_stemmer()

    def work(self, page: PageToClean) -> PageFingerprint:
        cleaned = clean(parse_again(page), method=page.method or self.method, **self.options)
        return self.fingerprinter.fingerprint(cleaned.decisions)


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
    """Load the stemmer now: without the compiled core, importing NLTK would delay the first page by a second."""
    terms("stemmer")
