"""A request and its response as WARC records."""

from io import BytesIO

import pytest
from scrapy import Request
from scrapy.http import Response
from warcio.archiveiterator import ArchiveIterator

from crawler.fetching.archive import ArchiveRecords

URL = "https://lake.example/boats?page=2"
SECRETS = ("sesame", "4711")


@pytest.fixture
def read():
    """Return the response's and the request's record, each read, and the record of their crawl."""

    def read_records(request, **response):
        records = ArchiveRecords("a.warc.gz", {"software": "a test"})
        data = records.warcinfo + records.pack(request, Response(**{"url": request.url} | response))
        parts = []
        for record in ArchiveIterator(BytesIO(data), check_digests="raise"):
            body = record.content_stream().read()
            parts.append((record.rec_headers, record.http_headers, body))
        return parts[1], parts[2], parts[0]

    return read_records


def test_a_response_is_recorded_as_received(read):
    headers = {"Content-Type": "text/html; charset=gb18030", "X-Twice": ["a", "b"], "Transfer-Encoding": "chunked"}
    (record, http, body), _, _ = read(Request(URL), status=404, headers=headers, body="北湖".encode("gb18030"))
    assert record.get_header("WARC-Target-URI") == URL
    assert (http.protocol, http.statusline) == ("HTTP/1.1", "404 Not Found")
    assert http.headers == [
        ("Content-Type", "text/html; charset=gb18030"),
        ("X-Twice", "a"),
        ("X-Twice", "b"),
        ("Content-Length", "4"),
    ]
    assert body.decode("gb18030") == "北湖"


def test_a_request_refers_to_its_response_and_both_to_their_crawl(read):
    (answer, _, _), (request, http, _), (crawl, _, about) = read(Request(URL, headers={"Accept": "text/html"}))
    assert (http.protocol, http.statusline) == ("GET", "/boats?page=2 HTTP/1.1")
    assert http.headers == [("Host", "lake.example"), ("Accept", "text/html")]
    assert request.get_header("WARC-Concurrent-To") == answer.get_header("WARC-Record-ID")
    assert request.get_header("WARC-Date") == answer.get_header("WARC-Date")
    for record in (answer, request):
        assert record.get_header("WARC-Warcinfo-ID") == crawl.get_header("WARC-Record-ID")
    assert about == b"software: a test\r\n"


def test_secrets_are_in_no_record(read):
    request = Request(
        f"https://user:{SECRETS[0]}@lake.example/boats?page=2&api_key={SECRETS[1]}#top",
        method="POST",
        body=f"password={SECRETS[0]}",
        headers={
            "Authorization": SECRETS[0],
            "Proxy-Authorization": SECRETS[0],
            "Cookie": f"id={SECRETS[1]}",
            "X-Api-Key": SECRETS[1],
            "Referer": f"https://lake.example/?token={SECRETS[1]}",
        },
    )
    headers = {
        "Set-Cookie": f"id={SECRETS[1]}",
        "Location": f"https://user:{SECRETS[0]}@lake.example/?sig={SECRETS[1]}",
    }
    for record, http, body in read(request, status=302, headers=headers)[:2]:
        assert record.get_header("WARC-Target-URI") == "https://lake.example/boats?page=2&api_key=***"
        record_text = f"{record}{http}{body}"
        assert not any(secret in record_text for secret in SECRETS)


def test_a_url_in_a_header_is_percent_encoded(read):
    location = "https://lake.example/Fähre".encode()
    (_, http, _), _, _ = read(Request(URL), status=301, headers={"Location": location})
    assert http.get_header("Location") == "https://lake.example/F%C3%A4hre"


def test_a_header_with_a_non_ascii_name_is_recorded(read):
    (_, http, _), _, _ = read(Request(URL), headers={"X-Fähre".encode(): "late"})
    assert http.get_header("X-F%C3%A4hre") == "late"


@pytest.mark.parametrize(("method", "status"), [("GET", 304), ("GET", 204), ("HEAD", 200)])
def test_a_response_without_a_body_has_no_content_length(read, method, status):
    (_, http, _), _, _ = read(Request(URL, method=method), status=status)
    assert http.get_header("Content-Length") is None


@pytest.mark.parametrize(("flag", "said"), [("partial", "disconnect"), ("download_stopped", "unspecified")])
def test_an_incomplete_body_is_marked_as_truncated(read, flag, said):
    (record, _, _), _, _ = read(Request(URL), flags=[flag])
    assert record.get_header("WARC-Truncated") == said


def test_the_address_of_a_proxy_is_not_recorded(read):
    (direct, _, _), _, _ = read(Request(URL), ip_address="192.0.2.1")
    (proxied, _, _), _, _ = read(Request(URL, meta={"proxy": "http://p.example"}), ip_address="192.0.2.1")
    assert direct.get_header("WARC-IP-Address") == "192.0.2.1"
    assert proxied.get_header("WARC-IP-Address") is None
