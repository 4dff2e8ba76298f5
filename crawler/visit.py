"""What one response turned into: a visit, with a page or with the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cleaning.errors import PageFault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from cleaning.blocks import CleanPage, Decision, Metadata, Page


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request to be stored: one a crawl for each key. Without a callback it is the spider's `parse`.

    `host` is the host name, with the port where that is not the scheme's default. Of a greater `priority` is sooner;
    before `not_before` it is not leased.
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
    """Proof that a request is leased: it is good while the request has this lease."""

    request_id: int
    lease_id: str


class Outcome(StrEnum):
    """How a visit ended; a closed set, counted under these words."""

    PAGE = "page"
    SECTION = "section"
    """The callback gave no page: a listing, a sitemap."""
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
    ADDRESS = "address"
    """The URL leads where crawls do not go: into a network that is not public, or by another way than http."""
    DOWNLOAD_FAILED = "download_failed"
    CALLBACK_FAILED = "callback_failed"
    CLEANING_FAILED = "cleaning_failed"
    CLEANING_TIMEOUT = "cleaning_timeout"
    """Cleaning took longer than CLEANING_SECONDS."""
    DROPPED = "dropped"
    """Another pipeline dropped the visit."""
    PIPELINE_FAILED = "pipeline_failed"
    """Another pipeline failed on the visit."""


REFUSAL_OUTCOMES = frozenset({Outcome.FORBIDDEN, Outcome.CAPTCHA, Outcome.QUOTA})
"""The site does not want us now: slow down."""

PAUSE_OUTCOMES = frozenset({Outcome.CAPTCHA, Outcome.QUOTA})
"""The host wants to be left alone for a while."""

MISSING_OUTCOMES = frozenset({Outcome.NOT_FOUND, Outcome.REMOVED})
"""What was there once is there no more."""

OUTCOME_BY_FAULT = {PageFault.BINARY: Outcome.BINARY, PageFault.TOO_LARGE: Outcome.TOO_LARGE}
"""How a visit ends whose page cleaning cannot read."""


METHOD_META_KEY = "cleaning_method"
"""Where a request carries, in its meta, the method that its page is to be cleaned by, if not by CLEANING_METHOD."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A content page as fetched: what a spider's callback yields (see `crawler.page.page`).

    `tree` is the parsed page, shared with the spider's selectors and never edited. `stated` is what the spider
    read itself; its fields win over the page's own metadata. `method` is the one that cleans it; None for the crawl's.
    """

    url: str
    body: bytes
    tree: Page
    stated: Metadata
    etag: str | None = None
    last_modified: str | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class FingerprintedBlock:
    """A kept block on its way to the store.

    `terms` counts its unique terms; `fingerprint` is None where the block has too few of them to be compared by
    it (`FINGERPRINT_MIN_TERMS`) or is a heading. `repeats` is the position of the earlier block of the same page
    that this one repeats, with `distance` bits between them.
    """

    decision: Decision
    digest: int
    terms: int
    fingerprint: int | None
    repeats: int | None = None
    distance: int = 0


@dataclass(frozen=True, slots=True)
class Visit:
    """One response, drained: identity, outcome and, for a page, what came of it on its way down the pipelines.

    `fetched` is set by the spider's callback, `cleaned` by the clean pipeline, `candidates` by the dedup pipeline, and
    `fingerprint`, the whole page's (None where it has too few unique terms to be compared by it).

    `children` and `items` count what the callback yielded beside pages. `etag` and `last_modified` are the response's;
    a page has its own.

    With the frontier in the database, `lease_token` proves the lease of the `request`, which had failed `attempts`
    times before, and `requests` are the children, to be stored with the visit. A response may have several visits: each
    has the number of its `part` and the number of `parts`, and the last one `ends` the request.
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
    fetched: FetchedPage | None = None
    cleaned: CleanPage | None = None
    candidates: tuple[FingerprintedBlock, ...] = ()
    fingerprint: int | None = None
    lease_token: LeaseToken | None = None
    request: RequestRecord | None = None
    attempts: int = 0
    requests: tuple[RequestRecord, ...] = ()
    part: int = 1
    parts: int = 1

    @property
    def ends(self) -> bool:
        return self.part == self.parts
