"""Crawls never connect to addresses that are not allowed."""

import selectors
import socket
import ssl
import textwrap
import threading
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from itertools import chain, repeat

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

ALLOWED = {"ALLOW_ADDRESSES": "127.0.0.1"}
REBINDING = {"TWISTED_DNS_RESOLVER": "rebinding.Rebinding", "DNSCACHE_ENABLED": "0"}
OK = b"HTTP/1.1 200 OK"
BOTH_FAMILIES = {"TWISTED_DNS_RESOLVER": "scrapy.resolver.CachingHostnameResolver"}
# URLs one after another; each page's text is an item.
LOOK = """
    import scrapy

    class Look(scrapy.Spider):
        name = "look"

        async def start(self):
            for number, url in enumerate(self.urls.split()):
                meta = {"proxy": self.proxy} if hasattr(self, "proxy") else {}
                yield scrapy.Request(url, dont_filter=True, priority=-number, meta=meta)

        def parse(self, response):
            yield {"url": response.url}
"""


@pytest.fixture
def look(crawl, tmp_path):
    """Crawl these URLs with retries on."""
    path = tmp_path / "look.py"
    path.write_text(textwrap.dedent(LOOK), "utf-8")

    def run(*urls, proxy=None, **settings):
        arguments = {"urls": " ".join(urls)} | ({"proxy": proxy} if proxy else {})
        limits = {"CONCURRENT_REQUESTS": "1", "DOWNLOAD_TIMEOUT": "5", "RETRY_TIMES": "2"}
        return crawl(path, arguments, limits | settings)

    return run


@pytest.fixture
def listen():
    """Listen at an address and return the port, and how often somebody has connected."""
    with ExitStack() as stack:

        def start(address):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            try:
                server = stack.enter_context(closing(socket.create_server((address, 0), family=family)))
            except OSError as error:
                pytest.skip(f"nothing can listen at {address}: {error}")
            return server.getsockname()[1], lambda: waits(server)

        yield start


def waits(server):
    with selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        return bool(selector.select(0))


def outcomes(crawled):
    return {name: count for name, count in crawled.stats.items() if name.startswith(("visit/", "retry/"))}


def test_special_addresses_are_not_connected_to(look, listen):
    port, connected = listen("127.0.0.1")
    hosts = ("127.0.0.1", "2130706433", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]", "[::1]", "LocalHost", "127.1.")
    urls = [f"{scheme}://{host}:{port}/" for host in hosts for scheme in ("http", "https")]
    crawled = look(*urls, "http://169.254.169.254/latest/", "http://[fd00::1]/", ALLOW_ADDRESSES="")
    assert outcomes(crawled) == {"visit/address": len(urls) + 2}
    assert "Traceback" not in crawled.log
    assert "2130706433 leads to 127.0.0.1 (loopback); crawls do not connect to it unless ALLOW_ADDRESSES" in crawled.log
    assert not connected()


def test_a_name_is_checked_by_the_addresses_it_resolves_to(look, listen):
    port, connected = listen("127.0.0.2")
    hosts = ("inside.example", "INSIDE.example")
    urls = [f"{scheme}://{host}:{port}/" for scheme in ("http", "https") for host in hosts]
    crawled = look(*urls, **ALLOWED, **REBINDING)
    assert outcomes(crawled) == {"visit/address": 4}
    assert "inside.example leads to 127.0.0.2 (loopback)" in crawled.log
    assert not connected()


def test_a_name_rebound_to_a_private_address_is_refused(look, serve, answer):
    last = answer("here", headers={"Content-Type": "text/html", "Connection": "close"})
    site, requests = serve({"/": last, "/robots.txt": last})
    url = site.replace("127.0.0.1", "rebound.example")
    crawled = look(f"{url}/", ROBOTSTXT_OBEY="0", **ALLOWED, **REBINDING)
    assert (outcomes(crawled), len(requests)) == ({"visit/section": 1}, 1)
    crawled = look(f"{url}/", f"{url}/", ROBOTSTXT_OBEY="0", **ALLOWED, **REBINDING)
    assert (outcomes(crawled), len(requests)) == ({"visit/section": 1, "visit/address": 1}, 2)


@pytest.mark.parametrize("host", ["127.0.0.2", "inside.example"])
def test_a_redirect_to_another_address_is_refused(look, listen, serve, answer, host):
    port, connected = listen("127.0.0.2")
    moved = answer("", 302, {"Location": f"http://{host}:{port}/secret"})
    site, _ = serve({"/": moved, "/robots.txt": moved})
    crawled = look(f"{site}/", **ALLOWED, **REBINDING)
    assert outcomes(crawled) == {"visit/address": 1}
    assert not connected()


def test_ipv6_addresses_are_checked(look, listen):
    port, connected = listen("::1")
    crawled = look(f"http://localhost:{port}/", f"http://[::1]:{port}/", **BOTH_FAMILIES, ALLOW_ADDRESSES="10.0.0.0/8")
    assert outcomes(crawled) == {"visit/address": 2}
    assert not connected()


def test_the_allowed_one_of_several_addresses_is_used(look, listen, serve, answer):
    site, requests = serve({"/": answer("here")})
    url = site.replace("127.0.0.1", "localhost")
    crawled = look(f"{url}/", **BOTH_FAMILIES, **ALLOWED)
    assert (outcomes(crawled), len(requests)) == ({"visit/section": 1}, 2)


def test_other_schemes_than_http_are_refused(look, tmp_path):
    secret = tmp_path / "secret.html"
    secret.write_text("a secret", "utf-8")
    crawled = look(f"file://{secret}", "data:text/html,here", "ftp://127.0.0.1/", "s3://bucket/key", **ALLOWED)
    assert (outcomes(crawled), crawled.items) == ({"visit/address": 4}, [])
    assert "the URL's scheme is file" in crawled.log


def test_a_proxy_may_have_a_private_address_and_resolves_names(look, serve, answer):
    urls = [f"http://{host}/" for host in ("a.example", "inside.example", "127.0.0.1", "2852039166", "x.localhost")]
    proxy, requests = serve({url: answer("here") for url in urls})
    crawled = look(*urls, proxy=proxy, ALLOW_ADDRESSES="", ROBOTSTXT_OBEY="0", **REBINDING)
    assert outcomes(crawled) == {"visit/section": 2, "visit/address": 3}
    assert [url for url, _ in requests] == urls[:2]


def test_a_tunnel_through_a_proxy_with_a_private_address(look, serve):
    """This proxy knows no CONNECT, and says so: it was asked."""
    proxy, _ = serve({})
    settings = {"ALLOW_ADDRESSES": "", "RETRY_TIMES": "0", "ROBOTSTXT_OBEY": "0"}
    crawled = look("https://inside.example/", "https://127.0.0.1/", proxy=proxy, **settings)
    assert outcomes(crawled)["visit/address"] == 1
    assert crawled.log.count("Could not open CONNECT tunnel with proxy") > 0


def test_refused_header_lines_are_a_reason(look):
    headers = {b"X-Long: " + b"a" * 20_000: "a header line of more than 16,384 bytes", b"X Y: z": "the name b'x y'"}
    for header, reason in headers.items():
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            threading.Thread(target=answer_all, args=(server, [OK, header]), daemon=True).start()
            crawled = look(f"http://127.0.0.1:{server.getsockname()[1]}/", **ALLOWED, RETRY_TIMES=0, ROBOTSTXT_OBEY=0)
        assert crawled.stats["visit/download_failed"] == 1
        assert reason in crawled.stats["download/first_failure"]


def test_a_certificate_is_verified_if_the_user_says_so(look, serve, answer, monkeypatch, tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "other.example")])
    now = datetime.now(UTC)
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1)).sign(
        key, SHA256()
    )
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (tmp_path / "site.pem").write_bytes(certificate.public_bytes(pem[0]) + key.private_bytes(*pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "site.pem")
    get_request = ThreadingHTTPServer.get_request

    def accept(server):
        connection, address = get_request(server)
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    monkeypatch.setattr(ThreadingHTTPServer, "get_request", accept)
    site, _ = serve({"/": answer("<p>a page</p>")})
    url = site.replace("http:", "https:") + "/"
    for setting, outcome in {"false": "section", "true": "download_failed"}.items():
        crawled = look(url, **ALLOWED, RETRY_ENABLED=0, DOWNLOAD_VERIFY_CERTIFICATES=setting)
        assert outcomes(crawled) == {f"visit/{outcome}": 1}


@pytest.mark.parametrize(
    "lines",
    [
        chain([OK], repeat(b"X-Endless: " + b"a" * 1_000)),
        [OK, *[b"a:b"] * 200_000],
        [OK, b"a:b", *[b" folded"] * 200_000],
        [b"HTTP/1.1 103 Early Hints", b""] * 100_000 + [OK],
    ],
    ids=["endless", "many", "folded", "informational"],
)
def test_the_head_of_a_response_is_bounded(look, lines):
    """It would be read until DOWNLOAD_TIMEOUT, a gigabyte in a minute."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=answer_all, args=(server, lines), daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        crawled = look(url, **ALLOWED, ROBOTSTXT_OBEY=0, OBEY_TDM_RESERVATION=0, DOWNLOAD_TIMEOUT=600)
    assert outcomes(crawled) == {"visit/too_large": 1}
    assert "have more than 300,000 bytes or 5,000 lines" in crawled.stats["download/first_failure"]


def answer_all(server, lines):
    """Answer each connection with a page whose head begins with these lines, until the server is closed."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, suppress(OSError):  # the reader has left
            connection.recv(65_536)
            for line in lines:
                connection.sendall(line + b"\r\n")
            connection.sendall(b"Content-Length: 0\r\nConnection: close\r\n\r\n")
