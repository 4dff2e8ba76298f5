"""Saved pages instead of the network."""

import gzip
import os
from pathlib import Path
from uuid import uuid4

import brotli
import pytest
from scrapy import Request
from scrapy.http import Response

from cleaning import PageError
from crawler.errors import ReplayError
from crawler.fetching.archive import ArchiveRecords
from crawler.fetching.replay import ReplayMiss, open_replay
from crawler.reports.sources import open_target

DATA = Path(os.environ.get("BLOCKSIEVE_DATA", Path(__file__).parents[4] / "shared" / "data")) / "sites"
LIMIT = 100_000
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs the saved pages of BLOCKSIEVE_DATA")


@pytest.fixture
def folder(tmp_path):
    """Make a replay folder from rows and files."""

    def make(header, *rows, **files):
        (tmp_path / "index.tsv").write_text("\n".join(["\t".join(header), *map("\t".join, rows)]) + "\n", "utf-8")
        for name, body in files.items():
            path = tmp_path / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)
        return tmp_path

    return make


@pytest.fixture
def warc(tmp_path):
    """Write a WARC file with these responses (URL, status, headers, body); another kind of record follows each."""

    def make(*responses, name="a.warc.gz"):
        packed = gzip.compress if name.endswith(".gz") else bytes
        path = tmp_path / name
        records = [record for sent in responses for record in (response_record(*sent), record_of("metadata", sent[0]))]
        path.write_bytes(b"".join(map(packed, records)))
        return path

    return make


def response_record(url, status, headers, body):
    lines = [f"HTTP/1.1 {status} OK", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return record_of("response", url, "\r\n".join(lines).encode() + body)


def record_of(kind, url, block=b"via: x"):
    lines = ["WARC/1.0", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", f"WARC-Record-ID: <urn:uuid:{uuid4()}>"]
    lines += ["WARC-Date: 2025-01-01T00:00:00Z", "Content-Type: application/http", f"Content-Length: {len(block)}"]
    return "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"


HTML = {"Content-Type": "text/html"}


def test_a_folder_serves_files_under_the_urls_of_its_index(folder):
    path = folder(
        ["site", "file", "url", "title"],
        ["one", "a.html.gz", "https://one.example/a", 'a "quoted title'],
        ["one", "b.html", "", ""],
        one__a_html_gz=b"<p>a",
        one__b_html=b"<p>b",
    )
    source = open_replay(path, LIMIT)
    assert source.urls() == ["https://one.example/a", "https://one.invalid/b.html"]
    assert source.find("https://one.example/a").body == b"<p>a"
    saved = source.find("https://one.invalid/b.html")
    assert (saved.status, saved.body, saved.headers) == (200, b"<p>b", (("Content-Type", "text/html"),))


def test_without_a_site_column_files_are_in_the_folder_itself(folder):
    source = open_replay(folder(["file"], ["a b.html"]), LIMIT)
    assert source.urls() == ["https://replay.invalid/a%20b.html"]


def test_the_last_of_a_repeated_url_wins_and_is_counted(folder):
    rows = [["a.html", "https://x.example/"], ["b.html", "https://x.example/"]]
    source = open_replay(folder(["file", "url"], *rows, a_html=b"a", b_html=b"b"), LIMIT)
    assert (source.urls(), source.repeated) == (["https://x.example/"], 1)
    assert source.find("https://x.example/").body == b"b"


@pytest.mark.parametrize(
    "url", ["https://x.example/a?b=1&c=2", "https://x.example/a?b=1&c=2#top", "https://x.example/a?c=2&b=1"]
)
def test_a_url_is_found_without_its_fragment_and_in_canonical_form(folder, url):
    path = folder(["file", "url"], ["a.html", "https://x.example/a?b=1&c=2"], a_html=b"a")
    assert open_replay(path, LIMIT).find(url).body == b"a"


def test_the_exact_url_wins_over_its_canonical_form(folder):
    rows = [["a.html", "https://x.example/?b&a"], ["b.html", "https://x.example/?a&b"]]
    source = open_replay(folder(["file", "url"], *rows, a_html=b"a", b_html=b"b"), LIMIT)
    assert source.find("https://x.example/?b&a").body == b"a"


def test_missing_and_damaged_files_are_distinguished(folder):
    rows = [["lost.html", "https://x.example/lost"], ["bad.html.gz", "https://x.example/bad"]]
    path = folder(["file", "url"], *rows)
    (path / "bad.html.gz").write_bytes(b"not gzip")
    source = open_replay(path, LIMIT)
    answers = [source.find(f"https://x.example/{name}") for name in ("lost", "bad", "never")]
    assert answers == [ReplayMiss.MISSING_FILE, ReplayMiss.DAMAGED_FILE, ReplayMiss.ABSENT]


def test_a_gzip_bomb_is_read_to_one_byte_beyond_the_limit(folder):
    source = open_replay(folder(["file"], ["bomb.html.gz"], bomb_html_gz=b"x" * 30_000_000), LIMIT)
    assert len(source.find(source.urls()[0]).body) == LIMIT + 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (["../outside.html", ""], "line 2.*leads out"),
        (["/etc/passwd", ""], "line 2.*leads out"),
        (["a/../../b.html", ""], "line 2.*leads out"),
        (["", ""], "line 2.*not a file name"),
        (["a.html", "file:///etc/passwd"], "line 2.*not an http or https URL"),
        (["a.html", "https://[broken/"], "line 2.*no.* URL"),
    ],
)
def test_an_invalid_row_is_named(folder, row, says):
    with pytest.raises(ReplayError, match=says):
        open_replay(folder(["file", "url"], row), LIMIT)


@pytest.mark.parametrize("site", ["..", "/etc", "a/../.."])
def test_a_site_that_leads_out_is_named(folder, site):
    with pytest.raises(ReplayError, match=r"line 2.*leads out"):
        open_replay(folder(["site", "file"], [site, "a.html"]), LIMIT)


def test_a_link_out_of_the_folder_is_named(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.html"
    outside.write_text("secret")
    path = folder(["file"], ["link.html"])
    (path / "link.html").symlink_to(outside)
    with pytest.raises(ReplayError, match=r"line 2.*link that leads out"):
        open_replay(path, LIMIT)


def test_a_pipe_is_refused_and_not_waited_for(folder, tmp_path):
    path = folder(["file", "url"], ["pipe.html", "https://x.example/a"], ["late.html", "https://x.example/b"])
    os.mkfifo(path / "pipe.html")
    with pytest.raises(ReplayError, match=r"line 2.*'pipe\.html' is not a regular file"):
        open_replay(path, LIMIT)
    (path / "pipe.html").unlink()
    source = open_replay(path, LIMIT)
    os.mkfifo(path / "late.html")
    assert source.find("https://x.example/b") is ReplayMiss.DAMAGED_FILE
    (path / "index.tsv").unlink()
    os.mkfifo(path / "index.tsv")
    with pytest.raises(ReplayError, match=r"index\.tsv cannot be read: .*not a regular file"):
        open_replay(path, LIMIT)
    os.mkfifo(tmp_path / "pipe.warc.gz")
    with pytest.raises(ReplayError, match=r"pipe\.warc\.gz', which is not a regular file"):
        open_replay(tmp_path / "pipe.warc.gz", LIMIT)


def test_an_invalid_replay_source_is_named(tmp_path, folder):
    with pytest.raises(ReplayError, match="does not exist"):
        open_replay(tmp_path / "nowhere", LIMIT)
    (tmp_path / "pages.zip").write_bytes(b"PK")
    with pytest.raises(ReplayError, match="neither a folder"):
        open_replay(tmp_path / "pages.zip", LIMIT)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReplayError, match="a folder without a page: read 0; skipped 0; lost 0"):
        open_replay(tmp_path / "empty", LIMIT)
    with pytest.raises(ReplayError, match=r"no column 'file'.*url, title"):
        open_replay(folder(["url", "title"]), LIMIT)
    (tmp_path / "index.tsv").write_bytes(b"file\n\xff\xfe\xff")
    with pytest.raises(ReplayError, match="cannot be read"):
        open_replay(tmp_path, LIMIT)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_a_warc_serves_its_responses_as_recorded(warc, name):
    path = warc(
        ("https://x.example/a", 200, HTML | {"ETag": '"1"'}, b"<p>a"),
        ("https://x.example/b", 301, {"Location": "/a"}, b""),
        ("dns:x.example", 200, HTML, b"127.0.0.1"),
        ("https://x.example/c", 404, HTML, b"<p>gone"),
        name=name,
    )
    source = open_replay(path, LIMIT)
    assert source.urls() == [f"https://x.example/{letter}" for letter in "abc"]
    first, second, third = map(source.find, source.urls())
    assert (first.status, first.body, dict(first.headers)["ETag"]) == (200, b"<p>a", '"1"')
    assert (second.status, dict(second.headers)["Location"]) == (301, "/a")
    assert (third.status, third.body) == (404, b"<p>gone")


def test_a_warc_body_comes_without_chunks_and_as_packed_as_it_was(warc):
    zipped, chunked = gzip.compress(b"<p>zipped"), b"5\r\n<p>ch\r\n5\r\nunked\r\n0\r\n\r\n"
    path = warc(
        ("https://x.example/zipped", 200, HTML | {"Content-Encoding": "gzip"}, zipped),
        ("https://x.example/chunked", 200, HTML | {"Transfer-Encoding": "chunked"}, chunked),
        ("https://x.example/bomb", 200, HTML | {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 30_000_000)),
    )
    source = open_replay(path, LIMIT)
    answers = {url.rsplit("/", 1)[1]: source.find(url) for url in source.urls()}
    assert (answers["zipped"].body, answers["zipped"].unpack(LIMIT)) == (zipped, b"<p>zipped")
    assert answers["chunked"].body == b"<p>chunked"
    with pytest.raises(PageError, match="more than PAGE_MAX_BYTES=100000"):
        answers["bomb"].unpack(LIMIT)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
@pytest.mark.parametrize("cut", [20, 150, 400])
def test_a_cut_off_warc_loses_its_last_record(warc, name, cut, caplog):
    path = warc(*[(f"https://x.example/{n}", 200, HTML, b"<p>page" * 50) for n in range(3)], name=name)
    path.write_bytes(path.read_bytes()[:-cut])
    source = open_replay(path, LIMIT)
    assert source.counts.lost == {"truncated": 1}
    assert source.counts.read in {2, 3}
    (loss,) = source.counts.losses
    assert f"{path}: the record at byte {loss.place.offset:,} is lost: truncated" in caplog.text


@pytest.mark.parametrize("body", [b"garbage" * 100, gzip.compress(b"garbage" * 100, mtime=0), b"", b"WARC/1.0\r\n\r\n"])
def test_a_file_that_is_not_a_warc_is_named(tmp_path, body):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(body)
    with pytest.raises(ReplayError, match=r"a\.warc\.gz has no answer of a server: read 0; skipped 0; lost [01]"):
        open_replay(path, LIMIT)


def test_a_brotli_body_is_unpacked_by_its_reader(warc):
    packed = brotli.compress(b"<p>a page that is long enough to be packed" * 9)
    path = warc(("https://x.example/br", 200, HTML | {"Content-Encoding": "br"}, packed))
    answer = open_replay(path, LIMIT).find("https://x.example/br")
    assert (answer.body, ("Content-Encoding", "br") in answer.headers) == (packed, True)
    (source,) = open_target(str(path), None, LIMIT).sources
    assert source.load().body == b"<p>a page that is long enough to be packed" * 9


def test_an_address_that_is_no_url_is_lost(warc):
    path = warc(("https://x.example/a", 200, HTML, b"a"), ("http://[bad/v6", 200, HTML, b"b"))
    source = open_replay(path, LIMIT)
    assert source.urls() == ["https://x.example/a"]
    assert source.counts.describe() == "read 1; skipped 2 (other 2); lost 1 (no_address 1)"


def test_a_warc_compressed_as_a_whole_is_read_at_any_place(warc):
    """Reading begins anew at marks a megabyte apart, so a page costs the same wherever it stands."""
    pages = [(f"https://x.example/{n}", 200, HTML, bytes([65 + n]) * 300_000) for n in range(20)]
    path = warc(*pages, name="a.warc")
    whole = path.with_name("whole.warc.gz")
    whole.write_bytes(gzip.compress(path.read_bytes()))
    source = open_replay(whole, 400_000)
    assert len(source.urls()) == 20
    for url, _, _, body in reversed(pages):
        assert source.find(url).body == body


def test_transient_responses_replace_no_other(warc):
    url = "https://x.example/"
    path = warc((url, 200, HTML, b"one"), (url, 404, HTML, b"two"), (url, 503, HTML, b""), (url, 304, {}, b""))
    assert open_replay(path, LIMIT).find(url).body == b"two"
    assert open_replay(warc((url, 304, {}, b""), name="b.warc.gz"), LIMIT).find(url).status == 304


def test_a_response_to_a_posted_form_is_not_replayed(tmp_path):
    url, path = "https://x.example/", tmp_path / "a.warc.gz"
    records = ArchiveRecords("a.warc.gz", {})
    got, posted = (
        records.pack(Request(url, method=method), Response(url, body=method.encode())) for method in ("GET", "POST")
    )
    path.write_bytes(got + posted)
    assert open_replay(path, LIMIT).find(url).body == b"GET"


def test_a_url_with_a_secret_is_found_in_its_redacted_form(warc):
    source = open_replay(warc(("https://x.example/?page=2&token=***", 200, HTML, b"one")), LIMIT)
    assert source.find("https://x.example/?page=2&token=sesame").body == b"one"


def test_a_compression_is_left_to_scrapy(warc):
    source = open_replay(warc(("https://x.example/", 200, {"Content-Encoding": "zstd"}, b"packed")), LIMIT)
    saved = source.find("https://x.example/")
    assert (saved.headers, saved.body) == ((("Content-Encoding", "zstd"),), b"packed")


def test_a_crawl_is_answered_from_the_folder_and_an_absent_page_is_404(crawl, folder):
    links = '<a href="/1">one</a> <a href="/2">two</a>'
    rows = [
        ["list.html", "https://x.example/"],
        ["list.html", "https://x.example/"],
        ["one.html", "https://x.example/1"],
    ]
    path = folder(["file", "url"], *rows, list_html=links.encode(), one_html=b"<p>one")
    crawled = crawl("section", {"url": "https://x.example/", "allow": r"/\d$"}, {"REPLAY": path})
    assert crawled.outcomes() == {"/": "section", "/1": "page", "/2": "not_found"}
    counts = {name: crawled.stats.get(f"replay/{name}") for name in ("records", "repeated", "absent")}
    assert counts == {"records": 2, "repeated": 1, "absent": 1}
    assert crawled.code == 0


def test_a_replay_has_no_delays_and_does_not_stop_after_refusals(crawl, warc):
    records = [(f"https://x.example/{n}", 403, HTML | {"Retry-After": "600"}, b"no") for n in range(15)]
    crawled = crawl("archive", {}, {"REPLAY": warc(*records), "AUTOTHROTTLE_ENABLED": 1, "DOWNLOAD_DELAY": 60})
    assert crawled.stats["visit/forbidden"] == 15
    assert crawled.stats["finish_reason"] == "finished"
    assert crawled.code == 1
    assert "more than MAX_REFUSED_SHARE=0.5" in crawled.log


@needs_data
def test_every_saved_page_of_the_portals_is_visited_and_readable(crawl):
    crawled = crawl("archive", {}, {"REPLAY": DATA})
    records = len((DATA / "index.tsv").read_text("utf-8").splitlines()) - 1
    visits = {name: count for name, count in crawled.stats.items() if name.startswith("visit/")}
    assert sum(visits.values()) == records
    assert "visit/captcha" not in visits
    assert crawled.code == 0
    assert "Traceback" not in crawled.log
    chinese = [visit["page"]["text"] for visit in crawled.visits if "163.invalid/00." in visit["url"]]
    assert "梁彼得" in chinese[0]
