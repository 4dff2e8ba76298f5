"""Folders of saved pages without an index."""

import gzip
import os

import pytest

from crawler.errors import ReplayError
from crawler.fetching.replay import FolderSource, ReplayMiss, open_replay
from crawler.fetching.saved_pages import find_saved_pages

LIMIT = 100_000
PAGE = "<!DOCTYPE html><html><body><p>The ferry left at dawn.</p></body></html>"


@pytest.fixture
def folder(tmp_path):
    """Pages under many names and in many forms, and files that are not pages."""
    pages = {
        "a.html": PAGE.encode(),
        "b/c.HTM": b"<p>a page by its name",
        "b/d.xhtml": b'<?xml version="1.0"?>' + PAGE.encode(),
        "b/e.html.gz": gzip.compress(PAGE.encode()),
        "b/packed.html": gzip.compress(PAGE.encode()),
        "b/index.html?page=2&sort=new": PAGE.encode(),
        "b/article.php": b"\n<!-- saved -->\n" + PAGE.encode(),
        "b/no-suffix": PAGE.encode("utf-16"),
        "b/deep/er/\u00e4 b%20c.html": PAGE.encode("cp1251"),
    }
    others = {"b/style.css": b"p {}", "b/picture.jpg": b"\xff\xd8", "b/picture.svg": b"<?xml version='1.0'?><svg/>"}
    for name, content in (pages | others).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_every_page_below_a_folder_is_found_whatever_its_name(folder):
    source = open_replay(folder, LIMIT)
    assert source.urls() == [
        "https://replay.invalid/a.html",
        "https://b.invalid/article.php",
        "https://b.invalid/c.HTM",
        "https://b.invalid/d.xhtml",
        "https://b.invalid/deep/er/%C3%A4%20b%2520c.html",
        "https://b.invalid/e.html.gz",
        "https://b.invalid/index.html%3Fpage%3D2%26sort%3Dnew",
        "https://b.invalid/no-suffix",
        "https://b.invalid/packed.html",
    ]
    assert source.counts.describe() == "read 9; skipped 3 (other_type 3); lost 0"
    assert source.find("https://b.invalid/e.html.gz").body == PAGE.encode()
    assert source.find("https://b.invalid/packed.html").body == PAGE.encode()


@pytest.mark.parametrize("start", ["mirrors/wget", "mirrors/wget/docs.python.org", "mirrors"])
def test_the_folders_of_a_mirror_name_its_hosts(tmp_path, start):
    folder = tmp_path / "mirrors" / "wget" / "docs.python.org"
    for name in ("3/library.zip/index.html", "index.html?id=7&x=a%20b", "3.12/a.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(PAGE)
    source = open_replay(tmp_path / start, LIMIT)
    assert source.urls() == [
        "https://docs.python.org/3.12/a.html",
        "https://docs.python.org/3/library.zip/index.html",
        "https://docs.python.org/index.html?id=7&x=a%20b",
    ]


@pytest.mark.parametrize("name", ["v1.0", "10.2", "site.old", "a b.com", "Mr. Smith", ".git", "com"])
def test_other_folders_name_no_host(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.html").write_text(PAGE)
    (url,) = open_replay(tmp_path, LIMIT).urls()
    assert url.endswith(".invalid/a.html")


@pytest.mark.parametrize("name", ["a.warc.gz", "deep/a.wacz", "A.ARC.GZ"])
def test_archives_in_a_folder_are_not_passed_over(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"")
    with pytest.raises(ReplayError, match=r"a folder with archives \(1\), .*`scrapy batch PATH"):
        open_replay(folder, LIMIT)


def test_a_wacz_is_refused_with_the_commands_that_read_it(tmp_path):
    (tmp_path / "a.wacz").write_bytes(b"PK")
    with pytest.raises(
        ReplayError, match="`scrapy batch PATH --out FOLDER` and `scrapy import FOLDER` read ARC and WACZ"
    ):
        open_replay(tmp_path / "a.wacz", LIMIT)


def test_links_pipes_and_what_lies_outside_are_skipped_and_counted(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.html").write_text(PAGE)
    (folder / "link.html").symlink_to(outside / "secret.html")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe.html")
    saved = find_saved_pages(folder)
    assert (len(saved.pages), saved.skipped) == (9, {"other_type": 3, "link": 2, "special": 1})


def test_a_name_that_is_no_text_is_a_page(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xffpage.html"
    with open(path, "wb") as file:  # noqa: PTH123 — a name that is not text
        file.write(PAGE.encode())
    source = open_replay(tmp_path, LIMIT)
    (url,) = source.urls()
    assert source.find(url).body == PAGE.encode()


def test_a_page_that_becomes_a_pipe_is_damaged_and_not_waited_for(folder):
    source = FolderSource(folder, LIMIT)
    (folder / "a.html").unlink()
    os.mkfifo(folder / "a.html")
    assert source.find("https://replay.invalid/a.html") is ReplayMiss.DAMAGED_FILE


def test_a_folder_without_a_page_says_what_it_has(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(ReplayError, match=r"a folder without a page: read 0; skipped 1 \(other_type 1\); lost 0"):
        open_replay(tmp_path, LIMIT)
