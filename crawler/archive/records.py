"""A request and its response as WARC records: what was sent and what came, without secrets."""

from __future__ import annotations

import zlib
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING

from scrapy.utils.httpobj import urlparse_cached
from w3lib.url import safe_url_string
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.mask import looks_secret, mask_text
from crawler.urls import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.http.headers import Headers
    from warcio.recordloader import ArcWarcRecord

_VERSION = "WARC/1.1"
# Of the transfer, which is over, or true of other bytes than those recorded.
_SPENT = frozenset({"transfer-encoding", "content-length"})
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# What Scrapy's handler calls a body that is not whole, and what the standard does.
_TRUNCATED = {"partial": "disconnect", "download_stopped": "unspecified"}
_LEVEL = 3
# A body that came compressed: trying harder finds nothing.
_LEVEL_PACKED = 1


class Records:
    """Makes the records of one crawl, each a gzip member of its own; `opening` says whose they are."""

    def __init__(self, name: str, crawl: Mapping[str, str]) -> None:
        self._made = BytesIO()
        self._writer = WARCWriter(self._made, gzip=False, warc_version=_VERSION)
        record = self._writer.create_warcinfo_record(name, crawl)
        self._of_crawl = {"WARC-Warcinfo-ID": record.rec_headers.get_header("WARC-Record-ID")}
        self.opening = self._packed(record, _LEVEL)

    def pair(self, request: Request, response: Response) -> bytes:
        """Return the response and then its request, as bytes to be appended to an archive."""
        url = _url(request.url)
        answer = self._writer.create_warc_record(
            url,
            "response",
            payload=BytesIO(response.body),
            length=len(response.body),
            http_headers=_answer(request, response),
            warc_headers_dict=self._of_crawl | _circumstances(request, response),
        )
        asked = self._writer.create_warc_record(
            url,
            "request",
            http_headers=_question(request, url),
            warc_headers_dict=self._of_crawl
            | {
                "WARC-Date": answer.rec_headers.get_header("WARC-Date"),
                "WARC-Concurrent-To": answer.rec_headers.get_header("WARC-Record-ID"),
            },
        )
        level = _LEVEL_PACKED if "Content-Encoding" in response.headers else _LEVEL
        return self._packed(answer, level) + self._packed(asked, _LEVEL_PACKED)

    def _packed(self, record: ArcWarcRecord, level: int) -> bytes:
        self._writer.write_record(record)
        made = self._made.getvalue()
        self._made.seek(0)
        self._made.truncate()
        packing = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS + 16)
        return packing.compress(made) + packing.flush()


def _url(url: str) -> str:
    return mask_text(without_credentials(url)).partition("#")[0]


def _circumstances(request: Request, response: Response) -> dict[str, str]:
    found = {}
    # Of a request through a proxy it is the proxy's.
    if response.ip_address is not None and "proxy" not in request.meta:
        found["WARC-IP-Address"] = str(response.ip_address)
    if truncated := next((_TRUNCATED[flag] for flag in response.flags if flag in _TRUNCATED), None):
        found["WARC-Truncated"] = truncated
    return found


def _answer(request: Request, response: Response) -> StatusAndHeaders:
    headers = list(_told(response.headers))
    if request.method != "HEAD" and response.status not in _BODILESS:
        headers.append(("Content-Length", str(len(response.body))))
    return StatusAndHeaders(f"{response.status} {_phrase(response.status)}", headers, response.protocol or "HTTP/1.1")


def _question(request: Request, url: str) -> StatusAndHeaders:
    """Return a request's head. Its body is left out: it may hold what a form was filled in with, a password for one."""
    parts = urlparse_cached(request.replace(url=safe_url_string(url)))
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    headers = list(_told(request.headers))
    if "Host" not in request.headers:
        headers.insert(0, ("Host", parts.netloc))
    return StatusAndHeaders(f"{request.method} {target} HTTP/1.1", headers, is_http_request=True)


def _told(headers: Headers) -> Iterator[tuple[str, str]]:
    for name, values in headers.items():
        told = _in_ascii(name)
        if told.lower() not in _SPENT and not looks_secret(told):
            for value in values:
                yield told, mask_text(_in_ascii(value))


def _in_ascii(value: bytes) -> str:
    """Return a header's name or value as the standard wants it; an address leads to the same place as before."""
    return "".join(chr(byte) if byte in range(0x20, 0x7F) else f"%{byte:02X}" for byte in value)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
