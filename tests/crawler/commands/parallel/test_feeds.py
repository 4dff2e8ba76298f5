"""The feeds of crawls that run side by side."""

import csv
import json

PAGES = 4


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
        "ftp://127.0.0.9/pages.csv": "is not a local file, so each crawl would replace it; write a local file, or add "
        "%(time)s to its name",
    }.items():
        finished = world.scrapy("recrawl", "-O", feed)
        assert finished.returncode == 2
        sentence = f"3 crawls write to the feed {feed}, but it {reason}, or crawl each site by a command of its own"
        assert finished.stderr == f"scrapy recrawl: {sentence}\n"
    assert all(site.paths() == [] for site in three_sites.sites)
    assert world.scrapy("recrawl", "--site", world.site.url, "-O", "pages.json").returncode == 0
