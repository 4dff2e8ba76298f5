"""Turn requests into stored records and back: plain values, names of the spider's methods, no secrets."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter, fingerprint

from crawler.errors import FrontierError
from crawler.fetching.revalidation import KNOWN_PAGE
from crawler.redact import redact_text
from crawler.storage.pages import REVISIT_KEY
from crawler.urls import has_own_fragment, host_of, plain_url, without_credentials
from crawler.visit import RequestRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Spider
    from twisted.python.failure import Failure

LEASED_REQUEST_ID = "frontier_ticket"
"""The key in `meta` for the id of a leased request; it survives retries and redirects, but no child gets it."""
START_NUMBER = "frontier_start"
"""The key in `meta` for the number of a start request."""
_UNFILTERED, _FLAGS = "frontier_unfiltered", "frontier_flags"

# Values in `meta` that belong to one request or response; a spider that uses `meta=response.meta` passes them on.
_TRANSIENT_META = frozenset(
    {LEASED_REQUEST_ID, START_NUMBER, KNOWN_PAGE, REVISIT_KEY}
    | {"download_latency", "_auth_proxy", "is_start_request", "playwright_page"}
)

_PROXY, _ENVIRONMENT_PROXY = "proxy", "_scheme_proxy"

_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


class PageFingerprinter(RequestFingerprinter):
    """Scrapy's fingerprints of requests, with one for all addresses that have one `crawler.urls.url_key`.

    So tracking parameters make no other request, and `#!/1` and `#!/2` are two pages.
    """

    def fingerprint(self, request: Request) -> bytes:
        if (plain := plain_url(request.url)) != request.url:
            request = Request(plain, method=request.method, body=request.body)
        return fingerprint(request, keep_fragments=has_own_fragment(plain))


def serialize_request(request: Request, spider: Spider, key: str) -> RequestRecord:
    """Return the stored form of a request.

    Raises FrontierError if a callback is not a method of the spider, or a value is not JSON. Secrets are left out (see
    `secret_parts`).
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


def deserialize_request(record: RequestRecord, spider: Spider) -> Request:
    """Return the request of a record. Raises FrontierError if the spider no longer has a stored callback."""
    meta = dict(record.meta)
    return Request(
        record.url,
        callback=_spider_method(record, record.callback, spider),
        errback=_spider_method(record, record.errback, spider),
        method=record.method,
        headers={name: [value.encode("latin-1") for value in values] for name, values in record.headers.items()},
        body=record.body,
        flags=meta.pop(_FLAGS, None),
        dont_filter=meta.pop(_UNFILTERED, False),
        meta=meta,
        priority=record.priority,
        cb_kwargs=dict(record.cb_kwargs),
    )


@dataclass(frozen=True, slots=True)
class WatchedErrback:
    """Wraps a request's errback, which may be None: `end` is called instead, with the failure and the errback."""

    errback: Callable[[Failure], Any] | None
    end: Callable[[Failure, Callable[[Failure], Any] | None], Any]

    def __call__(self, failure: Failure) -> Any:
        return self.end(failure, self.errback)


def secret_parts(request: Request) -> list[str]:
    """Return the names of the secrets that `serialize_request` leaves out; [] for most requests."""
    secrets = [name.decode("latin-1") for name in request.headers if name.decode("latin-1").lower() in _SECRET_HEADERS]
    if request.cookies:
        secrets.append("cookies")
    if without_credentials(request.url) != request.url.strip():
        secrets.append("user and password of the URL")
    proxy = request.meta.get(_PROXY)
    if isinstance(proxy, str) and without_credentials(_with_scheme(proxy)) != _with_scheme(proxy):
        secrets.append("user and password of the proxy")
    return secrets


def is_json(value: Any) -> bool:
    """Return True if a value can be stored as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _stored_meta(request: Request) -> dict[str, Any]:
    """Return `meta` without the transient values; a proxy stays if the spider chose it."""
    meta = {name: value for name, value in request.meta.items() if name not in _TRANSIENT_META}
    of_environment = meta.pop(_ENVIRONMENT_PROXY, False)
    proxy = meta.pop(_PROXY, None)
    if isinstance(proxy, str) and not of_environment:
        # A proxy that needs a password rejects the request. Without the proxy, the request would come from this host.
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
        # The method has another attribute name: a decorator changed `__name__`, or the name is mangled.
        methods = inspect.getmembers(type(spider), lambda member: member is function.__func__)
        if methods:
            return methods[0][0]
    raise FrontierError(
        f"the request for {redact_text(request.url)} has the {role} {function!r}, which is not a method of the "
        f"spider {spider.name!r}; only a method can be called after a restart"
    )


def _spider_method(record: RequestRecord, name: str | None, spider: Spider) -> Any:
    if name is None:
        return None
    method = getattr(spider, name, None)
    if not callable(method):
        raise FrontierError(
            f"the stored request for {redact_text(record.url)} is for {spider.name}.{name}, which no longer exists"
        )
    return method


def _as_json(request: Request, part: str, values: Mapping[str, Any]) -> dict[str, Any]:
    if not values:
        return {}
    try:
        copied: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
    except (TypeError, ValueError) as error:
        keys = ", ".join(name for name, value in values.items() if not is_json(value)) or "a key is not a string"
        raise FrontierError(
            f"the request for {redact_text(request.url)} has a value in its {part} that JSON cannot store "
            f"({keys}): {error}"
        ) from error
    return copied
