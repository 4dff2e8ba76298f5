"""What a comparison is about."""

import gzip
import os
from uuid import uuid4

import pytest

from crawler.errors import CompareError, ReplayError
from crawler.reports.sources import NoPage, open_target

MAX = 10_000


def names(target):
    return [source.name for source in target.sources]


def record(url, status, kind):
    http = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n<p>a"
    lines = ["WARC/1.0", "WARC-Type: response", f"WARC-Target-URI: {url}", f"WARC-Record-ID: <urn:uuid:{uuid4()}>"]
    lines += ["WARC-Date: 2025-01-01T00:00:00Z", "Content-Type: application/http", f"Content-Length: {len(http)}"]
    return ("\r\n".join(lines) + f"\r\n\r\n{http}\r\n\r\n").encode()


def problem(source):
    with pytest.raises(NoPage) as raised:
        source.load()
    return raised.value.reason


def test_a_file_is_one_page_with_the_address_given(tmp_path):
    path = tmp_path / "page.dat"
    path.write_bytes(b"<p>a")
    target = open_target(str(path), "https://me:secret@a.example/1", MAX)
    (source,) = target.sources
    assert (target.several, source.url, source.load().body) == (False, "https://a.example/1", b"<p>a")


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "page.html").write_text("<p>a")
    target = open_target(str(tmp_path), None, MAX)
    assert (names(target), target.counts.skipped) == (["page.html"], {"special": 1})


def test_a_packed_file_is_unpacked_whatever_its_name(tmp_path):
    path = tmp_path / "page"
    path.write_bytes(gzip.compress(b"<p>a"))
    assert open_target(str(path), None, MAX).sources[0].load().body == b"<p>a"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (gzip.compress(b"a" * 500, mtime=0)[:-12], "damaged_file"),
        (b"\x1f\x8b\x00\x00", "damaged_file"),
        (b"a" * (MAX + 1), "too_large"),
        (gzip.compress(b"a" * 10_000_000, mtime=0), "too_large"),
    ],
)
def test_a_file_that_cannot_be_read_has_a_reason(tmp_path, body, reason):
    path = tmp_path / "page.html.gz"
    path.write_bytes(body)
    assert problem(open_target(str(path), None, MAX).sources[0]) == reason


def test_a_folder_is_every_page_below_it_in_order(tmp_path):
    for name in ("b/2.htm", "b/1.HTML", "a.html.gz", "c.txt", "b/d.htm.gz", "b/e.css"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"<p>a")
    target = open_target(str(tmp_path), None, MAX)
    assert target.several
    assert names(target) == ["a.html.gz", "b/1.HTML", "b/2.htm", "b/d.htm.gz"]
    assert len({source.site for source in target.sources[1:]}) == 1
    assert target.sources[0].site != target.sources[1].site


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.html").write_text("<p>secret")
    (inside / "page.html").write_text("<p>a")
    (inside / "file.html").symlink_to(outside / "secret.html")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert names(open_target(str(inside), None, MAX)) == ["page.html"]


def test_file_names_that_are_not_utf_8_are_read(tmp_path):
    odd = os.fsencode(tmp_path) + b"/\xff[b]\x1b[2J.html"
    with open(odd, "wb") as file:  # noqa: PTH123 — a name that is not text
        file.write(b"<p>a")
    (source,) = open_target(str(tmp_path), None, MAX).sources
    assert source.load().body == b"<p>a"


def test_a_folder_with_an_index_gives_its_pages_in_its_order(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.html").write_text("<p>a")
    (tmp_path / "index.tsv").write_text(
        "site\tfile\turl\ns\t1.html\thttps://b.example/x\ns\t1.html\t\ns\tabsent.html\thttps://b.example/y\n"
    )
    target = open_target(str(tmp_path), None, MAX)
    assert names(target) == ["https://b.example/x", "s/1.html", "https://b.example/y"]
    assert [source.url for source in target.sources] == ["https://b.example/x", None, "https://b.example/y"]
    assert [source.site for source in target.sources] == ["b.example", "s.invalid", "b.example"]
    assert problem(target.sources[2]) == "missing_file"


def test_a_warc_file_gives_its_pages_and_reasons_for_the_rest(tmp_path):
    answers = (("page", "200 OK", "text/html"), ("gone", "404 Gone", "text/html"), ("logo", "200 OK", "image/png"))
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(b"".join(gzip.compress(record(f"https://a.example/{name}", *rest)) for name, *rest in answers))
    page, gone, logo = open_target(str(path), None, MAX).sources
    assert page.load().content_type == "text/html"
    assert (problem(gone), problem(logo)) == ("not_found", "not_html")


@pytest.mark.parametrize("index", [None, "site\tfile\turl\n"])
def test_an_empty_folder_is_one_sentence(tmp_path, index):
    if index:
        (tmp_path / "index.tsv").write_text(index)
    with pytest.raises(CompareError, match="page"):
        open_target(str(tmp_path), None, MAX)


def test_a_damaged_index_is_named(tmp_path):
    (tmp_path / "index.tsv").write_text("name\nx\n")
    with pytest.raises(ReplayError, match="no column 'file'"):
        open_target(str(tmp_path), None, MAX)


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(CompareError, match="there is no file or folder"):
        open_target(str(tmp_path / "absent"), None, MAX)


def test_one_address_for_many_pages_is_refused(tmp_path):
    (tmp_path / "a.html").write_text("<p>a")
    with pytest.raises(CompareError, match="address of one page"):
        open_target(str(tmp_path), "https://a.example/", MAX)
