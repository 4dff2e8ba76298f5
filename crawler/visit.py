"""The vocabulary of a crawl: requests, visits and their outcomes, and a page after each processing step.

A spider's callback yields a FetchedPage. VisitMiddleware wraps it in a Visit, and three steps process its page
(`crawler/processing.py`):

    FetchedPage ── clean ──▶ CleanedPage ── fingerprint ──▶ ProcessedPage ── store ──▶ database
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cleaning.errors import PageFault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from cleaning.blocks import CleanPage, Metadata, Page
    from cleaning.page_fingerprint import FingerprintedBlock

METHOD_META_KEY = "cleaning_method"
"""The key in a request's meta of the method that cleans its page; without it CLEANING_METHOD does."""


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
    QUOTA = "quota"
    HTTP_ERROR = "http_error"
    ROBOTS = "robots"
    NOINDEX = "noindex"
    """The page says that it must not be indexed, or that its time is over: `noindex`, `none`, `unavailable_after`."""
    NOAI = "noai"
    TDM_RESERVED = "tdm_reserved"
    """The rights for text and data mining are reserved (TDM Reservation Protocol)."""
    ADDRESS = "address"
    """The URL leads to an address that crawls must not connect to, or its scheme is neither http nor https."""
    DOWNLOAD_FAILED = "download_failed"
    CALLBACK_FAILED = "callback_failed"
    CLEANING_FAILED = "cleaning_failed"
    CLEANING_TIMEOUT = "cleaning_timeout"
    """Cleaning took longer than CLEANING_SECONDS."""
    DROPPED = "dropped"
    """Another pipeline dropped the visit."""
    PIPELINE_FAILED = "pipeline_failed"
    """Another pipeline raised an exception for the visit."""


REFUSAL_OUTCOMES = frozenset({Outcome.FORBIDDEN, Outcome.CAPTCHA, Outcome.QUOTA})
"""The site refuses our requests: the crawl slows down."""

PAUSE_OUTCOMES = frozenset({Outcome.CAPTCHA, Outcome.QUOTA})
"""The site asks for a pause: if it does so at several pages, the crawl sends its host nothing for a while."""

LEFT_ALONE_OUTCOMES = frozenset({Outcome.NOINDEX, Outcome.NOAI, Outcome.TDM_RESERVED})
"""The publisher asks that the page be left alone: it is not stored, and a stored one is retired."""

MISSING_OUTCOMES = frozenset({Outcome.NOT_FOUND, Outcome.REMOVED})
"""The page no longer exists."""

OUTCOME_BY_FAULT = {PageFault.BINARY: Outcome.BINARY, PageFault.TOO_LARGE: Outcome.TOO_LARGE}
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


@dataclass(frozen=True, slots=True)
class LeaseToken:
    """Proof that this worker leases a request. It is void once the request is leased again."""

    request_id: int
    lease_id: str


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A content page as fetched: what `crawler.page.page` returns and a spider's callback yields.

    `tree` is the parsed page. The spider's selectors share it, so nobody may edit it. `stated` is metadata that the
    spider read itself; its fields win over the page's own. `method` cleans the page; None means CLEANING_METHOD. With
    `noarchive` the publisher asks that no copy of the page be kept: its HTML is not stored.
    """

    url: str
    body: bytes
    tree: Page
    stated: Metadata
    etag: str | None = None
    last_modified: str | None = None
    method: str | None = None
    noarchive: bool = False


@dataclass(frozen=True, slots=True)
class CleanedPage:
    """A page with the decisions of its cleaning."""

    fetched: FetchedPage
    cleaned: CleanPage


@dataclass(frozen=True, slots=True)
class ProcessedPage:
    """A page that is ready to be stored: cleaned, its kept blocks and the whole page fingerprinted.

    `fingerprint` is None for a page of fewer unique terms than FINGERPRINT_MIN_TERMS.
    """

    fetched: FetchedPage
    cleaned: CleanPage
    blocks: tuple[FingerprintedBlock, ...]
    fingerprint: int | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """One response, or one failed request, after its callback: what was requested, how it ended, and its page.

    VisitMiddleware makes the visit. The processing steps return it with the next value of `page`, or with another
    `outcome` and no page if cleaning fails. `children` and `items` count the requests and items that the callback
    yielded. `etag` and `last_modified` are the response's. `pause_evidence` says how many of the host's last answers
    asked for a pause, if they were enough to pause the host.

    The remaining fields are set if the database holds the frontier. `lease_token` proves the lease of `request`, which
    had failed `attempts` times before; `requests` are the children, stored together with the visit. A callback that
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
    page: FetchedPage | CleanedPage | ProcessedPage | None = None
    lease_token: LeaseToken | None = None
    request: RequestRecord | None = None
    attempts: int = 0
    requests: tuple[RequestRecord, ...] = ()
    part: int = 1
    parts: int = 1

    @property
    def ends_request(self) -> bool:
        return self.part == self.parts
