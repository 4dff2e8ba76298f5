"""The download handlers of a crawl: Scrapy's for HTTP/1.1, restricted to the addresses that a crawl may connect to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, _TunnelingTCP4ClientEndpoint
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IReactorPluggableNameResolver
from twisted.web.client import HTTPConnectionPool
from zope.interface import implementer  # type: ignore[import-untyped] # it is

from crawler.config import Config
from crawler.fetching.archive import ArchiveRecorder

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.base import ReactorBase
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IConnector, IStreamClientEndpoint

    from crawler.option_values import Addresses


class AddressRefused(IgnoreRequest):
    """A request that leads where crawls do not go; Scrapy neither retries it nor logs a traceback."""

    @classmethod
    def at(cls, host: str, refusal: str) -> Self:
        """Return the exception for a host, with what `Addresses` says."""
        return cls(f"{host} leads to {refusal}, where crawls do not go unless ALLOW_ADDRESSES names the network")


class HttpHandler(HTTP11DownloadHandler):
    """Scrapy's handler, except that each connection is checked at the moment when it is made.

    So nothing lies between the check and the connection, whatever led there: a first URL, a redirect, robots.txt, a
    name that resolves differently each time. A proxy resolves names itself: there only hosts that are addresses, or
    localhost, are checked, and the proxy's own address is not.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._addresses = Config.read(crawler.settings).addresses
        self._pool = _Pool(self._pool, self._addresses)
        self._recorder = crawler.get_extension(ArchiveRecorder)

    async def download_request(self, request: Request) -> Response:
        """Raises AddressRefused, and ArchiveError where there is to be an archive that cannot be written."""
        host = urlparse_cached(request).hostname or ""
        if refusal := self._addresses.host_refusal(host):
            raise AddressRefused.at(host, refusal)
        response = await super().download_request(request)
        if self._recorder is not None:
            self._recorder.record(request, response)
        return response


class SchemeHandler:
    """Refuses requests by other ways than http and https."""

    lazy = True

    async def download_request(self, request: Request) -> Response:
        """Raises AddressRefused."""
        scheme = urlparse_cached(request).scheme
        raise AddressRefused(f"the URL's scheme is {scheme}: crawls go by http and https alone")

    async def close(self) -> None:
        """Nothing was opened."""


class _Pool(HTTPConnectionPool):
    """A pool like the given one, whose new connections go through a gate."""

    def __init__(self, like: HTTPConnectionPool, addresses: Addresses) -> None:
        super().__init__(like._reactor, persistent=like.persistent)  # type: ignore[no-untyped-call] # noqa: SLF001 — as Scrapy made it
        self.maxPersistentPerHost = like.maxPersistentPerHost
        self._factory = like._factory  # noqa: SLF001
        self._addresses = addresses

    def getConnection(self, key: Any, endpoint: IStreamClientEndpoint) -> Deferred[Any]:  # noqa: N802 — Twisted's
        if key[0] != b"http-proxy" and not isinstance(endpoint, _TunnelingTCP4ClientEndpoint):
            inner = getattr(endpoint, "_wrappedEndpoint", endpoint)  # https is http in TLS
            if not isinstance(inner, HostnameEndpoint):
                raise TypeError(f"Scrapy connects by {inner}, which is not known here and would go past the gate")
            inner._reactor = _Gate(inner._reactor, key[1].decode("ascii"), self._addresses)  # noqa: SLF001 — see _Gate
        return super().getConnection(key, endpoint)


@implementer(IReactorPluggableNameResolver)
class _Gate:
    """The reactor as an endpoint uses it: to resolve its host, to wait, and to connect to the addresses found.

    The endpoint asks the resolver, then hands each numeric address to `connectTCP`, where all its connections begin.
    """

    def __init__(self, reactor: ReactorBase, host: str, addresses: Addresses) -> None:
        self._reactor = reactor
        self._host = host
        self._addresses = addresses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def connectTCP(self, host: str, *how: Any, **more: Any) -> IConnector:  # noqa: N802 — Twisted's
        """Raises AddressRefused, and ValueError for a host that is no numeric address."""
        if refusal := self._addresses.refusal(host):
            raise AddressRefused.at(self._host, refusal)
        connector: IConnector = self._reactor.connectTCP(host, *how, **more)  # type: ignore[attr-defined]
        return connector
