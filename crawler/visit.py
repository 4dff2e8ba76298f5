"""The vocabulary of a crawl: requests, visits and their outcomes, and a page after each processing step.

A spider's callback yields a FetchedPage. VisitMiddleware wraps it in a Visit, and three steps process its page
(`crawler/processing/`):

    FetchedPage ── clean ──▶ CleanedPage ── fingerprint ──▶ ProcessedPage ── store ──▶ database
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from cleaning.blocks import Metadata, kept_decisions
from cleaning.errors import PageFault
from cleaning.parse import parse
from cleaning.structure.nodes import StructureNode
from cleaning.structure.places import BlockPlace  # noqa: TC001 — PageStructure is decoded by its annotations
from cleaning.structure.writers.markdown import Links, to_markdown
from cleaning.structure.writers.text import TextStyle, to_layout_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Self

    from cleaning.blocks import Decision, Page, ParseWarning
    from cleaning.page_fingerprint import FingerprintedBlock, PageFingerprint
    from cleaning.structure.clean_page import CleanPage

FEW_WORDS = 150
"""The most words of an answer that is compared with others of its site to find a wall. A longer wall has the marks of a
platform or a known title; a longer page that stands at two addresses is an article."""

METHOD_META_KEY = "cleaning_method"
"""The key in a request's meta of the method that cleans its page; without it CLEANING_METHOD does."""

VISIT_TIME_KEY = "visit_time"
"""The key in a request's meta of the time (ISO 8601) at which a saved answer was captured; without it, it is now."""

RECORD_ID_KEY = "record_id"
"""The key in a request's meta of the WARC-Record-ID of the saved answer that it gets."""

SECTION_META_KEY = "section"
"""The key in a request's meta of the section whose listing links the page; it is stored if the page states none."""


visit_cleaned = object()
"""Scrapy signal with the argument `visit`: sent for each visit after its page was cleaned, also if it has no page."""


class Outcome(StrEnum):
    """How a visit ended; a closed set. Each visit is counted in the stat `visit/<outcome>`."""

    PAGE = "page"
    SECTION = "section"
    """The callback yielded no page: a listing or a sitemap."""
    NOT_HTML = "not_html"
    TOO_LARGE = "too_large"
    EMPTY = "empty"
    BINARY = "binary"
    NOT_MODIFIED = "not_modified"
    NOT_FOUND = "not_found"
    REMOVED = "removed"
    FORBIDDEN = "forbidden"
    CAPTCHA = "captcha"
    WALL = "wall"
    """A page of consent or a log-in, or another one of few words, answers in place of several pages of the site."""
    QUOTA = "quota"
    REFUSED = "refused"
    """HTTP status 429 or 503: the host asks for a pause, or its pauses were longer than the crawl waits."""
    HTTP_ERROR = "http_error"
    ROBOTS = "robots"
    ROBOTS_UNAVAILABLE = "robots_unavailable"
    """The robots.txt of the host answers with a server error, which forbids all pages for a time (RFC 9309)."""
    NOINDEX = "noindex"
    """The page says that it must not be indexed, or that its time is over: `noindex`, `none`, `unavailable_after`."""
    NOAI = "noai"
    TDM_RESERVED = "tdm_reserved"
    """The rights for text and data mining are reserved (TDM Reservation Protocol)."""
    ADDRESS = "address"
    """The URL leads to an address that crawls must not connect to, or its scheme is neither http nor https."""
    DOWNLOAD_FAILED = "download_failed"
    REDIRECT_LOOP = "redirect_loop"
    """The redirects lead back to an address of their own chain, or never end."""
    CALLBACK_FAILED = "callback_failed"
    CLEANING_FAILED = "cleaning_failed"
    CLEANING_TIMEOUT = "cleaning_timeout"
    """Cleaning took longer than CLEANING_SECONDS."""
    DROPPED = "dropped"
    """Another pipeline dropped the visit."""
    PIPELINE_FAILED = "pipeline_failed"
    """Another pipeline raised an exception for the visit."""


REFUSAL_OUTCOMES = frozenset({Outcome.FORBIDDEN, Outcome.CAPTCHA, Outcome.QUOTA, Outcome.REFUSED})
"""The site refuses our requests: the crawl slows down."""

PAUSE_OUTCOMES = frozenset({Outcome.CAPTCHA, Outcome.QUOTA})
"""The site asks for a pause: if it does so at several pages, the crawl sends its host nothing for a while."""

BUSY_OUTCOMES = frozenset({Outcome.REFUSED, Outcome.ROBOTS_UNAVAILABLE})
"""The host cannot answer now: it is paused at the first such answer, and its pages are requested again afterwards."""

LEFT_ALONE_OUTCOMES = frozenset({Outcome.NOINDEX, Outcome.NOAI, Outcome.TDM_RESERVED})
"""The publisher asks that the page be left alone: it is not stored, and a stored one is retired."""

MISSING_OUTCOMES = frozenset({Outcome.NOT_FOUND, Outcome.REMOVED})
"""The page no longer exists."""

FAILED_OUTCOMES = (
    Outcome.HTTP_ERROR,
    Outcome.ROBOTS_UNAVAILABLE,
    Outcome.DOWNLOAD_FAILED,
    Outcome.REDIRECT_LOOP,
    Outcome.CALLBACK_FAILED,
    Outcome.CLEANING_FAILED,
    Outcome.CLEANING_TIMEOUT,
)
"""Visits that failed: neither the site nor the crawl wanted it so."""

EMPTY_OUTCOMES = (
    LEFT_ALONE_OUTCOMES
    | MISSING_OUTCOMES
    | {
        Outcome.SECTION,
        Outcome.NOT_HTML,
        Outcome.TOO_LARGE,
        Outcome.EMPTY,
        Outcome.BINARY,
        Outcome.HTTP_ERROR,
        Outcome.ROBOTS,
        Outcome.REDIRECT_LOOP,
        Outcome.CLEANING_FAILED,
        Outcome.CLEANING_TIMEOUT,
    }
)
"""The address gave no page and will hardly give one soon. Refusals and failed downloads are not the address's fault."""

OUTCOME_BY_FAULT = {
    PageFault.BINARY: Outcome.BINARY,
    PageFault.FEED: Outcome.NOT_HTML,
    PageFault.XML: Outcome.NOT_HTML,
    PageFault.JSON: Outcome.NOT_HTML,
    PageFault.TOO_LARGE: Outcome.TOO_LARGE,
}
"""The outcome of a visit whose page cleaning cannot read."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request as the database stores it; `key` is unique within a crawl.

    `callback` is the name of a spider method, None for `parse`. `host` is the host name, with the port unless it is the
    scheme's default. Requests with a higher `priority` are sent first. No worker leases the request before
    `not_before`.
    """

    key: str
    url: str
    host: str
    method: str = "GET"
    headers: Mapping[str, list[str]] = field(default_factory=dict)
    body: bytes | None = None
    callback: str | None = None
    errback: str | None = None
    cb_kwargs: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    not_before: datetime | None = None

    def __repr__(self) -> str:
        return f"<RequestRecord {self.method} {self.url}>"


@dataclass(frozen=True, slots=True)
class LeaseToken:
    """Proof that this worker leases a request. It is void once the request is leased again."""

    request_id: int
    lease_id: str


class UnparsedPage:
    """A page whose bytes are decoded, and parsed only if somebody in this process needs the tree: once for all of them.

    `encoding` and `parse_warnings` are those of decoding. `declared` is the Content-Type of the response.
    """

    __slots__ = ("_body", "_declared", "_tree", "encoding", "parse_warnings", "url")

    def __init__(
        self,
        body: bytes,
        url: str | None,
        declared: str | None,
        encoding: str,
        parse_warnings: tuple[ParseWarning, ...] = (),
        tree: Page | None = None,
    ) -> None:
        self.url = url
        self.encoding = encoding
        self.parse_warnings = parse_warnings
        self._body = body
        self._declared = declared
        self._tree = tree

    @property
    def is_parsed(self) -> bool:
        return self._tree is not None

    @property
    def tree(self) -> Page:
        """The parsed page; never edit it."""
        if self._tree is None:
            # The size of the bytes was checked when they arrived.
            self._tree = parse(self._body, self.url, self._declared, max_bytes=len(self._body))
        return self._tree

    def at(self, url: str | None) -> Self:
        """Return the page at another address, with the same tree if there is one."""
        tree = None if self._tree is None else replace(self._tree, url=url)
        return type(self)(self._body, url, self._declared, self.encoding, self.parse_warnings, tree)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A content page as fetched: what `crawler.page.page` returns and a spider's callback yields.

    `source` is the page, parsed or not yet. The spider's selectors share its tree, so nobody may edit it. `stated` is
    metadata that the spider read itself; its fields win over the page's own. `method` cleans the page; None means
    CLEANING_METHOD. With `noarchive` the publisher asks that no copy of the page be kept: its HTML is not stored.
    `listed_in` is the section whose listing links the page.
    """

    url: str
    body: bytes
    source: Page | UnparsedPage
    stated: Metadata
    etag: str | None = None
    last_modified: str | None = None
    method: str | None = None
    noarchive: bool = False
    listed_in: str | None = None

    def __repr__(self) -> str:
        return f"<FetchedPage {self.url}: {len(self.body):,} bytes>"

    @property
    def tree(self) -> Page:
        """The parsed page; never edit it."""
        return self.source.tree if isinstance(self.source, UnparsedPage) else self.source

    def describe(self, read: Metadata) -> Metadata:
        """Return the page's metadata: what the spider states, else what was read, else the section of its listing."""
        listed = Metadata(section=self.listed_in, sources={"section": "listing"} if self.listed_in else {})
        return self.stated.filled_from(read).filled_from(listed)

    @property
    def unparsed(self) -> UnparsedPage:
        """The page without its tree."""
        source, encoding = self.source, self.source.encoding or "utf-8"
        return UnparsedPage(self.body, source.url, encoding, encoding, source.parse_warnings)


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the main text is written.

    `links` and `html` are as in `CleanPage.to_markdown`, `style` as in `CleanPage.to_text`.
    """

    links: Links = True
    html: bool = True
    style: TextStyle = "blocks"

    def write(self, document: StructureNode) -> str:
        """Return a tree of nodes as Markdown."""
        return to_markdown(document, links=self.links, html=self.html)

    def write_text(self, document: StructureNode) -> str | None:
        """Return a tree of nodes as plain text; None in the style of blocks, whose texts are kept beside the tree."""
        return None if self.style == "blocks" else to_layout_text(document)


@dataclass(frozen=True, slots=True)
class PageStructure:
    """The structure of a cleaned page.

    `markdown` is the main text, "" if nothing was kept. `nodes` is its tree of nodes, as MessagePack. `places` says
    where the texts stand, also the dropped cells of a table that is kept as a whole; `texts` has those by position.
    `kept` are the positions of the kept blocks.
    """

    markdown: str
    nodes: bytes
    places: tuple[BlockPlace, ...]
    texts: dict[int, str]
    kept: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<PageStructure: {len(self.markdown):,} characters of Markdown>"

    @classmethod
    def of(cls, cleaned: CleanPage) -> Self:
        """Return the structure of a page. Raises StructureError if the page has come without its tree."""
        places = cleaned.places()
        placed = {place.position for place in places}
        dropped = {
            decision.block.position: decision.block.text
            for decision in cleaned.decisions
            if decision.block.position in placed and not decision.kept
        }
        nodes = msgspec.msgpack.encode(cleaned.structure)
        return cls(cleaned.markdown, nodes, places, dropped, kept_positions(cleaned))

    def read(self, decisions: tuple[Decision, ...], title: str | None) -> StructureNode:  # noqa: ARG002 — a StructureSource
        """Return the tree of nodes."""
        return read_nodes(self.nodes)


def kept_positions(cleaned: CleanPage) -> tuple[int, ...]:
    """Return the positions of a page's kept blocks."""
    return tuple([decision.block.position for decision in kept_decisions(cleaned.decisions)])


def read_nodes(nodes: bytes) -> StructureNode:
    """Return a tree of nodes from its bytes. Raises ValueError for bytes that are not a tree of nodes."""
    return _NODES.decode(nodes)


_NODES = msgspec.msgpack.Decoder(StructureNode)


@dataclass(frozen=True, slots=True)
class CleanedPage:
    """A page with the decisions of its cleaning, and the fingerprints of its blocks if a cleaning process made them.

    `structure` is None without the setting STRUCTURE.
    """

    fetched: FetchedPage
    cleaned: CleanPage
    fingerprinted: PageFingerprint | None = field(default=None, repr=False)
    structure: PageStructure | None = None


@dataclass(frozen=True, slots=True)
class ProcessedPage:
    """A page that is ready to be stored: cleaned, its kept blocks and the whole page fingerprinted.

    `fingerprint` is None for a page of fewer unique terms than FINGERPRINT_MIN_TERMS, `structure` without the setting
    STRUCTURE.
    """

    fetched: FetchedPage
    cleaned: CleanPage
    blocks: tuple[FingerprintedBlock, ...] = field(repr=False)
    fingerprint: int | None = None
    structure: PageStructure | None = None


@dataclass(frozen=True, slots=True)
class WalledAnswer:
    """An earlier visit whose answer was a wall: the address asked for, the one that answered, how it has counted."""

    asked: str
    url: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Visit:
    """One response, or one failed request, after its callback: what was requested, how it ended, and its page.

    VisitMiddleware makes the visit. The processing steps return it with the next value of `page`, or with another
    `outcome` and no page if cleaning fails. `children` and `items` count the requests and items that the callback
    yielded. `etag` and `last_modified` are the response's. `pause_evidence` says why the host is to be paused, and
    `retry_after_seconds` for how long if the host has said so, otherwise it is 0. `moved_from` has
    the URL keys of the addresses that redirect to `url` for good, `record_id` is that of a saved answer. `few_words`
    says that the response shows hardly any text; `walled` has the earlier visits that this one shows to have met the
    same wall.

    The remaining fields are set if the database holds the frontier. `lease_token` proves the lease of `request`, which
    had failed `attempts` times before; `is_known` says that a page is stored at its address, or where that leads to;
    `requests` are the children, stored together with the visit. A callback that
    yields several pages gives several visits: each is one `part` of `parts`, and the last one ends the request.
    """

    url: str
    at: datetime
    outcome: Outcome
    status: int | None = None
    children: int = 0
    items: int = 0
    error: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    pause_evidence: str | None = None
    moved_from: tuple[str, ...] = ()
    record_id: str | None = None
    few_words: bool = False
    walled: tuple[WalledAnswer, ...] = ()
    retry_after_seconds: float = 0.0
    page: FetchedPage | CleanedPage | ProcessedPage | None = None
    lease_token: LeaseToken | None = None
    request: RequestRecord | None = None
    attempts: int = 0
    is_known: bool = True
    requests: tuple[RequestRecord, ...] = ()
    part: int = 1
    parts: int = 1

    def __repr__(self) -> str:
        """Return a short text, because Scrapy logs the whole item if a pipeline fails."""
        name = "Visit" if self.page is None else f"Visit with {type(self.page).__name__}"
        return f"<{name} {self.url}: {self.outcome}, status {self.status}>"

    @property
    def ends_request(self) -> bool:
        return self.part == self.parts
