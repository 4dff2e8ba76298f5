"""A body that is damaged or incomplete is a failed download with a reason, never a page."""

import gzip
import socketserver
import threading
import zlib
from functools import partial

import brotli
import pytest
from backports import zstd
from scrapy.utils._compression import _DecompressionMaxSizeExceeded

from crawler.fetching.compression import CompressionMiddleware, DamagedBodyError

PROSE = "The river rose in the night and carried the old bridge {} to the mill, where it lies until today. "
PAGE = "".join(f"<p>{PROSE.format(number) * 4}</p>" for number in range(80)).encode()


def deflate_bare(data):
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


PACKERS = {
    "gzip": (b"gzip", gzip.compress),
    "x-gzip": (b"x-gzip", gzip.compress),
    "zlib": (b"deflate", zlib.compress),
    "bare deflate": (b"deflate", deflate_bare),
    "brotli": (b"br", partial(brotli.compress, quality=5)),
    "zstd": (b"zstd", zstd.compress),
}


def unpack(body, encoding, max_size=0):
    return CompressionMiddleware._decode(body, encoding, max_size)


@pytest.mark.parametrize("name", PACKERS)
def test_a_whole_body_is_unpacked_and_a_part_of_it_is_not(name):
    encoding, pack = PACKERS[name]
    large = PAGE * 20  # several chunks
    assert unpack(pack(large), encoding) == large
    body = pack(PAGE)
    assert unpack(body, encoding) == PAGE
    for size in {1, 2, 5, 20, len(body) // 2, len(body) - 1}:
        with pytest.raises(DamagedBodyError, match=f"body of {size} bytes (is cut off|cannot be unpacked)"):
            unpack(body[:size], encoding)
    with pytest.raises(_DecompressionMaxSizeExceeded):
        unpack(pack(large), encoding, max_size=len(large) - 1)
    assert unpack(b"", encoding) == b""


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"br", b"zstd"])
def test_a_body_in_another_format_is_damaged(encoding):
    with pytest.raises(DamagedBodyError, match=f"cannot be unpacked as {encoding.decode()}: "):
        unpack(b"<html><p>Not compressed at all.</p></html>", encoding)


def test_a_wrong_checksum_and_bytes_after_the_end_do_not_matter_with_gzip():
    packed = bytearray(gzip.compress(PAGE))
    packed[-6] ^= 1
    assert unpack(bytes(packed), b"gzip") == PAGE
    assert unpack(gzip.compress(PAGE) + b"garbage", b"gzip") == PAGE
    assert unpack(gzip.compress(PAGE) + gzip.compress(b"more"), b"gzip") == PAGE + b"more"


def raw(*headers, body=b""):
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/html", *headers, "", ""]).encode() + body


def packed(name, body):
    return raw(f"Content-Encoding: {PACKERS[name][0].decode()}", f"Content-Length: {len(body)}", body=body)


HALVES = {
    f"/half-{name.replace(' ', '-')}": packed(name, whole[: len(whole) // 2])
    for name, whole in ((name, pack(PAGE)) for name, (_, pack) in PACKERS.items())
}
CUT_OFF = {
    "/half": raw(f"Content-Length: {2 * len(PAGE)}", body=PAGE),
    "/nothing-of-it": raw("Content-Length: 500"),
    "/no-last-chunk": raw("Transfer-Encoding: chunked", body=b"%x\r\n" % len(PAGE) + PAGE + b"\r\n"),
    "/half-a-chunk": raw("Transfer-Encoding: chunked", body=b"%x\r\n" % (2 * len(PAGE)) + PAGE),
}
NO_RESPONSE = {"/closed": b"", "/half-a-header": b"HTTP/1.1 200 OK\r\nContent-Ty"}
TOO_LARGE = {"/too-large": raw(body=PAGE * 40)}
WHOLE = {"/whole": packed("gzip", gzip.compress(PAGE)), "/until-the-end": raw(body=PAGE)}
ANSWERS = HALVES | CUT_OFF | NO_RESPONSE | TOO_LARGE | WHOLE
SPIDER = """
import scrapy
from crawler.page import page

class TheSpider(scrapy.Spider):
    name = "the_spider"

    async def start(self):
        for path in self.paths.split():
            yield scrapy.Request(self.site + path, errback=self.failed)

    def parse(self, response):
        yield page(response)

    def failed(self, failure):
        self.logger.info("[%s] %s", failure.request.url, failure.value)
"""


@pytest.fixture
def site():
    """The address of a server that sends the bytes of ANSWERS and closes the connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            path = self.rfile.readline().split()[1].decode()
            while self.rfile.readline().strip():
                pass
            self.server.paths.append(path)
            self.wfile.write(ANSWERS.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))

    class Server(socketserver.ThreadingTCPServer):
        paths: list

        def handle_error(self, *_arguments):
            """Keep quiet about clients that have enough."""

    with Server(("127.0.0.1", 0), Handler) as server:
        server.paths = []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", server.paths
        server.shutdown()


def test_only_whole_bodies_become_pages(site, crawl, tmp_path):
    address, paths = site
    (tmp_path / "the_spider.py").write_text(SPIDER, "utf-8")
    crawled = crawl(
        tmp_path / "the_spider.py",
        {"site": address, "paths": " ".join(ANSWERS)},
        {"RETRY_TIMES": "1", "DOWNLOAD_MAXSIZE": "1000000", "PAGE_MAX_BYTES": "1000000"},
    )
    assert crawled.code == 0, crawled.log
    assert crawled.outcomes() == dict.fromkeys(WHOLE, "page")
    assert crawled.stats["visit/download_failed"] == len(HALVES) + len(CUT_OFF) + len(NO_RESPONSE)
    assert crawled.stats["visit/too_large"] == 1
    assert paths.count("/half-gzip") == paths.count("/half-brotli") == paths.count("/half") == 2
    failures = [line for line in crawled.log.splitlines() if "No response from " in line]
    reasons = dict(line.partition(f"No response from {address}")[2].split(": ", 1) for line in failures)
    promised = "download_failed: the body ended before its promised length"
    closed = "download_failed: the connection was closed before the headers had ended"
    assert reasons == {
        **{path: f"download_failed: the {_encoding(path)} body of {_size(path)} bytes is cut off" for path in HALVES},
        **dict.fromkeys(CUT_OFF, promised),
        **dict.fromkeys(NO_RESPONSE, f"{closed}, as it is at a header line of more than 16,384 bytes"),
        "/too-large": "too_large: the body has more bytes than DOWNLOAD_MAXSIZE=1000000",
    }
    assert " times): \n" not in crawled.log
    assert "Traceback" not in crawled.log


def _encoding(path):
    return PACKERS[path.removeprefix("/half-").replace("bare-", "bare ")][0].decode()


def _size(path):
    return len(HALVES[path].partition(b"\r\n\r\n")[2])
