"""Unpack compressed bodies: Scrapy's middleware, except that a damaged body is a failed download.

Scrapy returns as much as can be unpacked. Half a page would be stored like a page that has lost its second half.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, cast

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DownloadFailedError
from scrapy.utils._compression import _check_max_size, _DecompressionMaxSizeExceeded, brotli, zstd  # type: ignore[attr-defined] # the packages that Scrapy has found

from cleaning.errors import PageError, PageFault
from crawler.fetching.network import FIRST_BYTES_META_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_CHUNK_BYTES = 65_536


class DamagedBodyError(DownloadFailedError):
    """The body of a response cannot be unpacked, or ends too early."""


class CompressionMiddleware(HttpCompressionMiddleware):
    """Raises DamagedBodyError for a body that is damaged at each of `RETRY_TIMES` further attempts.

    With DOWNLOAD_FAIL_ON_DATALOSS=false the part that can be unpacked is used. Of a request that wants only the
    beginning of a body (FIRST_BYTES_META_KEY) it is unpacked as far, however large the whole is.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        self._crawler = crawler
        self._lenient = HttpCompressionMiddleware(crawler=crawler)
        self._beginning = _BeginningMiddleware(crawler=crawler)
        self._strict = crawler.settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self._retries = crawler.settings.getbool("RETRY_ENABLED")

    def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002 — Scrapy's
    ) -> Request | Response:
        try:
            return self.unpack(request, response)
        except DamagedBodyError as error:
            assert self._crawler.spider is not None
            retries = self._retries and not request.meta.get("dont_retry")
            again = get_retry_request(request, spider=self._crawler.spider, reason=error) if retries else None
            if again is None:
                raise
            return again

    def unpack(self, request: Request, response: Response) -> Response:
        """Return the response with its body unpacked. Raises DamagedBodyError."""
        unpack = super().process_response
        if limit := request.meta.get(FIRST_BYTES_META_KEY):
            unpack = self._beginning.process_response
            request = request.replace(meta=request.meta | {"download_maxsize": limit})
        elif not request.meta.get("download_fail_on_dataloss", self._strict):
            unpack = self._lenient.process_response
        return cast("Response", unpack(request, response))

    @staticmethod
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        """Return a body without one of its encodings; Scrapy calls this for each."""
        if not body:
            return body
        name, size, chunks = encoding.decode(), 0, []
        try:
            for chunk in _READERS[name](body):
                size += len(chunk)
                _check_max_size(size, max_size)
                chunks.append(chunk)
        except EOFError as error:
            raise DamagedBodyError(f"the {name} body of {len(body)} bytes is cut off") from error
        except (OSError, zlib.error, brotli.error, zstd.ZstdError) as error:
            raise DamagedBodyError(f"the body of {len(body)} bytes cannot be unpacked as {name}: {error}") from error
        return b"".join(chunks)


class _BeginningMiddleware(HttpCompressionMiddleware):
    """Scrapy's middleware, except that of a large or a damaged body the beginning is unpacked."""

    @staticmethod
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        beginning = bytearray()
        with suppress(EOFError, OSError, zlib.error, brotli.error, zstd.ZstdError):
            for chunk in _READERS[encoding.decode()](body) if body else ():
                beginning += chunk
                if len(beginning) >= max_size:
                    break
        return bytes(beginning)


def unpack_body(body: bytes, encodings: str, max_bytes: int) -> bytes:
    """Return a body without the encodings of its Content-Encoding header; an unknown one, and all before it, stay.

    Raises DamagedBodyError, and PageError if the body has more than `max_bytes`.
    """
    for name in reversed([word.strip().lower() for word in encodings.split(",")]):
        if name not in _READERS:
            return body
        try:
            body = CompressionMiddleware._decode(body, name.encode(), max_bytes)  # noqa: SLF001 — of this module
        except _DecompressionMaxSizeExceeded as error:
            raise PageError(PageFault.TOO_LARGE, f"more than PAGE_MAX_BYTES={max_bytes} bytes, unpacked") from error
    return body


def _read_gzip(body: bytes) -> Iterator[bytes]:
    file, started = gzip.GzipFile(fileobj=BytesIO(body)), False
    while True:
        try:
            chunk = file.read1(_CHUNK_BYTES)
        except gzip.BadGzipFile:
            # A wrong checksum, or something else after the end. Browsers do not mind.
            if started:
                return
            raise
        if not chunk:
            return
        started = True
        yield chunk


def _read_deflate(body: bytes) -> Iterator[bytes]:
    # Some servers send the deflated data without zlib's header.
    has_header = body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
    decompressor = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
    while body and not decompressor.eof:
        yield decompressor.decompress(body, _CHUNK_BYTES)
        body = decompressor.unconsumed_tail
    if not decompressor.eof:
        raise EOFError


def _read_brotli(body: bytes) -> Iterator[bytes]:
    decompressor = brotli.Decompressor()
    chunk = decompressor.process(body, output_buffer_limit=_CHUNK_BYTES)
    while chunk:
        yield chunk
        chunk = b"" if decompressor.is_finished() else decompressor.process(b"", output_buffer_limit=_CHUNK_BYTES)
    if not decompressor.is_finished():
        raise EOFError


def _read_zstd(body: bytes) -> Iterator[bytes]:
    file = zstd.ZstdFile(BytesIO(body))
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


_READERS = {"gzip": _read_gzip, "x-gzip": _read_gzip, "deflate": _read_deflate, "br": _read_brotli, "zstd": _read_zstd}
