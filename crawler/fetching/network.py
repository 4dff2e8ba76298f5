"""The download handlers of a crawl: Scrapy's HTTP/1.1 handler, restricted to the addresses that a crawl may reach."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from OpenSSL import SSL
from scrapy import signals
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
    _TunnelingTCP4ClientEndpoint,
)
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadFailedError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IReactorPluggableNameResolver
from twisted.protocols.basic import LineReceiver
from twisted.web.client import HTTPConnectionPool
from twisted.web.http_headers import InvalidHeaderName
from zope.interface import implementer  # type: ignore[import-untyped] # it is

from crawler.config import config_of
from crawler.context import context_of
from crawler.fetching.addresses import Addresses

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.base import ReactorBase
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IConnector, IStreamClientEndpoint
    from twisted.python.failure import Failure

    from crawler.fetching.archive import ArchiveRecorder


_LONG_LINE = f"more than {LineReceiver.MAX_LENGTH:,} bytes"
# The limits of curl 8.
_HEAD_MAX_BYTES = 300_000
_HEAD_MAX_LINES = 5_000

FIRST_BYTES_META_KEY = "first_bytes"
"""The request's meta key with the number of bytes after which a body is left: the response has its beginning."""


class AddressRefused(IgnoreRequest):
    """The request leads to an address that crawls may not reach; Scrapy neither retries it nor logs a traceback."""

    @classmethod
    def of_host(cls, host: str, refusal: str) -> Self:
        """Return the exception for a host and the refusal from `Addresses`."""
        return cls(f"{host} leads to {refusal}; crawls do not connect to it unless ALLOW_ADDRESSES names the network")


class HttpHandler(HTTP11DownloadHandler):
    """Scrapy's handler, except that the address of each connection is checked when the connection is made.

    Because nothing happens between the check and the connection, it covers every way to an address: a start URL, a
    redirect, robots.txt, a name that resolves differently each time. A proxy resolves names itself, so with a proxy
    only hosts that are addresses or localhost are checked; the proxy's own address is not.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        _free_threads()
        self._addresses = Addresses.read(config_of(crawler).allow_addresses)
        self._pool = _Pool(self._pool, self._addresses)
        self._archive: ArchiveRecorder | None = context_of(crawler).archive
        self._received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        crawler.signals.connect(self._leave_rest, signal=signals.bytes_received)

    async def download_request(self, request: Request) -> Response:
        """Raises AddressRefused, and ArchiveError if the crawl has an archive that cannot be written.

        Scrapy's exceptions for a failed download get a message: theirs is empty, or the `repr` of a list.
        """
        host = urlparse_cached(request).hostname or ""
        if refusal := self._addresses.host_refusal(host):
            raise AddressRefused.of_host(host, refusal)
        try:
            response = await super().download_request(request)
        except ResponseDataLossError as error:
            raise ResponseDataLossError("the body ended before its promised length") from error
        except DownloadCancelledError as error:
            limit = request.meta.get("download_maxsize", self._default_maxsize)
            too_large = f"the body has more bytes than DOWNLOAD_MAXSIZE={limit}"
            raise DownloadCancelledError(str(error) or too_large) from error
        except DownloadFailedError as error:
            reasons = getattr(error.__cause__, "reasons", ())
            failure = "; ".join(map(_reason_text, reasons)) or str(error)
            # What is cancelled is not tried again.
            is_endless = any(reason.check(_HeadTooLargeError) for reason in reasons)
            raise (DownloadCancelledError if is_endless else DownloadFailedError)(failure) from error
        if self._archive is not None:
            self._archive.record(request, response)
        return response

    def _leave_rest(self, data: bytes, request: Request) -> None:
        limit = request.meta.get(FIRST_BYTES_META_KEY)
        if limit is None:
            return
        self._received[request] = self._received.get(request, 0) + len(data)
        if self._received[request] >= limit:
            raise StopDownload(fail=False)


class _DaemonThread(Thread):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"daemon": True})


def _free_threads() -> None:
    """Let the program end although threads still resolve names: the system's resolver may take half a minute.

    Twisted waits for the threads of its pool when it stops, and Python for all that are not daemons. A thread whose
    result somebody needs has ended by then.
    """
    from twisted.internet import reactor  # noqa: PLC0415 — Scrapy installs it first

    pool = cast("ReactorBase", reactor).getThreadPool()
    if pool.threadFactory is not _DaemonThread:
        pool.threadFactory = _DaemonThread
        cast("ReactorBase", reactor).addSystemEventTrigger("before", "shutdown", pool.threads.clear)


def _reason_text(reason: Failure) -> str:
    if isinstance(reason.value, SSL.Error) and reason.value.args:
        return ", ".join(f"TLS: {text}" for *_, text in reason.value.args[0])
    if isinstance(reason.value, InvalidHeaderName):
        return f"the server sent a header with the name {reason.value}, which HTTP does not allow (RFC 9110)"
    if isinstance(reason.value, ConnectionDone):
        # Twisted closes the connection too, without another word.
        return f"the connection was closed before the headers had ended, as it is at a header line of {_LONG_LINE}"
    return reason.getErrorMessage() or type(reason.value).__name__


class SchemeHandler:
    """Refuses requests with other schemes than http and https."""

    lazy = True

    async def download_request(self, request: Request) -> Response:
        """Raises AddressRefused."""
        scheme = urlparse_cached(request).scheme
        raise AddressRefused(f"the URL's scheme is {scheme}; crawls use only http and https")

    async def close(self) -> None:
        """Do nothing: no connection is open."""


class _Pool(HTTPConnectionPool):
    """A copy of a connection pool whose new connections go through a `_Gate`."""

    def __init__(self, like: HTTPConnectionPool, addresses: Addresses) -> None:
        super().__init__(like._reactor, persistent=like.persistent)  # type: ignore[no-untyped-call] # noqa: SLF001 — a copy of Scrapy's pool
        self.maxPersistentPerHost = like.maxPersistentPerHost
        self._factory = _ClientFactory
        self._addresses = addresses

    def getConnection(self, key: Any, endpoint: IStreamClientEndpoint) -> Deferred[Any]:  # noqa: N802 — Twisted's
        if key[0] != b"http-proxy" and not isinstance(endpoint, _TunnelingTCP4ClientEndpoint):
            inner = getattr(endpoint, "_wrappedEndpoint", endpoint)  # https wraps http
            if not isinstance(inner, HostnameEndpoint):
                raise TypeError(f"Scrapy connects with {inner}, which would bypass the address check")
            inner._reactor = _Gate(inner._reactor, key[1].decode("ascii"), self._addresses)  # noqa: SLF001 — see _Gate
        return super().getConnection(key, endpoint)


class _HeadTooLargeError(Exception):
    """The head of a response has more bytes or lines than any real one."""


class _HeadParser(_LenientHTTPClientParser):
    """Scrapy's parser of responses, except that their heads are bounded; those of status 1xx count with the last."""

    _lines = _bytes = 0

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 — Twisted's
        self._lines += 1
        self._bytes += len(line) + 1
        if self._lines > _HEAD_MAX_LINES or self._bytes > _HEAD_MAX_BYTES:
            limits = f"{_HEAD_MAX_BYTES:,} bytes or {_HEAD_MAX_LINES:,} lines"
            raise _HeadTooLargeError(f"the headers of the response have more than {limits}")
        super().lineReceived(line)


class _ClientProtocol(_LenientHTTP11ClientProtocol):
    def request(self, request: Any) -> Deferred[Any]:
        response = super().request(request)
        # Twisted names the class of its parsers nowhere, so Scrapy changes it at the same place.
        assert self._parser is not None
        self._parser.__class__ = _HeadParser
        return response


class _ClientFactory(_LenientHTTP11ClientFactory):
    def buildProtocol(self, addr: Any) -> _ClientProtocol:  # noqa: ARG002, N802 — Twisted's
        return _ClientProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


@implementer(IReactorPluggableNameResolver)
class _Gate:
    """Stands in for the reactor of an endpoint and checks each address before it connects.

    The endpoint resolves its host and passes each numeric address to `connectTCP`; all its connections start there.
    """

    def __init__(self, reactor: ReactorBase, host: str, addresses: Addresses) -> None:
        self._reactor = reactor
        self._host = host
        self._addresses = addresses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def connectTCP(self, host: str, *args: Any, **kwargs: Any) -> IConnector:  # noqa: N802 — Twisted's
        """Raises AddressRefused, and ValueError for a host that is not a numeric address."""
        if refusal := self._addresses.refusal(host):
            raise AddressRefused.of_host(self._host, refusal)
        connector: IConnector = self._reactor.connectTCP(host, *args, **kwargs)  # type: ignore[attr-defined]
        return connector
