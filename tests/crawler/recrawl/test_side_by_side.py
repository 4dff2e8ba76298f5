"""`scrapy recrawl` runs the crawls of several sites side by side, and those of cron do not pile up."""

import csv
import json
import signal
from contextlib import ExitStack

import pytest
from changing_site import Site, article, listing, prose
from sqlalchemy import text

from crawler.storage.database import opened_engine

PAGES = 4


class Sites:
    """Sites and the database that their crawls share."""

    def __init__(self, world, sites):
        self.world = world
        self.sites = sites

    def crawl(self):
        for number, site in enumerate(self.sites):
            paths = [f"/news/{page}" for page in range(1, PAGES + 1)]
            site.put("/news/", listing(*paths))
            for page, path in enumerate(paths):
                seed = 100 * number + page
                site.put(path, article(f"Title {seed}", prose(seed), prose(seed + 50)))
            arguments = ("-a", f"url={site.url}/news/", "-a", r"allow=/news/\d+")
            finished = self.world.scrapy("crawl", "section", *arguments)
            assert finished.returncode == 0, finished.stderr
            site.asked.clear()


@pytest.fixture
def three_sites(world):
    with ExitStack() as stack:
        sites = [world.site, Site("127.0.0.2"), Site("127.0.0.3")]
        for site in sites[1:]:
            stack.callback(site.close)
        three = Sites(world, sites)
        three.crawl()
        yield three


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
    assert (gone.returncode, "has been gone from its site since 2024-05-01" in gone.stderr) == (2, True)
    assert site.paths() == ["/news/2"]


def test_the_crawls_of_a_command_write_one_feed(three_sites):
    world = three_sites.world
    lines = world.folder / "pages.jsonl"
    table = world.folder / "pages.csv"
    for file in (lines, table):
        file.write_text("of yesterday\n")
    feeds = ("-O", lines.name, "-O", table.name, "-O", "%(name)s-%(time)s.json", "-O", "gone.d/empty.csv")
    finished = world.scrapy("recrawl", *feeds, FEED_UNCHANGED="1")
    assert finished.returncode == 0, finished.stderr
    urls = sorted(json.loads(line)["url"] for line in lines.read_text().splitlines())
    assert urls == sorted(f"{site.url}/news/{page}" for site in three_sites.sites for page in range(1, PAGES + 1))
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["url"] for row in rows) == urls
    # Crawls that begin in the same second have files of their own.
    named = sorted(world.folder.glob("section-*.json"))
    assert len(named) == 3
    assert sorted(item["url"] for file in named for item in json.loads(file.read_text())) == urls
    # What is appended to a file keeps what was there.
    finished = world.scrapy("recrawl", "-o", lines.name, FEED_UNCHANGED="1")
    assert finished.returncode == 0, finished.stderr
    assert len(lines.read_text().splitlines()) == 2 * len(urls)


def test_several_crawls_refuse_a_feed_that_nothing_can_be_appended_to(three_sites):
    world = three_sites.world
    for feed, reason in {
        "pages.json": "has the format json, which nothing can be appended to; use jsonl or csv",
        "pages-%(batch_id)d.jsonl": "would have the same batches in each crawl; add %(time)s to its name",
        "ftp://127.0.0.9/pages.csv": "is no local file, so each crawl would replace it; write a local file, or add "
        "%(time)s to its name",
    }.items():
        finished = world.scrapy("recrawl", "-O", feed)
        assert finished.returncode == 2
        sentence = f"3 crawls write to the feed {feed}, but it {reason}, or crawl each site by a command of its own"
        assert finished.stderr == f"scrapy recrawl: {sentence}\n"
    assert all(site.paths() == [] for site in three_sites.sites)
    assert world.scrapy("recrawl", "--site", world.site.url, "-O", "pages.json").returncode == 0


def test_the_crawls_of_a_file_of_sites_write_one_feed(world):
    with ExitStack() as stack:
        sites = [world.site, Site("127.0.0.2")]
        stack.callback(sites[1].close)
        tables = []
        for number, site in enumerate(sites):
            site.put("/news/", listing("/news/1", "/news/2"))
            for page in (1, 2):
                site.put(
                    f"/news/{page}", article(f"Title {number}{page}", prose(10 * number + page), prose(number + 50))
                )
            allow = r"arguments = { allow = '/news/\d+' }"
            tables.append(f'[sites.number{number}]\nsections = ["{site.url}/news/"]\n{allow}\n')
        (world.folder / "sites.toml").write_text("\n".join(tables), "utf-8")
        urls = sorted(f"{site.url}/news/{page}" for site in sites for page in (1, 2))
        feed = world.folder / "pages.jsonl"
        feed.write_text("of yesterday\n")

        def crawl(option):
            finished = world.scrapy("sites", "crawl", option, feed.name, FEED_UNCHANGED="1")
            assert finished.returncode == 0, finished.stderr
            return sorted(json.loads(line)["url"] for line in feed.read_text().splitlines())

        assert crawl("-O") == urls
        # No crawl begins, so nothing replaces the file.
        assert crawl("-O") == urls
        world.make_due()
        assert crawl("-O") == urls
        world.make_due()
        assert crawl("-o") == sorted(urls * 2)


def test_a_run_of_sites_that_may_not_visit_all_says_so(world):
    world.site.put("/news/", listing("/news/1", "/news/2"))
    for page in (1, 2):
        world.site.put(f"/news/{page}", article(f"Title {page}", prose(page), prose(50)))
    table = f"[sites.one]\nsections = [\"{world.site.url}/news/\"]\narguments = {{ allow = '/news/\\d+' }}\n"
    (world.folder / "sites.toml").write_text(table, "utf-8")
    assert world.scrapy("sites", "crawl").returncode == 0
    world.make_due()
    sentence = "scrapy sites crawl: 2 stored addresses are left: REVISIT_BUDGET is 1 for 24 hours; "
    limited = world.scrapy("sites", "crawl", REVISIT_BUDGET="1")
    assert limited.returncode == 0
    assert sentence in limited.stderr
    used_up = world.scrapy("sites", "crawl", REVISIT_BUDGET="1")
    assert (used_up.returncode, used_up.stdout) == (0, ""), used_up.stderr
    assert sentence in used_up.stderr
    silent = world.scrapy("sites", "crawl", REVISIT_BUDGET="1", LOG_LEVEL="ERROR")  # cron mails what a command prints
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")


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
    assert "pages/s" in finished.stderr
