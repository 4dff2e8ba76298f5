"""Crawls with ARCHIVE: the records in the file, and its replay."""

import asyncio
import gzip
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as OtherReader
from scrapy.utils.test import get_crawler
from warcio.archiveiterator import ArchiveIterator

from cleaning.page_fingerprint import Fingerprinter
from crawler.errors import ConfigError
from crawler.fetching.archive import ArchiveRecorder
from crawler.fetching.replay import open_replay
from crawler.monitoring.exit_status import find_exit_status
from crawler.reclean import ArchivedBodies, RecleanPlan, run_reclean
from crawler.storage.database import opened_engine
from crawler.storage.reclean import RecleanJob
from crawler.storage.store import Store

PIPELINES = {
    "ITEM_PIPELINES": '{"pipelines.clean.CleanPipeline": 1, "pipelines.dedup.DedupPipeline": 2, '
    '"collect.Collect": 3, "pipelines.store.StorePipeline": 4}'
}
TEXT = "<p>The ferryman {n} of the northern lake told each visitor how many storms he had crossed in his years there."
CHINESE = "渡船人告诉每一位来客，他在湖上度过了多少场风暴，又怎样在黎明之前回到岸边。"
LIMITED = """
    import os, resource, scrapy
    from crawler.page import page

    class Large(scrapy.Spider):
        name = "large"
        site = paths = ""

        async def start(self):
            if limit := int(os.environ.get("LARGEST_FILE", 0)):
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            for number in range(6):
                yield scrapy.Request(f"{self.site}/{number}")

        def parse(self, response):
            yield page(response)
"""


def article(number, text=None):
    text = text or TEXT.format(n=number) * 2
    return f"<html lang=en><head><title>Number {number}</title></head><body><h1>Ferry {number}</h1>{text}</body></html>"


@pytest.fixture
def answers(answer):
    plain = {"Content-Type": "text/html; charset=utf-8"}
    chinese = f"<p>{CHINESE}<p>{CHINESE[::-1]}"
    return {
        "/robots.txt": answer("User-agent: *\nDisallow: /private", headers={"Content-Type": "text/plain"}),
        "/.well-known/tdmrep.json": answer("[]", headers={"Content-Type": "application/json"}),
        "/1": answer(article(1), headers=plain | {"Set-Cookie": "session=sesame"}),
        "/2": answer(gzip.compress(article(2).encode()), headers=plain | {"Content-Encoding": "gzip"}),
        "/3": answer(article(3, chinese).encode("gb18030"), headers={"Content-Type": "text/html; charset=gb2312"}),
        "/4?token=sesame": answer(article(4)),
        "/moved": answer("", 301, {"Location": "/5"}),
        "/5": answer(article(5)),
        "/gone": answer("gone", 410),
        "/broken": answer("broken", 500),
        "/unchanged": answer("", 304),
    }


@pytest.fixture
def archived(crawl, serve, spider, every_link, answers, tmp_path):
    """Crawl those answers into an archive; what is given back crawls again, into a database of this name."""
    source, archive = spider(every_link), tmp_path / "crawl.warc.gz"
    site, _ = serve(answers)
    paths = " ".join(path for path in answers if path not in {"/robots.txt", "/.well-known/tdmrep.json", "/5"})

    def run(name, **settings):
        database = {"DATABASE_URL": f"sqlite:///{tmp_path / name}", "FRONTIER_MAX_ATTEMPTS": 1}
        return crawl(source, {"site": site, "paths": paths}, PIPELINES | database | settings)

    run.archive, run.site, run.folder = archive, site, tmp_path
    run("first.db", ARCHIVE=archive)
    return run


def blocks(database):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(
            "SELECT url, title, b.position, b.digest, b.text FROM page JOIN block b ON b.page_id = page.id "
            "WHERE gone_at IS NULL ORDER BY url_key, b.position"
        ).fetchall()


def pages(database):
    return {url for url, *_ in blocks(database)}


def warcio(*arguments):
    done = subprocess.run(
        [Path(sys.executable).with_name("warcio"), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def statuses(archived):
    with archived.archive.open("rb") as file:
        return {
            record.rec_headers.get_header("WARC-Target-URI").removeprefix(
                archived.site
            ): record.http_headers.get_statuscode()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }


def recleaned(url, archive):
    """Clean the pages of a database again from an archive, which gives what cleaning the stored HTML does."""
    orders = RecleanPlan(RecleanJob("archive"), Fingerprinter(), None, processes=1, seconds=60.0)
    with opened_engine(url) as engine:
        bodies = ArchivedBodies(open_replay(archive, 1_000_000), 1_000_000)
        return asyncio.run(run_reclean(Store(engine), bodies, orders, 0, lambda *_: None))


def test_other_readers_find_every_response_no_secret_and_a_replay_gives_the_same_blocks(archived, answers):
    warcio("check", archived.archive)
    index = warcio("index", archived.archive, "-f", "warc-type,http:status")
    assert index.count('"response"') == index.count('"request"') == len(answers)
    expected = {path.replace("sesame", "***"): str(answer.status) for path, answer in answers.items()}
    assert statuses(archived) == expected
    with archived.archive.open("rb") as file:
        assert sum(1 for _ in OtherReader(file)) == 2 * len(answers) + 1
    assert b"sesame" not in gzip.decompress(archived.archive.read_bytes())

    replayed = archived("second.db", REPLAY=archived.archive)
    first = blocks(archived.folder / "first.db")
    assert first == blocks(archived.folder / "second.db")
    assert len({url for url, *_ in first}) == 5
    assert any(CHINESE in text for *_, text in first)
    assert replayed.outcomes()["/broken"] == "http_error"
    assert replayed.stats["replay/not_modified"] == 1
    assert "/unchanged was not modified when it was recorded" in replayed.log

    again = recleaned(f"sqlite:///{archived.folder / 'first.db'}", archived.archive)
    assert (again.pages, again.unchanged, again.blocks["stored"], again.blocks["gone"]) == (5, 5, 0, 0)
    assert blocks(archived.folder / "first.db") == first


def test_a_later_crawl_appends_and_transient_responses_replace_no_page(archived, answers):
    answers["/1"].status, answers["/2"].status = 304, 503
    answers["/3"].body, answers["/3"].headers = article(8), {"Content-Type": "text/html; charset=utf-8"}
    with archived.archive.open("r+b") as file:
        file.truncate(archived.archive.stat().st_size - 10)
    again = archived("other.db", ARCHIVE=archived.archive)
    assert again.stats["archive/torn_bytes"] > 0
    assert "was incomplete" in again.log
    warcio("check", archived.archive)
    replayed = archived("second.db", REPLAY=archived.archive)
    assert {replayed.outcomes()[path] for path in ("/1", "/2", "/3")} == {"page"}
    first, second = (
        {(url, text) for url, *_, text in blocks(archived.folder / f"{name}.db")} for name in ("first", "second")
    )
    assert {url.removeprefix(archived.site) for url, _ in first ^ second} == {"/3"}
    assert pages(archived.folder / "other.db") < pages(archived.folder / "second.db")


def test_a_crawl_with_a_failing_archive_ends_and_can_be_continued(crawl, serve, spider, answer, tmp_path):
    noise = random.Random(3).randbytes(700_000).hex()
    sent = {f"/{n}": answer(article(n, f"{TEXT.format(n=n) * 2}<!--{n}{noise}-->")) for n in range(6)}
    site, _ = serve(sent)
    source, archive = spider(LIMITED), tmp_path / "crawl.warc.gz"
    settings = PIPELINES | {"DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}", "ARCHIVE": archive, "KEEP_HTML": 0}
    # The database and its log stay far smaller, however often a slow crawl commits.
    full = crawl(source, {"site": site}, settings, environment={"LARGEST_FILE": "3000000"})
    assert full.stats["finish_reason"] == "archive_failed"
    assert "cannot be written: No space left on device" in full.log
    assert find_exit_status(full.stats, 0.5).problem == "the archive cannot be written: see the log"
    assert 0 < len(pages(tmp_path / "blocks.db")) == full.stats["archive/responses"] - 2 < 6
    crawl(source, {"site": site}, settings)
    assert len(pages(tmp_path / "blocks.db")) == 6
    assert (
        warcio("index", archive, "-f", "warc-type").count('"response"') == 6 + 2 * 2
    )  # robots.txt and tdmrep.json each time


@pytest.mark.parametrize(
    ("name", "says"), [("crawl.warc", r"takes a file whose name ends in \.warc\.gz"), ("no/x.warc.gz", "no folder")]
)
def test_an_invalid_archive_stops_the_crawl_at_its_start(tmp_path, name, says):
    with pytest.raises(ConfigError, match=says):
        ArchiveRecorder.from_crawler(get_crawler(settings_dict={"ARCHIVE": str(tmp_path / name)}))
