"""Conditional requests: ask a server only for changed pages, and recognise unchanged ones."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

from crawler.fetching.response_filter import Rejection
from crawler.visit import Outcome

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from crawler.storage.pages import PageValidators


KNOWN_PAGE = "frontier_known"
"""The key in a request's `meta` for its page's stored validators; it is neither stored nor passed on to children."""

_CONDITIONS = ("If-None-Match", "If-Modified-Since")


def add_conditions(request: Request, known: PageValidators, *, conditionally: bool) -> None:
    """Add the stored page and its conditional headers to a request; a request's own conditions take precedence."""
    if not conditionally or _has_conditions(request):
        known = replace(known, etag=None, last_modified=None)
    request.meta[KNOWN_PAGE] = known
    for name, value in zip(_CONDITIONS, (known.etag, known.last_modified), strict=True):
        if value is not None:
            request.headers[name] = value.encode("latin-1", "replace")


def without_conditions(request: Request) -> Request:
    """Return the request without the conditions that `add_conditions` added; its own stay."""
    if not is_conditional(request):
        return request
    known = request.meta[KNOWN_PAGE]
    bare: Request = request.replace(meta=request.meta | {KNOWN_PAGE: replace(known, etag=None, last_modified=None)})
    for name in _CONDITIONS:
        bare.headers.pop(name, None)
    return bare


def is_conditional(request: Request) -> bool:
    """Return True if `add_conditions` added a condition to a request."""
    known = request.meta.get(KNOWN_PAGE)
    return known is not None and not (known.etag is None and known.last_modified is None)


def is_doubtful_304(request: Request, response: Response) -> bool:
    """Return True for a 304 to our conditions with another ETag than the stored page, so about another version."""
    known = request.meta.get(KNOWN_PAGE)
    if response.status != HTTPStatus.NOT_MODIFIED or known is None or known.etag is None:
        return False
    etag = response.headers.get("ETag")
    return etag is not None and _opaque_tag(etag.decode("latin-1")) != _opaque_tag(known.etag)


def reject_unmodified(request: Request, response: Response) -> Rejection | None:
    """Return the rejection of a response with the stored body, or of a 304 without a condition; None for others."""
    if response.status == HTTPStatus.NOT_MODIFIED and not _has_conditions(request):
        return Rejection(Outcome.HTTP_ERROR, f"HTTP status {response.status}, although the request had no condition")
    known = request.meta.get(KNOWN_PAGE)
    if known is None or response.status != HTTPStatus.OK or xxh64_intdigest(response.body) != known.body_hash:
        return None
    return Rejection(Outcome.NOT_MODIFIED, "the body is equal to the stored one")


def _has_conditions(request: Request) -> bool:
    return any(name in request.headers for name in _CONDITIONS)


def _opaque_tag(etag: str) -> str:
    """Return an entity tag without its weakness flag, for comparison."""
    return etag.strip().removeprefix("W/")
