"""Turn requests into stored records and back: plain values, names of the spider's methods, no secrets."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request

from crawler.errors import FrontierError
from crawler.fetching.revalidation import KNOWN_PAGE
from crawler.redact import redact_text
from crawler.storage.pages import REVISIT_KEY
from crawler.urls import host_of, without_credentials
from crawler.visit import RequestRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Spider
    from twisted.python.failure import Failure


LEASED_REQUEST_ID = "frontier_ticket"
"""Where a request carries the id of its row, through retries and redirects, but never to its children."""
START_NUMBER = "frontier_start"
"""Where a start request carries its number."""

_UNFILTERED, _FLAGS = "frontier_unfiltered", "frontier_flags"
# What Scrapy and we put there for one request or response, so that a spider's `meta=response.meta` hands it on.
_TRANSIENT_META = frozenset(
    {LEASED_REQUEST_ID, START_NUMBER, KNOWN_PAGE, REVISIT_KEY}
    | {"download_latency", "_auth_proxy", "is_start_request", "playwright_page"}
)
_PROXY, _ENVIRONMENT_PROXY = "proxy", "_scheme_proxy"
_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass(frozen=True, slots=True)
class WatchedErrback:
    """An errback, None for a request without, and `end`, which is called with the failure and that in its place."""

    errback: Callable[[Failure], Any] | None
    end: Callable[[Failure, Callable[[Failure], Any] | None], Any]

    def __call__(self, failure: Failure) -> Any:
        return self.end(failure, self.errback)


def serialize_request(request: Request, spider: Spider, key: str) -> RequestRecord:
    """Return a request as it is stored, under its key.

    Raises FrontierError for one that cannot be: its callback is no method of the spider, or what it carries is no JSON.
    Secrets are left out: see `secrets`.
    """
    headers = {
        name.decode("latin-1"): [value.decode("latin-1") for value in values]
        for name, values in request.headers.items()
        if name.decode("latin-1").lower() not in _SECRET_HEADERS
    }
    meta = _stored_meta(request)
    if request.dont_filter:
        meta[_UNFILTERED] = True
    if request.flags:
        meta[_FLAGS] = list(request.flags)
    return RequestRecord(
        key=key,
        url=without_credentials(request.url),
        host=host_of(request.url),
        method=request.method,
        headers=headers,
        body=request.body or None,
        callback=_method_name(request, "callback", spider),
        errback=_method_name(request, "errback", spider),
        cb_kwargs=_as_json(request, "cb_kwargs", request.cb_kwargs),
        meta=_as_json(request, "meta", meta),
        priority=request.priority,
    )


def deserialize_request(wanted: RequestRecord, spider: Spider) -> Request:
    """Return a stored request. Raises FrontierError where the spider has no method of the stored name any more."""
    meta = dict(wanted.meta)
    return Request(
        wanted.url,
        callback=_spider_method(wanted, wanted.callback, spider),
        errback=_spider_method(wanted, wanted.errback, spider),
        method=wanted.method,
        headers={name: [value.encode("latin-1") for value in values] for name, values in wanted.headers.items()},
        body=wanted.body,
        flags=meta.pop(_FLAGS, None),
        dont_filter=meta.pop(_UNFILTERED, False),
        meta=meta,
        priority=wanted.priority,
        cb_kwargs=dict(wanted.cb_kwargs),
    )


def secret_parts(request: Request) -> list[str]:
    """Return the names of what `pack` leaves out since it is nobody else's business; [] for most requests."""
    found = [name.decode("latin-1") for name in request.headers if name.decode("latin-1").lower() in _SECRET_HEADERS]
    if request.cookies:
        found.append("cookies")
    if without_credentials(request.url) != request.url.strip():
        found.append("user and password of the URL")
    proxy = request.meta.get(_PROXY)
    if isinstance(proxy, str) and without_credentials(_with_scheme(proxy)) != _with_scheme(proxy):
        found.append("user and password of the proxy")
    return found


def is_json(value: Any) -> bool:
    """Tell whether a value can be stored as it is: texts, numbers, lists and mappings of them."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _stored_meta(request: Request) -> dict[str, Any]:
    """Return the request's `meta` without what is of the moment; a proxy stays if the spider chose it."""
    meta = {name: value for name, value in request.meta.items() if name not in _TRANSIENT_META}
    of_environment = meta.pop(_ENVIRONMENT_PROXY, False)
    proxy = meta.pop(_PROXY, None)
    if isinstance(proxy, str) and not of_environment:
        # One that wants a password says so; without it the request would go out from here.
        meta[_PROXY] = without_credentials(_with_scheme(proxy))
    return meta


def _with_scheme(proxy: str) -> str:
    return proxy if urlsplit(proxy).netloc else f"http://{proxy}"


def _method_name(request: Request, role: str, spider: Spider) -> str | None:
    function = getattr(request, role)
    if isinstance(function, WatchedErrback):
        function = function.errback
    if function is None:
        return None
    name = getattr(function, "__name__", "")
    if getattr(function, "__self__", None) is spider:
        if getattr(spider, name, None) == function:
            return str(name)
        # A decorator that keeps no name, or one that begins with two underscores, has it go by another.
        methods = inspect.getmembers(type(spider), lambda member: member is function.__func__)
        if methods:
            return methods[0][0]
    raise FrontierError(
        f"the request for {redact_text(request.url)} has the {role} {function!r}, which is no method of the spider "
        f"{spider.name!r}; only a method can be called after a crash"
    )


def _spider_method(wanted: RequestRecord, name: str | None, spider: Spider) -> Any:
    if name is None:
        return None
    found = getattr(spider, name, None)
    if not callable(found):
        raise FrontierError(
            f"the stored request for {redact_text(wanted.url)} is for {spider.name}.{name}, which does not exist "
            f"any more"
        )
    return found


def _as_json(request: Request, part: str, values: Mapping[str, Any]) -> dict[str, Any]:
    if not values:
        return {}
    try:
        copied: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
    except (TypeError, ValueError) as error:
        named = ", ".join(name for name, value in values.items() if not is_json(value)) or "a name that is no text"
        raise FrontierError(
            f"the request for {redact_text(request.url)} carries what is no JSON in its {part} ({named}): {error}"
        ) from error
    return copied
