"""`scrapy recrawl` runs the crawls of several sites side by side, and those of cron do not pile up."""

import json
import signal

import pytest
from changing_site import article, listing, prose
from sqlalchemy import text

from crawler.storage.database import opened_engine

PAGES = 4


def test_a_slow_site_delays_no_other(three_sites):
    world, (slow, *fast) = three_sites.world, three_sites.sites
    slow.hold()
    process = world.started("recrawl")
    for site in fast:
        site.wait_for(PAGES + 1)
    # Nothing of the slow site has been answered, and the fast ones are stored.
    ended = "SELECT count(*) FROM crawl WHERE state = 'finished'"
    while scalar(world, ended) < 5:
        assert process.poll() is None
    slow.let_go()
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert len(slow.paths()) == PAGES + 1
    order = world.rows("SELECT arguments FROM crawl ORDER BY finished DESC LIMIT 1")
    assert slow.url in str(order[0]["arguments"])


def scalar(world, query):
    with opened_engine(world.url) as engine, engine.connect() as connection:
        return connection.scalar(text(query))


def test_a_second_recrawl_adds_to_the_queue_of_the_first_and_ends(three_sites):
    world, (slow, other, _) = three_sites.world, three_sites.sites
    slow.hold()
    process = world.started("recrawl", "--site", slow.url)
    slow.wait_for(1)
    second = world.scrapy("recrawl", "--site", slow.url)
    assert second.returncode == 0
    assert second.stdout == (
        "Another process runs the re-crawl already, so 0 stored addresses were added to its queue; --join would share "
        "the work.\n"
    )
    # What nobody visits yet is visited by the second, and the first is left alone.
    third = world.scrapy("recrawl", "--json")
    crawls = json.loads(third.stdout)["crawls"]
    assert sorted(crawl["runs_elsewhere"] for crawl in crawls) == [False, False, True]
    assert len(other.paths()) == PAGES + 1
    slow.let_go()
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert sorted(slow.paths()) == ["/news/", *(f"/news/{page}" for page in range(1, PAGES + 1))]


def test_a_killed_recrawl_does_not_block_the_next(three_sites):
    world, (slow, *_) = three_sites.world, three_sites.sites
    slow.hold()
    process = world.started("recrawl", "--site", slow.url)
    slow.wait_for(1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)
    slow.let_go()
    slow.asked.clear()
    assert world.scrapy("recrawl", "--site", slow.url).returncode == 0
    assert len(slow.paths()) >= PAGES
    assert world.rows("SELECT count(*) AS n FROM crawl WHERE state = 'open'") == [{"n": 0}]


def test_a_page_or_a_section_alone_is_visited_by_its_address(three_sites):
    world, (site, other, _) = three_sites.world, three_sites.sites
    assert world.scrapy("recrawl", "--url", f"{site.url}/news/2", "--url", f"{site.url}/news/2").returncode == 0
    assert site.paths() == ["/news/2"]
    assert world.scrapy("recrawl", "--section", f"{other.url}/news/").returncode == 0
    assert other.paths() == ["/news/"]
    assert world.scrapy("recrawl", "--due", "--url", f"{site.url}/news/1").stdout == "There is nothing to visit.\n"
    unknown = world.scrapy("recrawl", "--url", f"{site.url}/news/")
    assert (unknown.returncode, f"no page is stored at {site.url}/news/" in unknown.stderr) == (2, True)
    world.change("UPDATE page SET retired_at = '2024-05-01 00:00:00' WHERE url = :url", url=f"{site.url}/news/1")
    gone = world.scrapy("recrawl", "--url", f"{site.url}/news/1")
    assert (gone.returncode, "has been gone from its site, or set aside, since 2024-05-01" in gone.stderr) == (2, True)
    assert site.paths() == ["/news/2"]


STATS = """
import sys

from scrapy.statscollectors import MemoryStatsCollector

from crawler.config import Config


class Stats(MemoryStatsCollector):
    def __init__(self, crawler):
        super().__init__(crawler)
        self._crawler = crawler

    def open_spider(self, *arguments, **names):
        sys.stderr.write(f"progress of the crawl: {Config.read(self._crawler.settings).progress}\\n")
"""


@pytest.mark.parametrize("name", ["PROGRESS", "BLOCKSIEVE_PROGRESS"])
def test_the_crawls_of_a_command_share_one_progress_line(world, name):
    world.site.put("/news/", listing("/news/1"))
    world.site.put("/news/1", article("Title", prose(1), prose(2)))
    assert world.crawl().returncode == 0
    (world.folder / "stats.py").write_text(STATS, "utf-8")
    finished = world.scrapy("recrawl", STATS_CLASS="stats.Stats", **{name: "on"})
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.count("progress of the crawl: off\n") == 1, finished.stderr
    assert " known · " in finished.stderr
