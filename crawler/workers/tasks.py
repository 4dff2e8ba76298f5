"""The tasks of worker processes, and their input. Nothing here needs Scrapy or a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import w3lib.encoding

from cleaning import METHODS, CleanPage, ModelError, OptionError, ParseWarning, clean, parse
from cleaning.blocks import kept_decisions
from cleaning.classifier.shipped import load_shipped_model
from cleaning.layout import Layout  # noqa: TC001 — PageToClean is decoded by its annotations
from cleaning.metadata.languages import load_language_model
from cleaning.methods import ENTRY_POINTS
from cleaning.page_fingerprint import FingerprintedBlock, Fingerprinter, PageFingerprint
from cleaning.parse import decode
from cleaning.teaching import load_site_model
from cleaning.terms import terms
from crawler.errors import SetupError
from crawler.visit import PageStructure, UnparsedPage

if TYPE_CHECKING:
    from typing import Self

    from cleaning import Page
    from crawler.visit import FetchedPage

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class PageToClean:
    """A page on its way to a worker: its bytes, and what parsing them in the crawl has already decided.

    `structure` requests its structure. `options` are the page's own; None stands for the task's. `site_model` is the
    model of its site, in JSON.
    """

    body: bytes
    url: str | None
    encoding: str
    parse_warnings: tuple[ParseWarning, ...] = ()
    layout: Layout | None = None
    template: frozenset[int] | None = None
    method: str | None = None
    structure: bool = False
    options: dict[str, Any] | None = None
    site_model: str | None = None

    @classmethod
    def from_fetched(
        cls, page: FetchedPage, template: frozenset[int] | None = None, *, structure: bool = False
    ) -> Self | None:
        """Return a fetched page; None if its tree was not parsed from its bytes."""
        source = page.source
        if source.encoding is None:
            return None
        layout = None if isinstance(source, UnparsedPage) else source.layout
        return cls(
            page.body, source.url, source.encoding, source.parse_warnings, layout, template, page.method, structure
        )

    @classmethod
    def from_stored(cls, body: bytes, url: str | None, encoding: str | None, *, structure: bool = False) -> Self:
        """Return a stored page. Without an encoding the encoding is detected again."""
        return cls(body, url, encoding or decode(body, url=url).encoding, structure=structure)


class WorkerTask(ABC, Generic[ResultT]):
    """The task of a worker: `prepare` once at its start, `work` for each page.

    A subclass is a dataclass at the top level of a module, with fields that msgspec can encode: it is sent to the
    worker by its name and fields. Pages are of `page_type`, results of `result_type`. A worker that takes more than
    `seconds` for a page is killed.
    """

    page_type: ClassVar[Any] = PageToClean
    result_type: ClassVar[Any]
    seconds: float

    @abstractmethod
    def prepare(self) -> None:
        """Load what makes the first page as fast as the others. Raises SetupError."""

    @abstractmethod
    def work(self, page: PageToClean) -> ResultT:
        """Return the result for a page. Raises PageError."""


@dataclass(frozen=True, slots=True)
class SentKeys:
    """The keys of a FingerprintedBlock: its decision is sent once, with the page."""

    digest: int
    unique_terms: int
    fingerprint: int | None
    repeats: int | None
    distance: int

    @classmethod
    def of(cls, block: FingerprintedBlock) -> Self:
        return cls(block.digest, block.unique_terms, block.fingerprint, block.repeats, block.distance)


@dataclass(frozen=True, slots=True)
class SentPage:
    """A cleaned page, and the keys of its kept blocks and of the whole page; its structure if it was requested."""

    cleaned: CleanPage
    keys: tuple[SentKeys, ...]
    fingerprint: int | None
    structure: PageStructure | None = None

    @classmethod
    def of(cls, cleaned: CleanPage, fingerprinted: PageFingerprint, structure: PageStructure | None) -> Self:
        keys = tuple(map(SentKeys.of, fingerprinted.blocks))
        return cls(cleaned.detached(structure=False), keys, fingerprinted.fingerprint, structure)

    @property
    def fingerprinted(self) -> PageFingerprint:
        """The kept blocks with their keys."""
        kept = kept_decisions(self.cleaned.decisions)
        blocks = (
            FingerprintedBlock(decision, keys.digest, keys.unique_terms, keys.fingerprint, keys.repeats, keys.distance)
            for decision, keys in zip(kept, self.keys, strict=True)
        )
        return PageFingerprint(tuple(blocks), self.fingerprint)


@dataclass(frozen=True, slots=True)
class SentFingerprint:
    """The keys of a page's kept blocks and of the page; its structure if it was requested."""

    page_fingerprint: PageFingerprint
    structure: PageStructure | None = None

    @classmethod
    def of(
        cls,
        cleaned: CleanPage,  # noqa: ARG003 — its keys are enough
        fingerprinted: PageFingerprint,
        structure: PageStructure | None,
    ) -> Self:
        return cls(fingerprinted, structure)


class _CleaningResult(Protocol):
    @classmethod
    def of(cls, cleaned: CleanPage, fingerprinted: PageFingerprint, structure: PageStructure | None) -> Self: ...


_CleaningResultT = TypeVar("_CleaningResultT", bound=_CleaningResult)


@dataclass(frozen=True)
class _CleaningTask(WorkerTask[_CleaningResultT]):
    """Clean pages, each by its own method and options if it has them, and fingerprint them.

    `methods` are all that the pages need. A page without a method is cleaned by the first one.
    """

    methods: tuple[str, ...]
    fingerprinter: Fingerprinter
    seconds: float
    options: dict[str, Any] = field(default_factory=dict)

    def prepare(self) -> None:
        for method in self.methods:
            expect_method(method)
        load_models()
        load_stemmer()

    def work(self, page: PageToClean) -> _CleaningResultT:
        """Return the result for a page, equal to what the tree of the crawl's own process gives."""
        options = self.options if page.options is None else page.options
        model = load_site_model(page.site_model)
        cleaned = clean(parse_again(page), method=page.method or self.methods[0], site_model=model, **options)
        structure = PageStructure.of(cleaned) if page.structure else None
        result: _CleaningResultT = self.result_type.of(
            cleaned, self.fingerprinter.fingerprint(cleaned.decisions), structure
        )
        return result


class CleanTask(_CleaningTask[SentPage]):
    """The task of a crawl's workers, which need the cleaned page."""

    result_type = SentPage


class FingerprintTask(_CleaningTask[SentFingerprint]):
    """The task of `scrapy reclean`'s workers, which need the keys alone."""

    result_type = SentFingerprint


def parse_again(page: PageToClean) -> Page:
    """Return the tree of a page that was read before. Raises PageError."""
    byte_order_mark = w3lib.encoding.read_bom(page.body)[1] or b""
    text = page.body[len(byte_order_mark) :].decode(page.encoding, "replace")
    # The crawl has checked the size of the bytes.
    parsed = parse(text, page.url, max_bytes=len(text))
    return replace(
        parsed,
        encoding=page.encoding,
        parse_warnings=tuple(dict.fromkeys((*page.parse_warnings, *parsed.parse_warnings))),
        layout=page.layout,
        template=page.template,
    )


def expect_method(name: str) -> None:
    """Raise SetupError for a method that this process does not know: it was registered in another one."""
    try:
        METHODS.find(name)
    except OptionError as error:
        raise SetupError(
            f"a cleaning process cannot use the method {name!r}: {error}; a method that is registered in one process "
            f"is unknown to the others: name it as an entry point of the group {ENTRY_POINTS!r}"
        ) from error


def load_models() -> None:
    """Load the models that cleaning needs, so that a damaged file stops the crawl at its start. Raises SetupError.

    A worker loads them before its first page, whose time they would take.
    """
    try:
        load_shipped_model()
        load_language_model()
    except ModelError as error:
        raise SetupError(str(error)) from error


def load_stemmer() -> None:
    """Load the stemmer now: without the compiled core, importing NLTK would delay the first page by a second."""
    terms("stemmer")
