"""The tdmrep.json of a host is read once, before its pages, and never holds up or ends a crawl."""

import gc
import json
import socket
import threading
from contextlib import ExitStack, closing

import pytest

from crawler.fetching.reservations import ReservationError, ReservationRules

TDMREP = "/.well-known/tdmrep.json"
JSON = {"Content-Type": "application/json"}
PROSE = "<p>The river rose in the night and carried the old bridge down to the mill, where it lies until today.</p>"
RESERVED = {"body": json.dumps([{"location": "/", "tdm-reservation": 1}]), "headers": JSON}


def rules(*pairs):
    entries = [{"location": location, "tdm-reservation": value} for location, value in pairs]
    return ReservationRules.parse(json.dumps(entries).encode())


@pytest.mark.parametrize(
    ("pairs", "path", "reserved"),
    [
        ([("/", 1)], "", True),
        ([("/news/", 1)], "/news/1", True),
        ([("/news/", 1)], "/News/1", False),
        ([("/news/", 1)], "/old/news/1", False),
        ([("/free/", 0), ("/", 1)], "/free/1", False),
        ([("/free/", 0), ("/", 1)], "/other", True),
        ([("/", 1), ("/free/", 0)], "/free/1", True),  # the first rule that matches
        ([("/a/*.jpg", 1)], "/a/b/c.jpg?size=1", True),
        ([("/a/*.jpg$", 1)], "/a/b/c.jpg?size=1", False),
        ([("/a$", 1)], "/a", True),
        ([("/a$", 1)], "/ab", False),
        ([("/aa*aa$", 1)], "/aaa", False),
        ([("/aa*aa$", 1)], "/aaaa", True),
        ([("*", 1)], "/x", True),
        ([("news/", 1)], "/news/1", True),
        ([("https://river.example/news/", 1)], "/news/1", True),
        ([("/foo-%24", 1)], "/foo-$", True),
        ([("/%7Euser/", 1)], "/~user/1", True),
        ([("/caf\u00e9", 1)], "/caf%c3%a9", True),
        ([("/a%2Fb", 1)], "/a/b", False),
        ([("/?id=*&x", 1)], "/?id=7&x=2", True),
        ([("/a", "1")], "/a", True),
        ([("/a", 2), ("/", 1)], "/a", False),  # an unknown value states nothing
        ([], "/a", False),
    ],
)
def test_the_first_rule_that_matches_decides(pairs, path, reserved):
    assert rules(*pairs).reserve(f"https://river.example{path}") is reserved


def test_a_pattern_of_many_parts_takes_no_longer_than_its_text():
    hostile = rules(("/" + "*a" * 20_000 + "$", 1))
    assert not hostile.reserve("https://river.example/" + "a" * 19_999 + "b")


@pytest.fixture
def uncollected():
    """Collect no garbage: Hypothesis counts its collections, which fails at the end of the stack."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b'"x"', b"7", b"\xff\xfe\x00", b"null"])
def test_a_file_that_is_no_array_is_an_error(body, uncollected):
    with pytest.raises(ReservationError):
        ReservationRules.parse(body)


def test_entries_without_a_location_are_left_out_and_a_single_object_is_a_rule():
    rules = ReservationRules.parse(
        b'[7, {}, {"location": ""}, {"location": 3}, {"location": "/", "tdm-reservation": 1}]'
    )
    assert (len(rules.rules), rules.left_out) == (1, 4)
    single = ReservationRules.parse(b'\xef\xbb\xbf{"location": "/", "tdm-reservation": 1}')
    assert single.reserve("https://river.example/a")


def pages(*paths, **headers):
    sent = {"Content-Type": "text/html"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return {path: {"body": f"{PROSE}{path}", "headers": sent} for path in paths}


def requested_paths(crawled):
    return [path for path, _ in crawled.requests if path != "/robots.txt"]


def test_the_file_is_requested_once_before_the_pages_and_is_no_visit(visit, every_link):
    entries = [{"location": "/free", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]
    sent = {"/robots.txt": {"body": "User-agent: *\nDisallow: /.well-known/"}}
    sent |= pages("/a", "/b", "/free/1") | pages("/c", tdm_reservation="0")
    source = every_link.replace("self.paths.split()", "['/a', '/b', '/free/1', '/c']")
    sent[TDMREP] = {"body": json.dumps(entries), "headers": JSON}
    crawled = visit(sent, source, CONCURRENT_REQUESTS_PER_DOMAIN=8)
    assert requested_paths(crawled)[0] == TDMREP
    assert requested_paths(crawled).count(TDMREP) == 1
    assert crawled.outcomes() == {"/a": "tdm_reserved", "/b": "tdm_reserved", "/free/1": "page", "/c": "page"}
    assert crawled.stats["tdmrep/found"] == 1
    reserved = [visit["error"] for visit in crawled.visits if visit["outcome"] == "tdm_reserved"]
    assert reserved == [f"{TDMREP} (setting OBEY_TDM_RESERVATION)"] * 2


def test_the_file_is_not_requested_if_it_is_not_obeyed(visit, every_link):
    source = every_link.replace("self.paths.split()", "['/a']")
    crawled = visit({TDMREP: RESERVED} | pages("/a"), source, OBEY_TDM_RESERVATION=0)
    assert (requested_paths(crawled), crawled.outcomes()) == (["/a"], {"/a": "page"})


@pytest.mark.parametrize(
    ("sent", "event"),
    [
        ({"status": 404}, "absent"),
        ({"status": 500}, "failed"),
        ({"body": "<html>not here</html>"}, "malformed"),
        ({"body": "[]" + " " * 600_000}, "failed"),
        ({"status": 302, "headers": {"Location": TDMREP}}, "failed"),
        ({"status": 302, "headers": {"Location": "http://10.0.0.1/tdmrep.json"}}, "failed"),
    ],
)
def test_a_file_that_cannot_be_read_reserves_nothing_and_is_counted(visit, every_link, sent, event):
    source = every_link.replace("self.paths.split()", "['/a']")
    crawled = visit({TDMREP: sent} | pages("/a"), source)
    assert crawled.outcomes() == {"/a": "page"}
    assert crawled.stats[f"tdmrep/{event}"] == 1
    assert "Traceback" not in crawled.log
    assert [name for name in crawled.stats if name.startswith("visit/")] == ["visit/page"]


def test_a_redirect_leads_to_the_file(visit, every_link):
    source = every_link.replace("self.paths.split()", "['/a']")
    moved = {TDMREP: {"status": 301, "headers": {"Location": "/rights.json"}}, "/rights.json": RESERVED}
    assert visit(moved | pages("/a"), source).outcomes() == {"/a": "tdm_reserved"}


def test_a_host_that_does_not_send_the_file_is_crawled_without_it(crawl, spider, every_link):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        serving = threading.Thread(target=serve_all_but_the_file, args=(server,), daemon=True)
        serving.start()
        site = f"http://127.0.0.1:{server.getsockname()[1]}"
        crawled = crawl(spider(every_link), {"site": site, "paths": "/a /b"}, {"DOWNLOAD_TIMEOUT": "1"})
        server.shutdown(socket.SHUT_RDWR)
        serving.join()
    assert crawled.outcomes() == {"/a": "page", "/b": "page"}
    assert crawled.stats["tdmrep/failed"] == 1
    assert crawled.stats["elapsed_time_seconds"] < 5


def serve_all_but_the_file(server):
    """Answer each request on a connection of its own; keep the one for tdmrep.json open without an answer."""
    with ExitStack() as kept:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            kept.enter_context(connection)
            path = connection.recv(65_536).split(b" ")[1].decode()
            if path != TDMREP:
                status, body = ("404 Not Found", "") if path == "/robots.txt" else ("200 OK", PROSE + path)
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
                connection.sendall(f"{head}Connection: close\r\n\r\n{body}".encode())
                connection.shutdown(socket.SHUT_WR)


def test_a_replay_obeys_the_archived_file_and_counts_no_missing_one(visit, crawl, every_link, spider, tmp_path):
    archive = tmp_path / "crawl.warc.gz"
    source = every_link.replace("self.paths.split()", "['/a']")
    first = visit({TDMREP: RESERVED} | pages("/a"), source, ARCHIVE=archive)
    site = first.visits[0]["url"].removesuffix("/a")
    again = crawl(spider(source), {"site": site, "paths": ""}, {"REPLAY": archive})
    assert again.outcomes() == {"/a": "tdm_reserved"}
    (tmp_path / "page.html").write_text(PROSE, "utf-8")
    (tmp_path / "index.tsv").write_text("file\turl\npage.html\thttps://river.example/a\n", "utf-8")
    saved = crawl("archive", {}, {"REPLAY": tmp_path})
    assert saved.outcomes() == {"/a": "page"}
    assert "replay/absent" not in saved.stats
